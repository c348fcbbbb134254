import Flatbush from 'flatbush'
import { packLimits, type RoadLimits } from '../../routing/graph/limits.js'
import { createGrowing, filled, type Growing, push } from '../arrays/growing.js'
import { sortOrder } from '../arrays/sort-order.js'
import type { Decision } from '../profile/decision.js'
import type { ConditionalWay, RoadData, WayLimits } from '../roads/read-roads.js'
import type { Chains } from './chains.js'
import type { Junctions } from './junctions.js'
import { hopM } from './lengths.js'
import type { Outline } from './outline.js'
import type { Pieces } from './pieces.js'

/** Segments and links as the graph has them. */
export interface Segments {
  readonly count: number
  /** segment → junction at its beginning, and at its end */
  readonly tail: Uint32Array
  readonly head: Uint32Array
  readonly lengthMm: Uint32Array
  /** segment → its inner points in `geometry`, see `Graph.geometry` */
  readonly firstGeometry: Uint32Array
  readonly geometry: Uint8Array
  /** segment → offset of its name in the string pool */
  readonly name: Uint32Array
  /** segment → rank of the road and side of driving, see `TurnTags.rankOf` */
  readonly rank: Uint8Array
  /** link → 1/10 km/h, offset of its notes in the string pool, bits of `LINK_FLAG` */
  readonly linkSpeed: Uint16Array
  readonly linkNotes: Uint32Array
  readonly linkFlags: Uint8Array
  /** link → its outcomes, see `ConditionalRule`, for links that conditions change, ascending */
  readonly linkDecisions: Map<number, Decision>
  /** as `Graph.limits` */
  readonly limits: Uint32Array
  /** flatbush over the boxes of segments */
  readonly index: Uint8Array
  /** piece → link along its nodes */
  readonly pieceLink: Uint32Array
}

const MAX_UINT32 = 0xffffffff
const INDEX_NODE_SIZE = 16

/**
 * Makes a segment of each chain, with its attributes.
 *
 * Segments are ordered by the smaller of their junctions, then the larger, then the order of the extract:
 * segments that a search reads together are close in memory, and the same extract gives the same numbers.
 *
 * @param outline receives all points
 */
export function makeSegments(
  roads: RoadData,
  pieces: Pieces,
  chains: Chains,
  junctions: Junctions,
  outline: Outline,
): Segments {
  const { count } = chains
  const order = orderOf(junctions, count)
  const tail = new Uint32Array(count)
  const head = new Uint32Array(count)
  const name = new Uint32Array(count)
  const rank = new Uint8Array(count)
  const linkSpeed = new Uint16Array(count * 2)
  const linkNotes = new Uint32Array(count * 2)
  const linkFlags = new Uint8Array(count * 2)
  const limits: [link: number, limits: RoadLimits][] = []
  const linkDecisions = new Map<number, Decision>()
  const pieceLink = new Uint32Array(pieces.count)
  for (let segment = 0; segment < count; segment++) {
    const chain = order[segment]!
    tail[segment] = junctions.tail[chain]!
    head[segment] = junctions.head[chain]!
    // all pieces of a chain have the same attributes, so the first one gives them
    const first = chains.first[chain]!
    for (let at = first; at < chains.first[chain + 1]!; at++) {
      const step = chains.steps[at]!
      pieceLink[step >>> 1] = segment * 2 + (step & 1)
    }
    const step = chains.steps[first]!
    const way = pieces.way[step >>> 1]!
    const side = step & 1
    name[segment] = roads.wayName[way]!
    rank[segment] = roads.wayRank[way]!
    linkSpeed[segment * 2 + side] = roads.forwardSpeed[way]!
    linkSpeed[segment * 2 + (side ^ 1)] = roads.backwardSpeed[way]!
    linkFlags[segment * 2 + side] = roads.forwardFlags[way]!
    linkFlags[segment * 2 + (side ^ 1)] = roads.backwardFlags[way]!
    linkNotes[segment * 2 + side] = roads.forwardNotes[way]!
    linkNotes[segment * 2 + (side ^ 1)] = roads.backwardNotes[way]!
    addLimits(roads.limits.get(way), segment * 2, side, limits)
    addDecisions(roads.conditional.get(way), segment * 2, side, linkDecisions)
  }
  const shapes = drawShapes(roads, pieces, chains, order, outline)
  const links = { linkSpeed, linkNotes, linkFlags, limits: packLimits(limits), linkDecisions, pieceLink }
  return { count, tail, head, name, rank, ...links, ...shapes }
}

/** Adds the limits of a way to those of the two links of a segment. @param side 1 = the way runs against it */
function addLimits(
  ways: WayLimits | undefined,
  firstLink: number,
  side: number,
  limits: [link: number, limits: RoadLimits][],
): void {
  if (ways === undefined) return
  const [along, against] = side === 0 ? [ways.forward, ways.backward] : [ways.backward, ways.forward]
  if (along !== undefined) limits.push([firstLink, along])
  if (against !== undefined) limits.push([firstLink + 1, against])
}

/** Adds what conditions change on a way to the two links of a segment. @param side as for `addLimits` */
function addDecisions(
  way: ConditionalWay | undefined,
  firstLink: number,
  side: number,
  decisions: Map<number, Decision>,
): void {
  if (way === undefined) return
  const [along, against] = side === 0 ? [way.forward, way.backward] : [way.backward, way.forward]
  if (along !== undefined) decisions.set(firstLink, along)
  if (against !== undefined) decisions.set(firstLink + 1, against)
}

/** Chains in the order of their segments. */
function orderOf({ tail, head }: Junctions, count: number): Uint32Array {
  const low = new Uint32Array(count)
  const high = new Uint32Array(count)
  for (let chain = 0; chain < count; chain++) {
    low[chain] = Math.min(tail[chain]!, head[chain]!)
    high[chain] = Math.max(tail[chain]!, head[chain]!)
  }
  return sortOrder(low, sortOrder(high))
}

/** Returns true for a link that may be driven at some time. */
export function mayOpen({ linkSpeed, linkDecisions }: Segments, link: number): boolean {
  return linkSpeed[link]! > 0 || linkDecisions.get(link)?.out.some((outcome) => outcome !== 0) === true
}

/** Length, inner points and box of every segment, in one walk along its nodes. */
function drawShapes(roads: RoadData, pieces: Pieces, chains: Chains, order: Uint32Array, outline: Outline) {
  const { nodeLngE7, nodeLatE7 } = roads
  const count = order.length
  const lengthMm = new Uint32Array(count)
  const firstGeometry = new Uint32Array(count + 1)
  const geometry = createGrowing(Uint8Array, 64 * 1024)
  const index = new Flatbush(count, INDEX_NODE_SIZE, Int32Array)
  const line: number[] = []
  for (let segment = 0; segment < count; segment++) {
    const corners = readChain(pieces, chains, order[segment]!, line)
    let lng = nodeLngE7[line[0]!]!
    let lat = nodeLatE7[line[0]!]!
    let [west, east, south, north] = [lng, lng, lat, lat]
    let lengthM = 0
    outline.add(lng, lat)
    for (let corner = 1; corner < corners; corner++) {
      const nextLng = nodeLngE7[line[corner]!]!
      const nextLat = nodeLatE7[line[corner]!]!
      lengthM += hopM(lng, lat, nextLng, nextLat)
      west = Math.min(west, nextLng)
      east = Math.max(east, nextLng)
      south = Math.min(south, nextLat)
      north = Math.max(north, nextLat)
      outline.add(nextLng, nextLat)
      // a corner at the same place as the one before adds nothing to the line
      const isCorner = corner < corners - 1 && (nextLng !== lng || nextLat !== lat)
      if (isCorner) {
        pushVarint(geometry, nextLng - lng)
        pushVarint(geometry, nextLat - lat)
      }
      lng = nextLng
      lat = nextLat
    }
    lengthMm[segment] = Math.min(MAX_UINT32, Math.round(lengthM * 1000))
    firstGeometry[segment + 1] = geometry.length
    index.add(west, south, east, north)
  }
  index.finish()
  return { lengthMm, firstGeometry, geometry: filled(geometry), index: new Uint8Array(index.data) }
}

/** Reads the nodes of a chain in order. @returns their number */
function readChain(pieces: Pieces, chains: Chains, chain: number, line: number[]): number {
  let count = 0
  for (let at = chains.first[chain]!; at < chains.first[chain + 1]!; at++) {
    const step = chains.steps[at]!
    const piece = step >>> 1
    const from = pieces.from[piece]!
    const to = pieces.to[piece]!
    const skip = count === 0 ? 0 : 1 // the first node is the last one of the step before
    if ((step & 1) === 0) for (let i = from + skip; i <= to; i++) line[count++] = pieces.nodes[i]!
    else for (let i = to - skip; i >= from; i--) line[count++] = pieces.nodes[i]!
  }
  return count
}

/**
 * Appends a zigzag varint: seven bits a byte, least significant first. Deltas fit 32 bits, see
 * `MAX_HOP_LNG_E7`.
 */
function pushVarint(bytes: Growing<Uint8Array>, delta: number): void {
  let bits = ((delta << 1) ^ (delta >> 31)) >>> 0
  while (bits > 0x7f) {
    push(bytes, (bits & 0x7f) | 0x80)
    bits >>>= 7
  }
  push(bytes, bits)
}
