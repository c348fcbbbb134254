import { compareMaps, type DifferenceKind, type MapComparison } from '../../routing/graph/compare.js'
import type { Graph } from '../../routing/graph/graph.js'
import { group } from './map-facts.js'

/** Two maps compared, as `map check --against` prints it with `--json`. */
export interface ComparedMaps extends MapComparison {
  /** properties of the maps that differ: name → here, there */
  readonly properties: Readonly<Record<string, readonly [here: unknown, there: unknown]>>
}

const WORDS: Record<DifferenceKind, string> = {
  'only here': 'roads that only this map has',
  'only there': 'roads that only the other map has',
  speed: 'roads with another speed',
  access: 'roads that are private or a ferry in one map only',
  name: 'roads with another name',
  conditions: 'roads with other conditions',
  notes: 'roads with other notes',
}

/** Compares two maps: their properties and counts, their roads, their banned turns. */
export function compareBuilds(here: Graph, there: Graph): ComparedMaps {
  const a = propertiesOf(here)
  const b = propertiesOf(there)
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  const properties: Record<string, [unknown, unknown]> = {}
  for (const name of names) if (a[name] !== b[name]) properties[name] = [a[name] ?? null, b[name] ?? null]
  return { properties, ...compareMaps(here, there) }
}

function propertiesOf({ meta, junctionCount, segmentCount, nodeCount, arcCount }: Graph) {
  const { profile, country, turnCosts, timeZone, builtFrom, builtBy, counts } = meta
  const properties: Record<string, unknown> = {
    ...{
      profile,
      country,
      turnCosts: turnCosts ?? 'none',
      timeZone: timeZone ?? null,
      extract: builtFrom.file,
      sha256: builtFrom.sha256,
    },
    ...{ data: builtFrom.osmTimestamp, builtBy },
    ...{ junctions: junctionCount, segments: segmentCount, nodes: nodeCount, arcs: arcCount },
    ...counts,
  }
  return properties
}

/** Prints a comparison as lines of text. */
export function comparisonLines(compared: ComparedMaps): string[] {
  const { properties, sameM, differences, turnsOnlyHere, turnsOnlyThere, turnsWithOtherPrice } = compared
  const lines = Object.entries(properties).map(([name, [a, b]]) => `${name}: ${a} here, ${b} there`)
  lines.push(`${km(sameM)} of roads are equal, each direction counted`)
  for (const { kind, lengthM, examples } of differences) {
    lines.push(`${km(lengthM)}: ${WORDS[kind]}`)
    for (const { name, lng, lat, lengthM: metres } of examples)
      lines.push(`  ${group(Math.round(metres))} m at ${lat.toFixed(5)}, ${lng.toFixed(5)} ${name}`.trimEnd())
  }
  if (turnsOnlyHere + turnsOnlyThere > 0)
    lines.push(`banned turns: ${turnsOnlyHere} only here, ${turnsOnlyThere} only there`)
  if (turnsWithOtherPrice > 0) lines.push(`turns with another price: ${turnsWithOtherPrice}`)
  return lines
}

function km(metres: number): string {
  return `${(metres / 1000).toFixed(1)} km`
}
