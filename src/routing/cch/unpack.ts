import { arcTail, type Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import { findArc, type Hierarchy } from './hierarchy.js'
import { createHopCache, findKnown, type HopCache, hopCacheBytes, remember } from './hop-cache.js'
import type { Metric } from './metric.js'
import type { Hop } from './query.js'

/** Where ways over hops lead in detail, under one metric. */
export interface Unpacker {
  readonly roads: Topology
  readonly hierarchy: Hierarchy
  readonly weights: Weights
  readonly metric: Metric
  /** hop, see `codeOf`, that was found last at a place, -1 = none; and the rank that it leads over */
  readonly knownHop: Int32Array
  readonly knownMiddle: Int32Array
  /** whole ways of hops */
  readonly ways: HopCache
}

/** Hops near the top of the tree take long to unpack and are part of very many ways: remembers one for so many arcs. */
const ARCS_PER_KNOWN = 32
/** What is found sooner is not worth remembering. */
const MIN_TRIES = 8

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
    ways: createHopCache(hierarchy.arcCount),
  }
}

/** What it may come to. @param arcCount of the hierarchy */
export function unpackerBytes(arcCount: number): number {
  return Math.ceil(arcCount / ARCS_PER_KNOWN) * 8 + hopCacheBytes(arcCount)
}

/**
 * The arcs of the graph that a way over arcs of the hierarchy stands for, in the order of travel.
 *
 * A hop is either an arc of the graph or as dear as two hops below it. Where several are equally dear the graph's own
 * arc with the smallest number wins, then the triangle that is met first on the way up from the lower end's neighbours.
 *
 * Costs are integral, so that sums are exact and equality finds the triangle.
 */
export function unpack(unpacker: Unpacker, hops: readonly Hop[]): number[] {
  const { roads, ways } = unpacker
  const arcs: number[] = []
  let zeroArcs = 0
  for (const hop of hops) {
    const code = hop.arc * 2 + (hop.isUp ? 0 : 1)
    const slot = findKnown(ways, code)
    if (slot >= 0) {
      zeroArcs += appendKnown(ways, slot, arcs)
      continue
    }
    const from = arcs.length
    const zeroCount = unpackHop(unpacker, hop, arcs)
    remember(ways, code, arcs, from, zeroCount)
    zeroArcs += zeroCount
  }
  return zeroArcs > 1 ? withoutCircles(roads, arcs) : arcs
}

/** @returns how many of the arcs cost nothing, as `unpackHop` does */
function appendKnown(ways: HopCache, slot: number, arcs: number[]): number {
  const first = ways.first[slot]!
  for (let at = first, end = first + ways.count[slot]!; at < end; at++) arcs.push(ways.arcs[at]!)
  return ways.zeroCount[slot]!
}

/** Adds the arcs that a hop stands for; those below it may be known already. */
function unpackHop(unpacker: Unpacker, hop: Hop, arcs: number[]): number {
  const { metric, ways } = unpacker
  const stack: number[] = [] // hops still to be unpacked, four numbers each
  let zeroArcs = 0
  push(stack, hop.lower, hop.upper, hop.arc, hop.isUp)
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
    const slot = findKnown(ways, hopArc * 2 + (isUp ? 0 : 1))
    if (slot >= 0) zeroArcs += appendKnown(ways, slot, arcs)
    else split(unpacker, stack, lower, upper, hopArc, isUp)
  }
  return zeroArcs
}

function push(stack: number[], lower: number, upper: number, arc: number, isUp: boolean): void {
  stack.push(lower, upper, arc, isUp ? 1 : 0)
}

/** The graph's first arc between the ends of a hop with its cost, -1 when there is none. */
export function findInputArc(
  { hierarchy, weights }: Unpacker,
  lower: number,
  hopArc: number,
  isUp: boolean,
  costMs: number,
): number {
  const { first, firstInput, inputArc, inputSlot } = hierarchy
  const slot = (hopArc - first[lower]!) * 2 + (isUp ? 0 : 1)
  for (let i = firstInput[lower]!, end = firstInput[lower + 1]!; i < end; i++) {
    if (inputSlot[i] === slot && weights[inputArc[i]!] === costMs) return inputArc[i]!
  }
  return -1
}

/** Puts the two hops that a hop stands for on the stack, the first of the way on top. */
function split(
  unpacker: Unpacker,
  stack: number[],
  lower: number,
  upper: number,
  hopArc: number,
  isUp: boolean,
): void {
  const { hierarchy: h } = unpacker
  const { first, headDepth } = h
  const middle = findMiddle(unpacker, lower, hopArc, isUp)
  const toLower = findArc(h, middle, headDepth[first[lower]!]! + 1, first[middle]!)
  const toUpper = findArc(h, middle, headDepth[hopArc]!, toLower + 1)
  if (isUp) {
    push(stack, middle, upper, toUpper, true)
    push(stack, middle, lower, toLower, false)
  } else {
    push(stack, middle, lower, toLower, true)
    push(stack, middle, upper, toUpper, false)
  }
}

/** The rank below both ends of a hop that it leads over. */
export function findMiddle(unpacker: Unpacker, lower: number, hopArc: number, isUp: boolean): number {
  const { hierarchy: h, metric, knownHop, knownMiddle } = unpacker
  const { first, headDepth, parent, firstLower, lower: lowerOf } = h
  const code = hopArc * 2 + (isUp ? 0 : 1)
  const place = code % knownHop.length
  if (knownHop[place] === code) return knownMiddle[place]!
  const [toFirst, toSecond] = isUp ? [metric.down, metric.up] : [metric.up, metric.down]
  const costMs = toSecond[hopArc]!
  const lowerDepth = headDepth[first[lower]!]! + 1
  const upperDepth = headDepth[hopArc]!
  let tries = 0
  for (let at = firstLower[lower]!, end = firstLower[lower + 1]!; at < end; at++) {
    for (let v = lowerOf[at]!; v !== lower; v = parent[v]!) {
      tries++
      const toUpper = findArc(h, v, upperDepth, first[v]!)
      if (toUpper < 0) continue // as with three of four
      const toLower = findArc(h, v, lowerDepth, first[v]!)
      if (toFirst[toLower]! + toSecond[toUpper]! !== costMs) continue
      if (tries >= MIN_TRIES) {
        knownHop[place] = code
        knownMiddle[place] = v
      }
      return v
    }
  }
  throw new Error(`no triangle of ${costMs} ms above rank ${lower}: the metric is not of these weights`)
}

/** Arcs that cost nothing may lead in a circle: cuts it out. */
function withoutCircles(roads: Topology, arcs: readonly number[]): number[] {
  const { head } = roads
  const kept: number[] = []
  const lengthAt = new Map([[arcTail(roads, arcs[0]!), 0]]) // node → arcs kept when it was reached
  for (const arc of arcs) {
    const node = head[arc]!
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
