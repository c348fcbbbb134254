import type { End } from '../search/dijkstra.js'
import { depthOf, findArc, type Hierarchy } from './hierarchy.js'
import type { Kernels, Labels, Metric, Values } from './metric.js'
import { ROOT } from './tree.js'

/**
 * Scratch of searches between nodes: some hundred labels, whatever the size of the map.
 *
 * The ends of a search lie on a few **branches**: each leads from one end towards the root of the elimination
 * tree, and ends where it meets an earlier branch. Branch b has the labels `b * stride … + stride)`, one for
 * each depth.
 */
export interface Query {
  readonly kernels: Kernels
  readonly stride: number
  labels: Labels
  branchCount: number
  /** branch → depth of its lowest rank */
  readonly top: number[]
  /** branch → depth where it meets another, -1 when it leads to a root */
  readonly stop: number[]
  /** branch → earlier branch that it meets, -1 = none */
  readonly joins: number[]
}

/** An arc of the hierarchy in a cheapest path: its ranks, and the direction of travel. */
export interface Hop {
  readonly lower: number
  readonly upper: number
  readonly arc: number
  readonly isUp: boolean
}

/** Creates the scratch: room for four branches, which grows with the number of ends. */
export function createQuery(h: Hierarchy, kernels: Kernels): Query {
  return {
    kernels,
    stride: h.depthCount,
    labels: createLabels(kernels, h.depthCount * 4),
    branchCount: 0,
    top: [],
    stop: [],
    joins: [],
  }
}

/**
 * Finds the least cost from any of the sources to any of the targets. It needs no queue: all ranks of a
 * cheapest path lie between its ends and the root. Some 20 µs for a city.
 *
 * O(arcs of the ranks on the paths from the ends to the root). Branches are processed from the last to the
 * first: a branch only joins an earlier one, so all labels merged into it are there when its turn comes.
 *
 * Of equally cheap paths the one found first wins, which depends on the hierarchy and the metric alone.
 *
 * @param best only cheaper paths are wanted; at most `kernels.infinite`
 * @returns `best` when there is none; read the path with `readHops`
 */
export function findCost(
  h: Hierarchy,
  metric: Metric,
  query: Query,
  sources: readonly End[],
  targets: readonly End[],
  best: number,
): number {
  const { kernels, stride, top, stop, joins } = query
  query.branchCount = 0
  // may replace `query.labels` by larger ones, so they are read afterwards
  placeEnds(h, query, sources, targets)
  const { labels } = query
  labels.meeting = -1
  labels.highest = 0
  let bestMs = best
  for (let branch = query.branchCount - 1; branch >= 0; branch--) {
    // labels of this branch: depth d is at `offset + d`; it climbs from `top` down to, not including, `stop`
    const offset = branch * stride
    bestMs = kernels.climb(h, metric, labels, offset, offset + top[branch]!, offset + stop[branch]!, bestMs)
    if (stop[branch]! >= 0) kernels.mergeLabels(labels, offset, joins[branch]! * stride, stop[branch]! + 1)
  }
  return bestMs
}

/** Reads the path that `findCost` found, in the order of travel, and the positions of its ends. */
export function readHops(h: Hierarchy, query: Query): { hops: Hop[]; source: number; target: number } {
  const { stride, labels } = query
  const { rank, forwardFrom, backwardFrom, meeting } = labels
  const hops: Hop[] = []
  const read = (from: Int32Array, isUp: boolean): number => {
    // from the meeting back to an end; `from` holds the label before, or `~position` of the end
    let at = meeting
    for (let next = from[at]!; next >= 0; next = from[at]!) {
      // the label before is deeper, so its rank is the lower end of the arc
      const lower = rank[next]!
      const arc = findArc(h, lower, at % stride, h.first[lower]!)
      hops.push({ lower, upper: rank[at]!, arc, isUp })
      at = next
    }
    return ~from[at]!
  }
  const source = read(forwardFrom, true)
  // the forward half was read from the meeting to the source
  hops.reverse()
  const target = read(backwardFrom, false)
  return { hops, source, target }
}

/**
 * Gives every end its branch and its label, from the lowest rank on, so that most ends lie on another's
 * branch.
 */
function placeEnds(h: Hierarchy, query: Query, sources: readonly End[], targets: readonly End[]): void {
  const { rank } = h
  const ends = sources.length + targets.length
  // ends are numbered through: sources first, then targets
  const rankOf = (end: number) =>
    rank[end < sources.length ? sources[end]!.node : targets[end - sources.length]!.node]!
  const byRank = Array.from({ length: ends }, (_, end) => end)
  // insertion sort: there are two to eight ends
  for (let i = 1; i < ends; i++) {
    const end = byRank[i]!
    let at = i
    for (; at > 0 && rankOf(byRank[at - 1]!) > rankOf(end); at--) byRank[at] = byRank[at - 1]!
    byRank[at] = end
  }
  for (const end of byRank) {
    const at = labelOf(h, query, rankOf(end))
    const { forward, forwardFrom, backward, backwardFrom } = query.labels
    // labels are fetched in each round, because `labelOf` may have replaced the arrays
    if (end < sources.length) setLabel(forward, forwardFrom, at, sources[end]!.costMs, end)
    else setLabel(backward, backwardFrom, at, targets[end - sources.length]!.costMs, end - sources.length)
  }
}

/** Sets a label when it is cheaper than the known one. */
function setLabel(values: Values, from: Int32Array, at: number, costMs: number, position: number): void {
  if (costMs >= values[at]!) return
  values[at] = costMs
  from[at] = ~position
}

/** Returns the label of a rank, on an existing branch or a new one. */
function labelOf(h: Hierarchy, query: Query, end: number): number {
  const { parent } = h
  const { stride, top, stop, joins } = query
  const endDepth = depthOf(h, end)
  const found = branchThrough(query, end, endDepth)
  if (found >= 0) return found * stride + endDepth
  const branch = query.branchCount
  if ((branch + 1) * stride > query.labels.rank.length) query.labels = grow(query.kernels, query.labels)
  const { rank } = query.labels
  // up the tree until the root, or until a rank that an earlier branch contains
  let v = end
  let depth = endDepth
  let joined = -1
  do {
    rank[branch * stride + depth] = v
    v = parent[v]!
    depth--
    joined = v === ROOT ? -1 : branchThrough(query, v, depth)
  } while (v !== ROOT && joined < 0)
  top[branch] = endDepth
  stop[branch] = depth
  joins[branch] = joined
  query.branchCount = branch + 1
  return branch * stride + endDepth
}

/** Finds the branch that contains a rank, -1 = none. */
function branchThrough({ branchCount, stride, top, stop, labels }: Query, v: number, depth: number): number {
  for (let branch = 0; branch < branchCount; branch++) {
    // a branch owns the depths from `stop + 1` to `top`; a rank is on it when it is the rank at its own depth
    if (depth > stop[branch]! && depth <= top[branch]! && labels.rank[branch * stride + depth] === v)
      return branch
  }
  return -1
}

/** Creates labels, all infinite. */
function createLabels(kernels: Kernels, length: number): Labels {
  const infinite = () => {
    const values = kernels.createValues(length)
    values.fill(kernels.infinite)
    return values
  }
  return {
    forward: infinite(),
    backward: infinite(),
    forwardFrom: new Int32Array(length),
    backwardFrom: new Int32Array(length),
    rank: new Int32Array(length),
    meeting: -1,
    highest: 0,
  }
}

/** Doubles the labels; values are kept. */
function grow(kernels: Kernels, old: Labels): Labels {
  const labels = createLabels(kernels, old.rank.length * 2)
  labels.forward.set(old.forward)
  labels.backward.set(old.backward)
  labels.forwardFrom.set(old.forwardFrom)
  labels.backwardFrom.set(old.backwardFrom)
  labels.rank.set(old.rank)
  return labels
}
