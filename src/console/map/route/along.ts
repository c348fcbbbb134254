import type { RouteFeature, RouteResult } from '../state.js'

/** A stretch of consecutive roads of one name. */
export interface RoadRow {
  readonly name: string
  /** metres */
  readonly length: number
  /** metres from the start of the route */
  readonly from: number
  /** highest level of risk */
  readonly risk: number
  /** average by time, km/h */
  readonly speed: number
  readonly notes: readonly string[]
}

/** Joins consecutive roads of the same name; the unnamed ones between two names are one row. */
export function roadRows(features: readonly RouteFeature[]): RoadRow[] {
  const rows: {
    name: string
    length: number
    from: number
    risk: number
    hours: number
    notes: Set<string>
  }[] = []
  let metres = 0
  for (const { properties } of features) {
    const { name, length, risk, time, notes } = properties
    const last = rows.at(-1)
    if (last !== undefined && last.name === name) {
      last.length += length
      last.hours += time
      last.risk = Math.max(last.risk, risk)
      for (const note of notes) last.notes.add(note)
    } else rows.push({ name, length, from: metres, risk, hours: time, notes: new Set(notes) })
    metres += length
  }
  return rows.map(({ hours, notes, ...row }) => ({
    ...row,
    speed: hours === 0 ? 0 : row.length / 1000 / hours,
    notes: [...notes],
  }))
}

/** A line of a route on the map: consecutive roads of one leg with one level. */
export interface RouteLine {
  readonly type: 'Feature'
  readonly geometry: { readonly type: 'LineString'; readonly coordinates: [number, number][] }
  readonly properties: Readonly<Record<string, unknown>>
}

/**
 * Joins the roads of a route to few lines: a map draws these faster, and without gaps at the joints.
 *
 * @param properties of each line, beside its `risk` and its `leg`, counted from 0
 */
export function routeLines(
  features: readonly RouteFeature[],
  properties: Readonly<Record<string, unknown>> = {},
): RouteLine[] {
  const lines: RouteLine[] = []
  let leg = 0
  let isNew = true
  for (const feature of features) {
    const { risk, waypoint } = feature.properties
    const last = lines.at(-1)
    if (!isNew && last?.properties.risk === risk) {
      last.geometry.coordinates.push(...feature.geometry.coordinates.slice(1))
    } else {
      const coordinates = [...feature.geometry.coordinates]
      const geometry = { type: 'LineString' as const, coordinates }
      lines.push({ type: 'Feature', geometry, properties: { ...properties, risk, leg } })
    }
    isNew = waypoint
    if (waypoint) leg++
  }
  return lines
}

/** A road of the profile. */
export interface ProfilePart {
  /** metres from the start of the route */
  readonly from: number
  readonly to: number
  readonly risk: number
  /** cost divided by driving time: 1 on a road without risk */
  readonly factor: number
  readonly name: string
}

/**
 * Divides a route by roads with what each costs. The answer has the level of a road and the cost of the whole:
 * the excess of each road by its level is scaled so that it sums up to that of the route. A road that lies
 * partly in a cell, and several themes, make that necessary.
 *
 * @param curves sensitivities of the themes
 */
export function profileOf(
  { features, time, total_cost, turn_cost }: RouteResult,
  curves: readonly (readonly number[])[],
): ProfilePart[] {
  const excessOf = (risk: number) => curves.reduce((sum, curve) => sum + (curve[risk] ?? 0), 0)
  const most = features.reduce((sum, { properties: p }) => sum + p.time * excessOf(p.risk), 0)
  const found = Math.max(0, total_cost - turn_cost - time)
  const scale = most === 0 ? 0 : Math.min(1, found / most)
  let metres = 0
  return features.map(({ properties: { length, risk, name } }) => {
    const from = metres
    metres += length
    return { from, to: metres, risk, factor: 1 + scale * excessOf(risk), name }
  })
}

/** Returns the part at a distance; the last one beyond the end. */
export function partAt(parts: readonly ProfilePart[], metres: number): ProfilePart | undefined {
  let [low, high] = [0, parts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((parts[middle]?.to ?? 0) > metres) high = middle
    else low = middle + 1
  }
  return parts[low]
}

/** Returns the place at a distance from the start of a route; undefined for a route without roads. */
export function pointAt(features: readonly RouteFeature[], metres: number): [number, number] | undefined {
  let before = 0
  for (const [i, { geometry, properties }] of features.entries()) {
    const end = before + properties.length
    if (metres <= end || i === features.length - 1) {
      const share = properties.length === 0 ? 0 : (metres - before) / properties.length
      return pointOnLine(geometry.coordinates, Math.min(1, Math.max(0, share)))
    }
    before = end
  }
  return undefined
}

/** Returns the place at a share of a short line, which is measured on a plane. */
function pointOnLine(line: readonly [number, number][], share: number): [number, number] | undefined {
  const [first] = line
  if (first === undefined) return undefined
  const squeeze = Math.cos((first[1] * Math.PI) / 180)
  const lengths = line.slice(1).map(([lng, lat], i) => {
    const [fromLng, fromLat] = line[i] ?? first
    return Math.hypot((lng - fromLng) * squeeze, lat - fromLat)
  })
  let rest = lengths.reduce((sum, length) => sum + length, 0) * share
  for (const [i, length] of lengths.entries()) {
    const [from, to] = [line[i] ?? first, line[i + 1] ?? first]
    if (rest <= length && length > 0) {
      const part = rest / length
      return [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]
    }
    rest -= length
  }
  return line.at(-1)
}
