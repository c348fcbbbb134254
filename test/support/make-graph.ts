import Flatbush from 'flatbush'
import KDBush from 'kdbush'
import {
  type Graph,
  type GraphInMemory,
  type GraphMeta,
  LINK_FLAG,
  NO_ARC,
} from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import { boxRing } from './boxes.js'

/** A road between two junctions: one segment. */
export interface Road {
  from: number
  to: number
  /** km/h along and against the geometry; 0 = not allowed */
  speed: [along: number, against: number]
  /** inner corners, degrees */
  corners?: [number, number][]
  /** taken from the geometry when absent */
  lengthMm?: number
  name?: string
  notes?: [along: string[], against: string[]]
  isPrivate?: boolean
  isMain?: boolean
  isFerry?: boolean
}

/** Links in the order of travel: after all but the last, the last must not (`no`) or must (`only`) follow. */
export interface Restriction {
  kind: 'no' | 'only'
  links: number[]
}

export interface Network {
  /** lng, lat in degrees */
  junctions: [number, number][]
  roads: Road[]
  restrictions?: Restriction[]
  /** links at whose ends traffic must not turn round */
  noUTurn?: number[]
  /** links that leave a dead end: entering one costs `U_TURN_MS` */
  afterUTurn?: number[]
  /** prices of turns from one link to another */
  turnCosts?: { from: number; to: number; ms: number }[]
  meta?: Partial<GraphMeta>
}

interface Arc {
  node: number
  link: number
  head: number
  /** price of the turn from the link before */
  ms: number
}

/**
 * A graph as `map build` makes it, from a few lines of a test: restrictions and private roads become nodes.
 *
 * A node is a junction with a turn state: the longest run of links just driven that begins a forbidden
 * sequence, and whether private roads at the start (0), public ones (1) or private ones at the goal (2) are
 * being used.
 */
export function makeGraph(network: Network): GraphInMemory {
  const { roads, junctions } = network
  const segmentCount = roads.length
  const expanded = expand(network)
  const arcs = expanded.arcs.sort((a, b) => a.node - b.node || a.link - b.link || a.head - b.head)
  const firstOut = new Uint32Array(expanded.nodeJunction.length + 1)
  for (const arc of arcs) firstOut[arc.node + 1]!++
  for (let node = 0; node < expanded.nodeJunction.length; node++) firstOut[node + 1]! += firstOut[node]!
  const pool = createPool()
  const shapes = roads.map((road) => encodeCorners(junctions[road.from]!, road.corners ?? []))
  const perLink = <T>(pick: (road: Road, side: 0 | 1) => T): T[] =>
    roads.flatMap((road) => [pick(road, 0), pick(road, 1)])
  const arcsOf: number[][] = Array.from({ length: segmentCount * 2 }, () => [])
  for (const [i, arc] of arcs.entries()) arcsOf[arc.link]!.push(i)
  const names = roads.map((road) => pool.add(road.name ?? ''))
  const notes = perLink((road, side) => pool.add((road.notes?.[side] ?? []).join('\u001f')))
  return {
    junctionCount: junctions.length,
    segmentCount,
    nodeCount: expanded.nodeJunction.length,
    arcCount: arcs.length,
    firstOut,
    head: Uint32Array.from(arcs, (arc) => arc.head),
    arcLink: Uint32Array.from(arcs, (arc) => arc.link),
    nodeJunction: Uint32Array.from(expanded.nodeJunction),
    junctionLngE7: Int32Array.from(junctions, ([lng]) => Math.round(lng * 1e7)),
    junctionLatE7: Int32Array.from(junctions, ([, lat]) => Math.round(lat * 1e7)),
    junctionOsmId: Float64Array.from(junctions, (_, i) => 1000 + i),
    segmentTail: Uint32Array.from(roads, (road) => road.from),
    segmentHead: Uint32Array.from(roads, (road) => road.to),
    segmentLengthMm: Uint32Array.from(roads, (road) => road.lengthMm ?? lengthOf(network, road)),
    firstGeometry: Uint32Array.from([0, ...running(shapes.map((shape) => shape.length))]),
    geometry: Uint8Array.from(shapes.flat()),
    segmentName: Uint32Array.from(names),
    linkSpeed: Uint16Array.from(perLink((road, side) => Math.round(road.speed[side] * 10))),
    linkNotes: Uint32Array.from(notes),
    linkFlags: Uint8Array.from(
      perLink(
        (road) =>
          (road.isMain === false ? 0 : LINK_FLAG.MAIN) |
          (road.isPrivate ? LINK_FLAG.PRIVATE : 0) |
          (road.isFerry ? LINK_FLAG.FERRY : 0),
      ),
      (flags, link) =>
        flags |
        (network.noUTurn?.includes(link) ? LINK_FLAG.NO_U_TURN : 0) |
        (network.afterUTurn?.includes(link) ? LINK_FLAG.AFTER_U_TURN : 0),
    ),
    linkStartArc: Uint32Array.from(perLink((road) => road).keys(), (link) => {
      const start = expanded.startOf.get(link)
      return start === undefined
        ? NO_ARC
        : arcsOf[link]!.find((arc) => arcs[arc]!.node === start.node && arcs[arc]!.head === start.head)!
    }),
    linkFirstArc: Uint32Array.from([0, ...running(arcsOf.map((found) => found.length))]),
    linkArcs: Uint32Array.from(arcsOf.flat()),
    ...pricesOf(network, arcs),
    strings: pool.bytes(),
    segmentIndex: indexSegments(network),
    junctionIndex: indexJunctions(network),
    meta: metaOf(network),
    fileBytes: 0,
  }
}

/**
 * Forbidden runs of links: an `only` forbids every other continuation after each of its links but the last.
 */
export function forbiddenRuns(network: Network): number[][] {
  const out = Map.groupBy(allLinks(network), (link) => tailOf(network, link))
  return (network.restrictions ?? []).flatMap(({ kind, links }) => {
    if (kind === 'no') return [links]
    return links.slice(1).flatMap((must, i) => {
      const run = links.slice(0, i + 1)
      return (out.get(headOf(network, run.at(-1)!)) ?? [])
        .filter((link) => link !== must)
        .map((link) => [...run, link])
    })
  })
}

export function tailOf(network: Network, link: number): number {
  const road = network.roads[link >> 1]!
  return (link & 1) === 0 ? road.from : road.to
}

export function headOf(network: Network, link: number): number {
  return tailOf(network, link ^ 1)
}

/** Links that may be driven. */
export function allLinks(network: Network): number[] {
  return network.roads.flatMap((road, segment) =>
    ([0, 1] as const).filter((side) => road.speed[side] > 0).map((side) => segment * 2 + side),
  )
}

/** Prices of turns as the file has them; none in a network without any. */
function pricesOf({ turnCosts }: Network, arcs: readonly Arc[]): Pick<Graph, 'turnPrices' | 'arcTurn'> {
  if (turnCosts === undefined) return {}
  const prices = [...new Set([0, ...arcs.map(({ ms }) => ms)])].sort((a, b) => a - b)
  return {
    turnPrices: Uint32Array.from(prices),
    arcTurn: Uint8Array.from(arcs, ({ ms }) => prices.indexOf(ms)),
  }
}

function expand(network: Network) {
  const runs = forbiddenRuns(network)
  const out = Map.groupBy(allLinks(network), (link) => tailOf(network, link))
  const { turnCosts = [] } = network
  const prefixes = new Set([
    ...runs.flatMap((run) => run.slice(0, -1).map((_, i) => run.slice(0, i + 1).join())),
    ...turnCosts.map(({ from }) => `${from}`),
  ])
  const msOf = (from: number | undefined, to: number) =>
    turnCosts.find((turn) => turn.from === from && turn.to === to)?.ms ?? 0
  const isForbidden = (driven: number[]) =>
    runs.some((run) => run.length <= driven.length && run.join() === driven.slice(-run.length).join())
  const remember = (driven: number[]) => {
    for (let from = 0; from < driven.length; from++) {
      if (prefixes.has(driven.slice(from).join())) return driven.slice(from)
    }
    return []
  }
  const nodeOf = new Map<string, number>()
  const nodes: { junction: number; memory: number[]; phase: number }[] = []
  const nodeAt = (junction: number, memory: number[], phase: number) => {
    const key = `${junction}|${memory}|${phase}`
    const known = nodeOf.get(key)
    if (known !== undefined) return known
    nodeOf.set(key, nodes.length)
    return nodes.push({ junction, memory, phase }) - 1
  }
  const hasPrivate = network.roads.some((road) => road.isPrivate)
  const arcs: Arc[] = []
  const startOf = new Map<number, Arc>()
  for (const junction of network.junctions.keys()) nodeAt(junction, [], 1)
  if (hasPrivate) for (const junction of network.junctions.keys()) nodeAt(junction, [], 0)
  for (let node = 0; node < nodes.length; node++) {
    const { junction, memory, phase } = nodes[node]!
    for (const link of out.get(junction) ?? []) {
      const isPrivate = network.roads[link >> 1]!.isPrivate === true
      if (phase === 2 && !isPrivate) continue
      const driven = [...memory, link]
      if (isForbidden(driven)) continue
      const nextPhase = isPrivate ? (phase === 0 ? 0 : 2) : 1
      const arcHead = nodeAt(headOf(network, link), remember(driven), nextPhase)
      const arc = { node, link, head: arcHead, ms: msOf(memory.at(-1), link) }
      arcs.push(arc)
      if (memory.length === 0 && phase === (isPrivate ? 0 : 1)) startOf.set(link, arc)
    }
  }
  return { arcs, startOf, nodeJunction: nodes.map((node) => node.junction) }
}

function lengthOf(network: Network, road: Road): number {
  const line = lineOf(network, road)
  let totalM = 0
  for (let i = 1; i < line.length; i++) {
    const [a, b] = [line[i - 1]!, line[i]!]
    const scale = localScale(((a[1] + b[1]) / 2) * 1e7)
    totalM += Math.hypot((b[0] - a[0]) * 1e7 * scale.lngM, (b[1] - a[1]) * 1e7 * scale.latM)
  }
  return Math.round(totalM * 1000)
}

function lineOf(network: Network, road: Road): [number, number][] {
  return [network.junctions[road.from]!, ...(road.corners ?? []), network.junctions[road.to]!]
}

function encodeCorners(from: [number, number], corners: [number, number][]): number[] {
  let [lng, lat] = from.map((degree) => Math.round(degree * 1e7)) as [number, number]
  return corners.flatMap((corner) => {
    const [toLng, toLat] = corner.map((degree) => Math.round(degree * 1e7)) as [number, number]
    const bytes = [...varint(toLng - lng), ...varint(toLat - lat)]
    lng = toLng
    lat = toLat
    return bytes
  })
}

function varint(delta: number): number[] {
  let bits = ((delta << 1) ^ (delta >> 31)) >>> 0
  const bytes: number[] = []
  while (bits > 0x7f) {
    bytes.push((bits & 0x7f) | 0x80)
    bits >>>= 7
  }
  return [...bytes, bits]
}

function createPool() {
  const bytes = [0, 0, 0, 0]
  const known = new Map([['', 0]])
  return {
    add(text: string): number {
      const found = known.get(text)
      if (found !== undefined) return found
      const offset = bytes.length
      const utf8 = [...new TextEncoder().encode(text)]
      bytes.push(utf8.length & 0xff, utf8.length >> 8, 0, 0, ...utf8)
      known.set(text, offset)
      return offset
    },
    bytes: () => Uint8Array.from(bytes),
  }
}

function indexSegments(network: Network): Uint8Array {
  const index = new Flatbush(network.roads.length, 16, Int32Array)
  for (const road of network.roads) {
    const line = lineOf(network, road)
    const lngs = line.map(([lng]) => Math.round(lng * 1e7))
    const lats = line.map(([, lat]) => Math.round(lat * 1e7))
    index.add(Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats))
  }
  index.finish()
  return new Uint8Array(index.data as ArrayBuffer)
}

function indexJunctions(network: Network): Uint8Array {
  const index = new KDBush(network.junctions.length, 8, Int32Array)
  for (const [lng, lat] of network.junctions) index.add(Math.round(lng * 1e7), Math.round(lat * 1e7))
  index.finish()
  return new Uint8Array(index.data as ArrayBuffer)
}

function metaOf(network: Network): GraphMeta {
  const points = network.roads.flatMap((road) => lineOf(network, road)).concat(network.junctions)
  const margin = 0.02
  const west = Math.min(...points.map(([lng]) => lng)) - margin
  const east = Math.max(...points.map(([lng]) => lng)) + margin
  const south = Math.min(...points.map(([, lat]) => lat)) - margin
  const north = Math.max(...points.map(([, lat]) => lat)) + margin
  const ring = boxRing(west, south, east, north)
  return {
    name: 'test',
    profile: 'car',
    country: null,
    builtFrom: { file: 'test', sha256: '', osmTimestamp: null },
    builtBy: 'test',
    attribution: '© test',
    licence: 'none',
    area: { type: 'Polygon', coordinates: [ring] },
    bbox: [west, south, east, north],
    counts: {},
    ...network.meta,
  }
}

function running(values: number[]): number[] {
  let total = 0
  return values.map((value) => (total += value))
}
