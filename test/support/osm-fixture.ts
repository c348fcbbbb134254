import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { type OsmData, type WriteOptions, writeExtract } from '../../src/demo/write-extract.js'
import { type BuildOptions, buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { type Graph, type GraphInMemory, isBannedUTurn } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { doubleAt, numberAt } from '../../src/routing/graph/paged.js'
import { readString } from '../../src/routing/graph/strings.js'

/** Where real extracts lie beside the repository; they are too large to be kept in it. */
export const EXTRACTS = path.resolve('..', 'shared', 'data', 'osm')

/** Why tests of real extracts are left out, false when the extracts are there. For tap's `skip` option. */
export function missingExtracts(): string | false {
  return existsSync(path.join(EXTRACTS, 'monaco-2020.osm.pbf'))
    ? false
    : `skipped: no extracts in ${EXTRACTS}`
}

export function realExtracts(): string[] {
  return readdirSync(EXTRACTS)
    .filter((name) => name.endsWith('.osm.pbf'))
    .sort()
    .map((name) => path.join(EXTRACTS, name))
}

/** A file in a folder of its own while `use` runs. */
export async function withFile<T>(bytes: Uint8Array, use: (file: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-osm-'))
  try {
    const file = path.join(dir, 'extract.osm.pbf')
    writeFileSync(file, bytes)
    return await use(file)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

export const BUILD: Omit<BuildOptions, 'input'> = {
  profile: 'car',
  country: null,
  name: 'test',
  builtBy: 'fieldgate test',
}

/** Builds a map from an extract's bytes, and reads it back from its own. */
export async function graphOf(
  bytes: Uint8Array,
  options: Partial<BuildOptions> = {},
): Promise<GraphInMemory> {
  const parts = await withFile(bytes, (input) => buildMap({ ...BUILD, ...options, input }))
  return readGraph(writeGraphShared(parts), crc32)
}

export async function graphOfOsm(
  data: OsmData,
  options: Partial<BuildOptions> = {},
  write: WriteOptions = {},
): Promise<GraphInMemory> {
  return await graphOf(writeExtract(data, write), options)
}

/**
 * A small OSM data set in a drawing of letters: each letter is a node, 100 m to a column or row.
 *
 * @param roads `AB-C` style strings are not needed: a road is a string of letters and its tags
 */
export function sketch(
  rows: readonly string[],
  roads: readonly (readonly [letters: string, tags: Record<string, string>])[],
  extra: {
    nodeTags?: Record<string, Record<string, string>>
    restrictions?: readonly {
      kind: string
      /** positions in `roads`, from 0 */
      from: number | readonly number[]
      /** a letter, or positions in `roads` */
      via: string | readonly number[]
      to: number | readonly number[]
      tags?: Record<string, string>
    }[]
  } = {},
): OsmData {
  const nodes = rows.flatMap((row, y) =>
    [...row].flatMap((letter, x) => {
      if (letter === ' ' || letter === '.') return []
      const tags = extra.nodeTags?.[letter]
      return [{ id: nodeId(letter), lng: 10 + x * 0.00125, lat: 45 - y * 0.0009, ...(tags ? { tags } : {}) }]
    }),
  )
  nodes.sort((a, b) => a.id - b.id)
  const ways = roads.map(([letters, tags], i) => ({ id: i + 1, refs: [...letters].map(nodeId), tags }))
  const list = (numbers: number | readonly number[]) => (typeof numbers === 'number' ? [numbers] : numbers)
  const relations = (extra.restrictions ?? []).map(({ kind, from, via, to, tags }, i) => ({
    id: i + 1,
    tags: { type: 'restriction', ...(kind === '' ? {} : { restriction: kind }), ...tags },
    members: [
      ...list(from).map((road) => ({ type: 'way' as const, id: road + 1, role: 'from' })),
      ...(typeof via === 'string'
        ? [{ type: 'node' as const, id: nodeId(via), role: 'via' }]
        : via.map((road) => ({ type: 'way' as const, id: road + 1, role: 'via' }))),
      ...list(to).map((road) => ({ type: 'way' as const, id: road + 1, role: 'to' })),
    ],
  }))
  return { nodes, ways, relations }
}

/** OSM id of a letter's node. */
export function nodeId(letter: string): number {
  return letter.charCodeAt(0)
}

/** Links as `A>B name speed`, sorted: what a map of a sketch can drive. */
export function linksOf(graph: Graph): string[] {
  const lines: string[] = []
  for (let link = 0; link < graph.segmentCount * 2; link++) {
    const speed = graph.linkSpeed[link] ?? 0
    if (speed === 0) continue
    const [from, to] = endsOf(graph, link)
    lines.push(`${from}>${to} ${speed / 10}`)
  }
  return lines.sort()
}

/** Letters at the beginning and the end of a link. */
export function endsOf(graph: Graph, link: number): [string, string] {
  const segment = link >>> 1
  const letter = (junction: number) => String.fromCharCode(doubleAt(graph.junctionOsmId, junction))
  const tail = letter(graph.segmentTail[segment] ?? 0)
  const head = letter(graph.segmentHead[segment] ?? 0)
  return (link & 1) === 0 ? [tail, head] : [head, tail]
}

/** The link from one letter to another; the first of several. -1 when there is none. */
export function linkBetween(graph: Graph, from: string, to: string): number {
  for (let link = 0; link < graph.segmentCount * 2; link++) {
    const [a, b] = endsOf(graph, link)
    if (a === from && b === to && (graph.linkSpeed[link] ?? 0) > 0) return link
  }
  return -1
}

export function nameOf(graph: Graph, segment: number): string {
  return readString(graph, numberAt(graph.segmentName, segment))
}

/**
 * The shortest drive that begins by a link and ends by another, as letters: `A>B` then `C>D` gives `ABCD`
 * where B = C. undefined when there is none.
 */
export function driveBetween(graph: Graph, first: number, last: number): string | undefined {
  const { firstOut, head, arcLink, linkStartArc, segmentLengthMm } = graph
  const start = linkStartArc[first] ?? 0
  if (start >= graph.arcCount) return undefined
  const [a, b] = endsOf(graph, first)
  if (first === last) return a + b
  const best = new Map<number, { mm: number; letters: string }>() // by the arc driven last, -1 = arrived
  const open = [{ last: start, mm: 0, letters: a + b }]
  while (open.length > 0) {
    open.sort((x, y) => y.mm - x.mm)
    const { last: before, mm, letters } = open.pop() ?? { last: 0, mm: 0, letters: '' }
    const known = best.get(before)
    if (known !== undefined && known.mm <= mm) continue
    best.set(before, { mm, letters })
    if (before < 0) continue
    const node = head[before] ?? 0
    for (let arc = firstOut[node] ?? 0; arc < (firstOut[node + 1] ?? 0); arc++) {
      const link = arcLink[arc] ?? 0
      if (graph.closedArcs?.has(arc) === true) continue
      if (isBannedUTurn(graph, arcLink[before] ?? 0, link)) continue
      const next = letters + endsOf(graph, link)[1]
      if (link === last) open.push({ last: -1, mm, letters: next })
      open.push({ last: arc, mm: mm + (segmentLengthMm[link >>> 1] ?? 0) + 1, letters: next })
    }
  }
  return best.get(-1)?.letters
}
