import { arcTail, type Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import { findArc, type Hierarchy } from './hierarchy.js'
import { cacheHop, createHopCache, findCachedHop, type HopCache, hopCacheBytes } from './hop-cache.js'
import type { Metric } from './metric.js'
import type { Hop } from './query.js'

/** State of unpacking under one metric: hops of the hierarchy → arcs of the graph. */
export interface Unpacker {
  readonly roads: Topology
  readonly hierarchy: Hierarchy
  readonly weights: Weights
  readonly metric: Metric
  /** slot → code of the hop whose middle was found last there, -1 = none; and that middle rank */
  readonly knownHop: Int32Array
  readonly knownMiddle: Int32Array
  /** unpacked paths of hops */
  readonly cache: HopCache
}

/**
 * Arcs of the hierarchy for each slot of a known middle: hops near the root are slow to split and part of
 * most paths.
 */
const ARCS_PER_KNOWN = 32
/** Fewest candidates that make a middle worth keeping. */
const MIN_TRIES = 8

/** Creates an unpacker; what it keeps grows up to `unpackerBytes`. */
export function createUnpacker(
  roads: Topology,
  hierarchy: Hierarchy,
  weights: Weights,
  metric: Metric,
): Unpacker {
  const knownCount = Math.ceil(hierarchy.arcCount / ARCS_PER_KNOWN)
  return {
    roads,
    hierarchy,
    weights,
    metric,
    knownHop: new Int32Array(knownCount).fill(-1),
    knownMiddle: new Int32Array(knownCount),
    cache: createHopCache(hierarchy.arcCount),
  }
}

/** Returns the bytes of an unpacker with full caches. @param arcCount of the hierarchy */
export function unpackerBytes(arcCount: number): number {
  return Math.ceil(arcCount / ARCS_PER_KNOWN) * 8 + hopCacheBytes(arcCount)
}

/**
 * Returns the arcs of the graph that a path of hops represents, in the order of travel.
 *
 * A hop costs as much as an arc of the graph, or as two hops over a lower rank (a triangle). Of equal ones
 * the arc of the graph with the smallest number wins, then the triangle that is found first on the tree paths
 * of the lower neighbours.
 *
 * O(arcs of the path · log depth) where middles are cached; a middle costs one scan of the lower neighbours.
 *
 * Weights are integral, so that sums are exact and a triangle is found by equality.
 *
 * @throws Error when the metric is not that of the weights
 */
export function unpack(unpacker: Unpacker, hops: readonly Hop[]): number[] {
  const { roads, cache } = unpacker
  const arcs: number[] = []
  let zeroArcs = 0
  for (const hop of hops) {
    // one integer for arc and direction, as in `inputSlot`; it is the key of both caches
    const code = hop.arc * 2 + (hop.isUp ? 0 : 1)
    const slot = findCachedHop(cache, code)
    if (slot >= 0) {
      zeroArcs += appendCached(cache, slot, arcs)
      continue
    }
    // the hop's own arcs are `arcs[from …]` after unpacking, and are cached from there
    const from = arcs.length
    const zeroCount = unpackHop(unpacker, hop, arcs)
    cacheHop(cache, code, arcs, from, zeroCount)
    zeroArcs += zeroCount
  }
  // a circle of cost 0 has at least two arcs
  return zeroArcs > 1 ? withoutCircles(roads, arcs) : arcs
}

/** Appends a cached path. @returns number of its arcs of cost 0 */
function appendCached(cache: HopCache, slot: number, arcs: number[]): number {
  const first = cache.first[slot]!
  for (let at = first, end = first + cache.count[slot]!; at < end; at++) arcs.push(cache.arcs[at]!)
  return cache.zeroCount[slot]!
}

/** Appends the arcs of a hop. @returns number of its arcs of cost 0 */
function unpackHop(unpacker: Unpacker, hop: Hop, arcs: number[]): number {
  const { metric, cache } = unpacker
  const stack: number[] = [] // hops to unpack: lower rank, upper rank, arc, 1 = up
  let zeroArcs = 0
  push(stack, hop.lower, hop.upper, hop.arc, hop.isUp)
  // the stack holds the rest of the path, its next hop on top: arcs are appended in the order of travel
  while (stack.length > 0) {
    const isUp = stack.pop() === 1
    const hopArc = stack.pop()!
    const upper = stack.pop()!
    const lower = stack.pop()!
    const costMs = (isUp ? metric.up : metric.down)[hopArc]!
    const own = findInputArc(unpacker, lower, hopArc, isUp, costMs)
    if (own >= 0) {
      arcs.push(own)
      if (costMs === 0) zeroArcs++
      continue
    }
    const slot = findCachedHop(cache, hopArc * 2 + (isUp ? 0 : 1))
    if (slot >= 0) zeroArcs += appendCached(cache, slot, arcs)
    else pushHalves(unpacker, stack, { lower, upper, arc: hopArc, isUp })
  }
  return zeroArcs
}

function push(stack: number[], lower: number, upper: number, arc: number, isUp: boolean): void {
  stack.push(lower, upper, arc, isUp ? 1 : 0)
}

/**
 * Finds the first arc of the graph with the ends, the direction and the cost of a hop.
 *
 * @param hopArc arc of the hierarchy from rank `lower`
 * @returns -1 when there is none: the hop represents two hops over a lower rank
 */
export function findInputArc(
  { hierarchy, weights }: Unpacker,
  lower: number,
  hopArc: number,
  isUp: boolean,
  costMs: number,
): number {
  const { first, firstInput, inputArc, inputSlot } = hierarchy
  // the hop in the terms of `inputSlot`
  const slot = (hopArc - first[lower]!) * 2 + (isUp ? 0 : 1)
  for (let i = firstInput[lower]!, end = firstInput[lower + 1]!; i < end; i++) {
    if (inputSlot[i] === slot && weights[inputArc[i]!] === costMs) return inputArc[i]!
  }
  return -1
}

/** Pushes the two hops that a hop represents, the first in the order of travel on top. */
function pushHalves(unpacker: Unpacker, stack: number[], { lower, upper, arc: hopArc, isUp }: Hop): void {
  const { hierarchy: h } = unpacker
  const { first, headDepth } = h
  const middle = findMiddle(unpacker, lower, hopArc, isUp)
  // the lower end is deeper in the tree, so its arc comes first in the sorted arcs of the middle
  const toLower = findArc(h, middle, headDepth[first[lower]!]! + 1, first[middle]!)
  const toUpper = findArc(h, middle, headDepth[hopArc]!, toLower + 1)
  // lower → middle → upper, pushed last hop first
  if (isUp) {
    push(stack, middle, upper, toUpper, true)
    push(stack, middle, lower, toLower, false)
  } else {
    push(stack, middle, lower, toLower, true)
    push(stack, middle, upper, toUpper, false)
  }
}

/**
 * Finds the middle rank of a hop, which is below both of its ends: the triangle whose two costs add up to
 * that of the hop.
 *
 * @throws Error when there is none
 */
export function findMiddle(unpacker: Unpacker, lower: number, hopArc: number, isUp: boolean): number {
  const { hierarchy: h, metric, knownHop, knownMiddle } = unpacker
  const { first, headDepth, parent, firstLower, lower: lowerOf } = h
  const code = hopArc * 2 + (isUp ? 0 : 1)
  // direct-mapped cache: a later hop of the same slot replaces an earlier one
  const slot = code % knownHop.length
  if (knownHop[slot] === code) return knownMiddle[slot]!
  // upwards the path goes down to the middle, then up from it; downwards the same in the other direction
  const [toFirst, toSecond] = isUp ? [metric.down, metric.up] : [metric.up, metric.down]
  const costMs = toSecond[hopArc]!
  const lowerDepth = headDepth[first[lower]!]! + 1
  const upperDepth = headDepth[hopArc]!
  let tries = 0 // candidates examined
  for (let at = firstLower[lower]!, end = firstLower[lower + 1]!; at < end; at++) {
    // Candidates are the ranks with an arc to `lower`. Tree paths of several lower neighbours may share
    // ranks: examining one twice costs only time.
    for (let v = lowerOf[at]!; v !== lower; v = parent[v]!) {
      tries++
      const toUpper = findArc(h, v, upperDepth, first[v]!)
      if (toUpper < 0) continue // three of four candidates
      const toLower = findArc(h, v, lowerDepth, first[v]!)
      if (toFirst[toLower]! + toSecond[toUpper]! !== costMs) continue
      if (tries >= MIN_TRIES) {
        knownHop[slot] = code
        knownMiddle[slot] = v
      }
      return v
    }
  }
  throw new Error(
    `found no triangle of ${costMs} ms above rank ${lower}: the metric is not that of these weights`,
  )
}

/** Removes circles, which arcs of cost 0 may form. */
function withoutCircles(roads: Topology, arcs: readonly number[]): number[] {
  const { head } = roads
  const kept: number[] = []
  const lengthAt = new Map([[arcTail(roads, arcs[0]!), 0]]) // node → arcs kept when it was reached
  for (const arc of arcs) {
    const node = head[arc]!
    // reached before: everything since then is a circle, and its nodes are forgotten
    const length = lengthAt.get(node)
    if (length === undefined) {
      kept.push(arc)
      lengthAt.set(node, kept.length)
      continue
    }
    for (const dropped of kept.splice(length)) lengthAt.delete(head[dropped]!)
  }
  return kept
}
