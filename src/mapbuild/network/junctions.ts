import { HILBERT_SIDE, hilbert } from '../../geo/hilbert.js'
import { fillWith } from '../arrays/fill-with.js'
import { createGrowing, filled, push } from '../arrays/growing.js'
import { sortOrder } from '../arrays/sort-order.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import { type Chains, stepEnd, stepStart } from './chains.js'
import type { Pieces } from './pieces.js'

/**
 * Junctions: the ends of chains, numbered along the Hilbert curve, so that neighbours in space are close in
 * memory.
 */
export interface Junctions {
  readonly count: number
  /** junction → index of its OSM node */
  readonly node: Uint32Array
  /** chain → junction at its beginning, and at its end */
  readonly tail: Uint32Array
  readonly head: Uint32Array
}

const NONE = 0xffffffff

/**
 * Finds the junctions. A closed barrier gets one for each road that ends at it, so that none leads to
 * another.
 */
export function findJunctions(roads: RoadData, pieces: Pieces, chains: Chains): Junctions {
  const { nodeState } = roads
  const junctionOf = new Uint32Array(nodeState.length).fill(NONE)
  const node = createGrowing(Uint32Array, chains.count)
  const tail = new Uint32Array(chains.count)
  const head = new Uint32Array(chains.count)
  const place = (at: number): number => {
    const isClosed = (nodeState[at]! & NODE_STATE.CLOSED) !== 0
    if (!isClosed && junctionOf[at] !== NONE) return junctionOf[at]!
    push(node, at)
    junctionOf[at] = node.length - 1
    return node.length - 1
  }
  for (let chain = 0; chain < chains.count; chain++) {
    tail[chain] = place(stepStart(pieces, chains.steps[chains.first[chain]!]!))
    head[chain] = place(stepEnd(pieces, chains.steps[chains.first[chain + 1]! - 1]!))
  }
  return renumber(roads, filled(node), tail, head)
}

/** Numbers junctions along the curve; in one cell, the one found first comes first. */
function renumber(roads: RoadData, node: Uint32Array, tail: Uint32Array, head: Uint32Array): Junctions {
  const order = sortOrder(curveKeys(roads, node))
  const rank = new Uint32Array(node.length)
  for (let i = 0; i < order.length; i++) rank[order[i]!] = i
  for (let chain = 0; chain < tail.length; chain++) {
    tail[chain] = rank[tail[chain]!]!
    head[chain] = rank[head[chain]!]!
  }
  return {
    count: node.length,
    node: fillWith(new Uint32Array(order.length), (at) => node[order[at]!]!),
    tail,
    head,
  }
}

/** Junction → position on the curve through the box of all junctions, cut into 65536 × 65536 cells. */
function curveKeys({ nodeLngE7, nodeLatE7 }: RoadData, node: Uint32Array): Uint32Array {
  let west = Number.POSITIVE_INFINITY
  let south = Number.POSITIVE_INFINITY
  let east = Number.NEGATIVE_INFINITY
  let north = Number.NEGATIVE_INFINITY
  for (let i = 0; i < node.length; i++) {
    const lng = nodeLngE7[node[i]!]!
    const lat = nodeLatE7[node[i]!]!
    west = Math.min(west, lng)
    east = Math.max(east, lng)
    south = Math.min(south, lat)
    north = Math.max(north, lat)
  }
  const perLng = (HILBERT_SIDE - 1) / Math.max(1, east - west)
  const perLat = (HILBERT_SIDE - 1) / Math.max(1, north - south)
  const keys = new Uint32Array(node.length)
  for (let i = 0; i < node.length; i++) {
    const x = Math.floor((nodeLngE7[node[i]!]! - west) * perLng)
    const y = Math.floor((nodeLatE7[node[i]!]! - south) * perLat)
    keys[i] = hilbert(x, y)
  }
  return keys
}
