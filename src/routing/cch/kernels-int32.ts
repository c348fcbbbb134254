import { sharedBuffer } from '../graph/shared-memory.js'
import type { Weights } from '../search/dijkstra.js'
import type { Contraction, Hierarchy } from './hierarchy.js'
import type { FullRun, Kernels, Labels, Metric, UpdateRun } from './metric.js'
import { ROOT } from './tree.js'

// Kind of values. scripts/generate-kernels.mjs replaces this block to generate kernels-float64.ts and
// kernels-wide.ts: loops that meet two kinds of arrays in one process lose a quarter of their speed, so each kind
// has its own code.
type Values = Int32Array
/** 12.4 weighted days: this cost and more count as "no path", and the sum of any two stays in 32 bits. */
const INFINITE = 2 ** 30 - 1
/** 6.2 weighted days */
const SAFE = 2 ** 29
const createValues = (length: number): Values => new Int32Array(length)
const createShared = (length: number): Values => new Int32Array(sharedBuffer(length * 4))
/** Returns the lesser of a cost and the sum of two, without a branch: no processor foresees which it is. */
const lesser = (ms: number, oneMs: number, otherMs: number): number => {
  const overMs = (oneMs + otherMs - ms) | 0 // all are 0 … INFINITE, so their differences fit
  return ms + (overMs & (overMs >> 31))
}
// End of kind.

/** Kernels for costs in milliseconds as Int32Array. */
export const int32Kernels: Kernels<Values> = {
  infinite: INFINITE,
  safeMs: SAFE,
  createValues,
  createShared,
  customiseSome,
  updateSome,
  climb,
  mergeLabels,
  climbOne,
  meet,
  descend,
}

/**
 * Processes ranks in ascending order. The arcs of a rank x start with the weights of the graph; then every
 * lower triangle of x, over a lower rank v that has an arc to x, may replace the cost of an arc by that of
 * the path over v.
 *
 * Invariant: before rank x, every arc whose lower end is below x has its final cost. A full run is
 * O(arcs + triangles).
 *
 * The ranks v are on the tree paths from the lower neighbours of x up to x. Their arcs are sorted by depth,
 * deepest first, so `cursor[v]` always is the arc from v to x, and the arcs behind it lead to ranks above x.
 */
function customiseSome(
  h: Contraction,
  weights: Weights,
  metric: Metric<Values>,
  run: FullRun,
  maxWork: number,
): number {
  const { first, headDepth, parent, firstLower, lower } = h
  const { up, down } = metric
  const { arcAt, cursor, seenBy, endRank } = run
  // a slice ends between two ranks: it may exceed `maxWork` by the triangles of one rank
  let x = run.nextRank
  let work = 0
  for (; x < endRank && work < maxWork; x++) {
    work += readInput(h, weights, up, down, arcAt, x)
    seenBy[x] = x
    for (let at = firstLower[x]!, stop = firstLower[x + 1]!; at < stop; at++) {
      // up the tree until a rank that x has visited: all ranks above that one were visited too
      for (let v = lower[at]!; seenBy[v] !== x; v = parent[v]!) {
        seenBy[v] = x
        const arc = cursor[v]!
        const end = first[v + 1]!
        // the ranks that v leads to are visited in ascending order, which is the order of its arcs
        cursor[v] = arc + 1
        work += end - arc
        relaxTriangles(headDepth, arcAt, up, down, arc, end)
      }
    }
  }
  run.nextRank = x
  return work
}

/**
 * Processes marked ranks in ascending order. A rank whose arcs come out as before does not affect the ranks
 * above it. Otherwise the upper ends of its arcs up to the last one that changed are marked: they have arcs
 * that a triangle over this rank may change.
 *
 * There is no cursor, since most ranks are skipped: the arc from v to x is found by binary search.
 */
function updateSome(
  h: Hierarchy,
  weights: Weights,
  metric: Metric<Values>,
  run: UpdateRun,
  maxWork: number,
): void {
  const { nodeCount, first, headDepth, parent, firstLower, lower } = h
  const { up, down } = metric
  const { arcAt, seenBy, isMarked } = run
  // costs of the arcs of x before this run; a rank has fewer arcs than the tree has depths
  const oldUp = createValues(arcAt.length)
  const oldDown = createValues(arcAt.length)
  let x = run.nextRank
  for (let work = 0; x < nodeCount && work < maxWork; x++) {
    if (isMarked[x] === 0) continue
    const xFirst = first[x]!
    const xEnd = first[x + 1]!
    // a root has no arcs, so nothing depends on it
    if (xFirst === xEnd) continue
    for (let arc = xFirst, i = 0; arc < xEnd; arc++, i++) {
      oldUp[i] = up[arc]!
      oldDown[i] = down[arc]!
    }
    const xDepth = headDepth[xFirst]! + 1
    work += readInput(h, weights, up, down, arcAt, x)
    seenBy[x] = x
    for (let at = firstLower[x]!, stop = firstLower[x + 1]!; at < stop; at++) {
      for (let v = lower[at]!; seenBy[v] !== x; v = parent[v]!) {
        seenBy[v] = x
        const end = first[v + 1]!
        // lower bound in descending depths; the arc to x exists, because v lies below x on a visited path
        let low = first[v]!
        for (let high = end - 1; low < high; ) {
          const middle = (low + high) >>> 1
          if (headDepth[middle]! > xDepth) low = middle + 1
          else high = middle
        }
        work += end - low
        relaxTriangles(headDepth, arcAt, up, down, low, end)
      }
    }
    // A triangle over x changes an arc of the deeper of its two upper ends, to which the earlier arc leads.
    // Ends behind the last changed arc are not affected, and the very last arc has no partner behind it.
    let last = xEnd - 1
    while (last >= xFirst && up[last] === oldUp[last - xFirst] && down[last] === oldDown[last - xFirst])
      last--
    markHeads(h, run, x, Math.min(last, xEnd - 2))
  }
  run.nextRank = x
}

/**
 * Sets the arcs of rank x to the weights of the graph: the cheapest of parallel arcs, infinite where there is
 * none. Also sets `arcAt`, depth → arc of x.
 *
 * @returns number of arcs of x
 */
function readInput(
  h: Contraction,
  weights: Weights,
  up: Values,
  down: Values,
  arcAt: Int32Array,
  x: number,
): number {
  const { first, headDepth, firstInput, inputArc, inputSlot } = h
  const begin = first[x]!
  const end = first[x + 1]!
  for (let arc = begin; arc < end; arc++) {
    up[arc] = INFINITE
    down[arc] = INFINITE
    arcAt[headDepth[arc]!] = arc
  }
  for (let i = firstInput[x]!, stop = firstInput[x + 1]!; i < stop; i++) {
    const weight = weights[inputArc[i]!]!
    if (weight < 0) continue // closed
    // position among the arcs of x, doubled, and the direction in bit 0
    const slot = inputSlot[i]!
    const arc = begin + (slot >>> 1)
    // the comparison also keeps a weight of INFINITE and more at "no path"
    if ((slot & 1) === 0) {
      if (weight < up[arc]!) up[arc] = weight
    } else if (weight < down[arc]!) down[arc] = weight
  }
  return end - begin
}

/**
 * Relaxes all triangles over a rank v that contain its arc to x. `arc` leads from v to x, the arcs after it
 * up to `end` to ranks y above x: with `third`, the arc from x to y, each is a triangle. A path x → v → y
 * costs down(v, x) + up(v, y), a path y → v → x costs down(v, y) + up(v, x).
 */
function relaxTriangles(
  headDepth: Uint16Array,
  arcAt: Int32Array,
  up: Values,
  down: Values,
  arc: number,
  end: number,
): void {
  // read once: the loop writes arcs of x, never arcs of v
  const upMs = up[arc]!
  const downMs = down[arc]!
  for (let other = arc + 1; other < end; other++) {
    // it exists, because contracting v joins all of its upper ends to each other
    const third = arcAt[headDepth[other]!]!
    // a sum with INFINITE is never below a stored cost, so "no path" needs no branch
    const thirdUpMs = up[third]!
    const thirdDownMs = down[third]!
    up[third] = lesser(thirdUpMs, downMs, up[other]!)
    down[third] = lesser(thirdDownMs, upMs, down[other]!)
  }
}

/** Marks the upper ends of the arcs of x up to and including `last`. */
function markHeads(h: Hierarchy, run: UpdateRun, x: number, last: number): void {
  const { first, headDepth, parent } = h
  const { isMarked, path } = run
  const begin = first[x]!
  if (last < begin) return
  // `path` is depth → rank. Ranks ascend in post-order, so all entries above a matching one are valid too,
  // and most calls write only a few.
  let depth = headDepth[begin]!
  for (let rank = parent[x]!; rank !== ROOT && path[depth] !== rank; rank = parent[rank]!)
    path[depth--] = rank
  for (let arc = begin; arc <= last; arc++) isMarked[path[headDepth[arc]!]!] = 1
}

/**
 * @see Kernels.climb. From the deepest label of a branch up: all labels below are relaxed by then, so a label
 *   is final when
 * O(arcs of the ranks on the branch); `at - offset` is the depth of a label.
 *
 * its turn comes. A label at or above the best path is not relaxed.
 */
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
    // reset as they are read, so that the labels are clean for the next search without a pass over them
    forward[at] = INFINITE
    backward[at] = INFINITE
    // strictly less: of equally cheap meetings the deeper one, which comes first, is kept
    if (forwardMs + backwardMs < bestMs) {
      bestMs = forwardMs + backwardMs
      labels.meeting = at
    }
    const begin = first[v]!
    const end = first[v + 1]!
    if (forwardMs < bestMs) {
      // only labels that are relaxed count: the others cannot be part of a cheaper path
      if (forwardMs > highest) highest = forwardMs
      for (let arc = begin; arc < end; arc++) {
        // labels of ranks shared with another branch are kept here until `mergeLabels` moves them
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

/** @see Kernels.mergeLabels. Keeps the cheaper of two labels at each depth, in both directions. */
function mergeLabels(labels: Labels<Values>, from: number, to: number, count: number): void {
  const { forward, backward, forwardFrom, backwardFrom } = labels
  // depths 0 … count - 1 are the same ranks in both branches, so labels are compared place by place
  for (let i = 0; i < count; i++) {
    const forwardMs = forward[from + i]!
    const backwardMs = backward[from + i]!
    forward[from + i] = INFINITE
    backward[from + i] = INFINITE
    if (forwardMs < forward[to + i]!) {
      forward[to + i] = forwardMs
      // still refers to the merged branch, whose `rank` stays valid until the next search
      forwardFrom[to + i] = forwardFrom[from + i]!
    }
    if (backwardMs < backward[to + i]!) {
      backward[to + i] = backwardMs
      backwardFrom[to + i] = backwardFrom[from + i]!
    }
  }
}

/** @see Kernels.climbOne. From the deepest label to the root: a label is final when its turn comes. */
function climbOne(h: Hierarchy, costs: Values, rank: Int32Array, labels: Values, from: Int32Array): void {
  const { first, headDepth } = h
  for (let depth = rank.length - 1; depth >= 0; depth--) {
    const v = rank[depth]!
    // an infinite label needs no branch: its sums are never below a known label
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

/** @see Kernels.meet. From the deepest common rank to the root, so that the deepest of equal sums wins. */
function meet(forward: Values, backward: Values, count: number): number {
  // sums at or above it are no path
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

/**
 * @see Kernels.descend. Ranks in descending order: parents come before children, so every rank above has its
 *   final label.
 * The labels above a rank are read from `path`, depth → label, which the subtree order of ranks keeps valid:
 * when a rank comes, the entries above its depth belong to its own path to the root.
 */
function descend(h: Hierarchy, metric: Metric<Values>, labels: Values): void {
  const { nodeCount, depthCount, first, headDepth } = h
  const { down } = metric
  const path = createValues(depthCount) // depth → label on the path of the current rank
  for (let v = nodeCount - 1; v >= 0; v--) {
    const begin = first[v]!
    const end = first[v + 1]!
    // finite where a source has climbed to v; the path may also come down from above
    let bestMs = labels[v]!
    for (let arc = begin; arc < end; arc++) {
      const reachedMs = path[headDepth[arc]!]! + down[arc]!
      if (reachedMs < bestMs) bestMs = reachedMs
    }
    labels[v] = bestMs
    // the depth of v is one below its parent, the upper end of its first arc; a root has depth 0
    path[begin === end ? 0 : headDepth[begin]! + 1] = bestMs
  }
}
