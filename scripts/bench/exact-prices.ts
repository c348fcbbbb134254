// What each arc must cost, from the pieces of risk, the limits of roads and the prices of turns, with arithmetic of its own.

import type { Vehicle } from '../../src/routing/conditions/vehicle.js'
import { conditionsOf } from '../../src/routing/graph/conditions.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import type { Overlay, ThemeRisk } from '../../src/routing/search/overlay.js'

/** Parts of a profile. */
export interface Mix {
  readonly themes: readonly ThemeRisk[]
  readonly closed?: Overlay | undefined
  readonly vehicle?: Vehicle | undefined
  /** condition of the map → '1' when it holds; '' = none does */
  readonly holds?: string | undefined
}

const LIMITS = ['heightM', 'widthM', 'lengthM', 'weightT', 'axleLoadT'] as const
/** Units of a limit in one of a vehicle: centimetres in metres, kilograms in tonnes. */
const UNITS = [100, 100, 100, 1000, 1000]
const U_TURN_MS = 20_000 + 7500
const PRIVATE_ENTRY_MS = 450_000

/** Returns the cost of every arc, milliseconds; negative = closed. @param graph of the time at which no condition holds */
export function arcPrices(graph: Graph, mix: Mix): Float64Array {
  const { arcCount, arcLink, segmentLengthMm, linkFlags, turnPrices, arcTurn } = graph
  const { linkSpeed, isPrivate, isEnclosed, closedArcs } = underConditions(graph, mix.holds ?? '')
  const publicPlaces = publicPlacesOf(graph, linkSpeed, isPrivate, isEnclosed)
  const isClosed = closedLinks(graph, mix.vehicle)
  const themes = mix.themes.map(({ overlay, sensitivity }) => ({ pieces: piecesOf(overlay), sensitivity }))
  const closed = mix.closed && piecesOf(mix.closed)
  const prices = new Float64Array(arcCount)
  for (let arc = 0; arc < arcCount; arc++) {
    const link = arcLink[arc]!
    const segment = link >> 1
    const isArea =
      closed?.get(segment)?.some(({ fromMm, toMm, level }) => level > 0 && toMm > fromMm) === true
    if (isArea || isClosed.has(link) || linkSpeed[link] === 0 || closedArcs.has(arc)) {
      prices[arc] = -1
      continue
    }
    const weightedMm = weigh(themes, segment, segmentLengthMm[segment]!)
    const turnMs = (linkFlags[link]! & LINK_FLAG.AFTER_U_TURN) === 0 ? 0 : U_TURN_MS
    const ownMs = turnPrices === undefined || arcTurn === undefined ? 0 : turnPrices[arcTurn[arc]!]!
    const isEntry =
      isPrivate.has(link) && publicPlaces.has(beginOf(graph, link)) && segmentLengthMm[segment]! > 0
    const entryMs = isEntry ? PRIVATE_ENTRY_MS : 0
    prices[arc] = Math.round((weightedMm * 36) / linkSpeed[link]!) + turnMs + ownMs + entryMs
  }
  return prices
}

interface Piece {
  readonly fromMm: number
  readonly toMm: number
  readonly level: number
}

function piecesOf({ segments, firstPiece, pieceEndMm, pieceLevel }: Overlay): Map<number, Piece[]> {
  const found = new Map<number, Piece[]>()
  for (const [at, segment] of segments.entries()) {
    const pieces: Piece[] = []
    for (let piece = firstPiece[at]!; piece < firstPiece[at + 1]!; piece++)
      pieces.push({ fromMm: pieces.at(-1)?.toMm ?? 0, toMm: pieceEndMm[piece]!, level: pieceLevel[piece]! })
    found.set(segment, pieces)
  }
  return found
}

/** Cuts a segment wherever a piece of any theme ends. */
function weigh(
  themes: readonly { pieces: Map<number, Piece[]>; sensitivity: readonly number[] }[],
  segment: number,
  lengthMm: number,
): number {
  const ends = themes.flatMap(({ pieces }) => pieces.get(segment)?.map(({ toMm }) => toMm) ?? [])
  const cuts = [...new Set([...ends, lengthMm])].sort((a, b) => a - b)
  let sum = 0
  let fromMm = 0
  for (const toMm of cuts) {
    let factor = 0
    for (const { pieces, sensitivity } of themes) {
      const piece = pieces.get(segment)?.find((one) => one.fromMm <= fromMm && fromMm < one.toMm)
      factor += sensitivity[piece?.level ?? 0]!
    }
    sum += (toMm - fromMm) * (1 + factor)
    fromMm = toMm
  }
  return sum
}

/** Reads the tables of the map's conditions: speeds of links, and arcs that are closed. */
function underConditions(graph: Graph, holds: string) {
  const { conditionalLinks = [], conditionalArcs = [] } = graph
  const tables = conditionsOf(graph)?.tables ?? []
  const outcome = (table: number) => {
    const { when, out } = tables[table]!
    return out[when.reduce((sum, condition, bit) => sum + (holds[condition] === '1' ? 2 ** bit : 0), 0)]!
  }
  const linkSpeed = graph.linkSpeed.slice()
  const flagged = (flag: number) => {
    const links = [...graph.linkFlags.keys()]
    return new Set(links.filter((link) => (graph.linkFlags[link]! & flag) !== 0))
  }
  const [isPrivate, isEnclosed] = [flagged(LINK_FLAG.PRIVATE), flagged(LINK_FLAG.ENCLOSED)]
  for (let at = 0; at < conditionalLinks.length; at += 4) {
    const link = conditionalLinks[at]!
    const found = outcome(conditionalLinks[at + 1]!)
    linkSpeed[link] = found % 2 ** 16
    // bits of the flags: 1 for private, 6 for enclosed
    if (Math.floor(found / 2 ** 17) % 2 === 1) isPrivate.add(link)
    else isPrivate.delete(link)
    if (Math.floor(found / 2 ** 22) % 2 === 1) isEnclosed.add(link)
    else isEnclosed.delete(link)
  }
  const closedArcs = new Set<number>()
  for (let at = 0; at < conditionalArcs.length; at += 2)
    if (outcome(conditionalArcs[at + 1]!) !== 0) closedArcs.add(conditionalArcs[at]!)
  return { linkSpeed, isPrivate, isEnclosed, closedArcs }
}

function beginOf({ segmentTail, segmentHead }: Graph, link: number): number {
  return link % 2 === 0 ? segmentTail[link >> 1]! : segmentHead[link >> 1]!
}

/** Junctions of public roads that are not enclosed, and those to which public roads lead from there, round by round. */
function publicPlacesOf(
  graph: Graph,
  linkSpeed: Uint16Array,
  isPrivate: ReadonlySet<number>,
  isEnclosed: ReadonlySet<number>,
): Set<number> {
  const places = new Set<number>()
  const streets: number[] = []
  for (let link = 0; link < linkSpeed.length; link++) {
    if (linkSpeed[link] === 0) continue
    if (!isPrivate.has(link) || graph.segmentLengthMm[link >> 1] === 0) streets.push(link)
    if (isPrivate.has(link) || isEnclosed.has(link)) continue
    places.add(beginOf(graph, link)).add(beginOf(graph, link ^ 1))
  }
  for (let before = -1; before < places.size; ) {
    before = places.size
    for (const link of streets) if (places.has(beginOf(graph, link))) places.add(beginOf(graph, link ^ 1))
  }
  return places
}

/** Reads `Graph.limits`: seven numbers an entry, its link first, hazardous goods last; 0 = no limit. */
function closedLinks({ limits }: Graph, vehicle: Vehicle | undefined): Set<number> {
  const closed = new Set<number>()
  for (let at = 0; vehicle !== undefined && at < (limits?.length ?? 0); at += 7) {
    const [link, ...values] = [...limits!.subarray(at, at + 7)] as [number, ...number[]]
    const isTooLarge = LIMITS.some((name, i) => {
      const size = vehicle[name]
      return size !== undefined && values[i]! > 0 && size > values[i]! / UNITS[i]!
    })
    if (isTooLarge || (vehicle.isHazmat === true && values[5] === 1)) closed.add(link)
  }
  return closed
}
