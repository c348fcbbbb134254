import type { Weights } from '../search/dijkstra.js'
import type { Hierarchy } from './hierarchy.js'
import type { FullRun, Kernels, Labels, Metric, UpdateRun } from './metric.js'
import { ROOT } from './tree.js'

// Kind of values. Every other line equals the one in kernels-int32.ts (a test compares them): loops that meet two
// kinds of arrays in one process lose a quarter of their speed, so each kind has its own.
type Values = Float64Array
const INFINITE = Number.POSITIVE_INFINITY
const createValues = (length: number): Values => new Float64Array(length)
// End of kind.

export const float64Kernels: Kernels<Values> = {
  infinite: INFINITE,
  createValues,
  customiseSome,
  updateSome,
  climb,
  mergeLabels,
  climbOne,
  meet,
  descend,
}

/** Ranks in ascending order: what the graph gives, then each way over a lower rank that is cheaper. */
function customiseSome(
  h: Hierarchy,
  weights: Weights,
  metric: Metric<Values>,
  run: FullRun,
  maxWork: number,
): void {
  const { nodeCount, first, headDepth, parent, firstLower, lower } = h
  const { up, down } = metric
  const { place, cursor, seenBy } = run
  let x = run.nextRank
  for (let work = 0; x < nodeCount && work < maxWork; x++) {
    work += readInput(h, weights, up, down, place, x)
    seenBy[x] = x
    for (let at = firstLower[x]!, stop = firstLower[x + 1]!; at < stop; at++) {
      for (let v = lower[at]!; seenBy[v] !== x; v = parent[v]!) {
        seenBy[v] = x
        const arc = cursor[v]!
        const end = first[v + 1]!
        cursor[v] = arc + 1
        work += end - arc
        relaxTriangles(headDepth, place, up, down, arc, end)
      }
    }
  }
  run.nextRank = x
}

/** Where a rank comes out as it was, what is above it needs no look on its account. */
function updateSome(
  h: Hierarchy,
  weights: Weights,
  metric: Metric<Values>,
  run: UpdateRun,
  maxWork: number,
): void {
  const { nodeCount, first, headDepth, parent, firstLower, lower } = h
  const { up, down } = metric
  const { place, seenBy, isMarked } = run
  const oldUp = createValues(place.length)
  const oldDown = createValues(place.length)
  let x = run.nextRank
  for (let work = 0; x < nodeCount && work < maxWork; x++) {
    if (isMarked[x] === 0) continue
    const xFirst = first[x]!
    const xEnd = first[x + 1]!
    if (xFirst === xEnd) continue
    for (let arc = xFirst, i = 0; arc < xEnd; arc++, i++) {
      oldUp[i] = up[arc]!
      oldDown[i] = down[arc]!
    }
    const xDepth = headDepth[xFirst]! + 1
    work += readInput(h, weights, up, down, place, x)
    seenBy[x] = x
    for (let at = firstLower[x]!, stop = firstLower[x + 1]!; at < stop; at++) {
      for (let v = lower[at]!; seenBy[v] !== x; v = parent[v]!) {
        seenBy[v] = x
        const end = first[v + 1]!
        let low = first[v]!
        for (let high = end - 1; low < high; ) {
          const middle = (low + high) >>> 1
          if (headDepth[middle]! > xDepth) low = middle + 1
          else high = middle
        }
        work += end - low
        relaxTriangles(headDepth, place, up, down, low, end)
      }
    }
    let last = xEnd - 1
    while (last >= xFirst && up[last] === oldUp[last - xFirst] && down[last] === oldDown[last - xFirst])
      last--
    markHeads(h, run, x, Math.min(last, xEnd - 2))
  }
  run.nextRank = x
}

/** Sets the arcs of a rank to what the graph gives between their ends. @returns their number */
function readInput(
  h: Hierarchy,
  weights: Weights,
  up: Values,
  down: Values,
  place: Int32Array,
  x: number,
): number {
  const { first, headDepth, firstInput, inputArc, inputSlot } = h
  const begin = first[x]!
  const end = first[x + 1]!
  for (let arc = begin; arc < end; arc++) {
    up[arc] = INFINITE
    down[arc] = INFINITE
    place[headDepth[arc]!] = arc
  }
  for (let i = firstInput[x]!, stop = firstInput[x + 1]!; i < stop; i++) {
    const weight = weights[inputArc[i]!]!
    if (weight < 0) continue // closed
    const slot = inputSlot[i]!
    const arc = begin + (slot >>> 1)
    if ((slot & 1) === 0) {
      if (weight < up[arc]!) up[arc] = weight
    } else if (weight < down[arc]!) down[arc] = weight
  }
  return end - begin
}

/** `arc` joins a rank to the one in work, the arcs after it up to `end` to others above: each pair is a triangle. */
function relaxTriangles(
  headDepth: Uint16Array,
  place: Int32Array,
  up: Values,
  down: Values,
  arc: number,
  end: number,
): void {
  const upMs = up[arc]!
  const downMs = down[arc]!
  for (let other = arc + 1; other < end; other++) {
    const third = place[headDepth[other]!]!
    const forthMs = downMs + up[other]!
    if (forthMs < up[third]!) up[third] = forthMs
    const backMs = upMs + down[other]!
    if (backMs < down[third]!) down[third] = backMs
  }
}

/** Marks the upper ends of the arcs of x up to and with `last`: they hold arcs that triangles over x reach. */
function markHeads(h: Hierarchy, run: UpdateRun, x: number, last: number): void {
  const { first, headDepth, parent } = h
  const { isMarked, path } = run
  const begin = first[x]!
  if (last < begin) return
  let depth = headDepth[begin]!
  for (let rank = parent[x]!; rank !== ROOT && path[depth] !== rank; rank = parent[rank]!)
    path[depth--] = rank
  for (let arc = begin; arc <= last; arc++) isMarked[path[headDepth[arc]!]!] = 1
}

function climb(
  h: Hierarchy,
  metric: Metric<Values>,
  labels: Labels<Values>,
  offset: number,
  from: number,
  stop: number,
  best: number,
): number {
  const { first, headDepth } = h
  const { up, down } = metric
  const { forward, backward, forwardFrom, backwardFrom, rank } = labels
  let bestMs = best
  let highest = labels.highest
  for (let at = from; at > stop; at--) {
    const v = rank[at]!
    const forwardMs = forward[at]!
    const backwardMs = backward[at]!
    forward[at] = INFINITE
    backward[at] = INFINITE
    if (forwardMs + backwardMs < bestMs) {
      bestMs = forwardMs + backwardMs
      labels.meeting = at
    }
    const begin = first[v]!
    const end = first[v + 1]!
    if (forwardMs < bestMs) {
      if (forwardMs > highest) highest = forwardMs
      for (let arc = begin; arc < end; arc++) {
        const next = offset + headDepth[arc]!
        const nextMs = forwardMs + up[arc]!
        if (nextMs >= forward[next]!) continue
        forward[next] = nextMs
        forwardFrom[next] = at
      }
    }
    if (backwardMs < bestMs) {
      if (backwardMs > highest) highest = backwardMs
      for (let arc = begin; arc < end; arc++) {
        const next = offset + headDepth[arc]!
        const nextMs = backwardMs + down[arc]!
        if (nextMs >= backward[next]!) continue
        backward[next] = nextMs
        backwardFrom[next] = at
      }
    }
  }
  labels.highest = highest
  return bestMs
}

function mergeLabels(labels: Labels<Values>, from: number, to: number, count: number): void {
  const { forward, backward, forwardFrom, backwardFrom } = labels
  for (let i = 0; i < count; i++) {
    const forwardMs = forward[from + i]!
    const backwardMs = backward[from + i]!
    forward[from + i] = INFINITE
    backward[from + i] = INFINITE
    if (forwardMs < forward[to + i]!) {
      forward[to + i] = forwardMs
      forwardFrom[to + i] = forwardFrom[from + i]!
    }
    if (backwardMs < backward[to + i]!) {
      backward[to + i] = backwardMs
      backwardFrom[to + i] = backwardFrom[from + i]!
    }
  }
}

function climbOne(h: Hierarchy, costs: Values, rank: Int32Array, labels: Values, from: Int32Array): void {
  const { first, headDepth } = h
  for (let depth = rank.length - 1; depth >= 0; depth--) {
    const v = rank[depth]!
    const reachedMs = labels[depth]!
    for (let arc = first[v]!, end = first[v + 1]!; arc < end; arc++) {
      const next = headDepth[arc]!
      const nextMs = reachedMs + costs[arc]!
      if (nextMs >= labels[next]!) continue
      labels[next] = nextMs
      from[next] = depth
    }
  }
}

function meet(forward: Values, backward: Values, count: number): number {
  let bestMs = INFINITE
  let best = -1
  for (let depth = count - 1; depth >= 0; depth--) {
    const sumMs = forward[depth]! + backward[depth]!
    if (sumMs >= bestMs) continue
    bestMs = sumMs
    best = depth
  }
  return best
}

/** Parents come before children, so what is on the way to the root of a rank has its final label by then. */
function descend(h: Hierarchy, metric: Metric<Values>, labels: Values): void {
  const { nodeCount, depthCount, first, headDepth } = h
  const { down } = metric
  const path = createValues(depthCount) // depth → label
  for (let v = nodeCount - 1; v >= 0; v--) {
    const begin = first[v]!
    const end = first[v + 1]!
    let bestMs = labels[v]!
    for (let arc = begin; arc < end; arc++) {
      const reachedMs = path[headDepth[arc]!]! + down[arc]!
      if (reachedMs < bestMs) bestMs = reachedMs
    }
    labels[v] = bestMs
    path[begin === end ? 0 : headDepth[begin]! + 1] = bestMs
  }
}
