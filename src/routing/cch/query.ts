import type { End } from '../search/dijkstra.js'
import { depthOf, findArc, type Hierarchy } from './hierarchy.js'
import type { Kernels, Labels, Metric, Values } from './metric.js'
import { ROOT } from './tree.js'

/**
 * Scratch of searches between nodes: some hundred labels, whatever the size of the map.
 *
 * The ends of a search lie on a few **ways**: each leads from one end towards the root of the elimination tree, and
 * stops where it meets an earlier way. Way w has the labels `w * stride …`, one for each depth.
 */
export interface Query {
  readonly kernels: Kernels
  readonly stride: number
  labels: Labels
  wayCount: number
  /** way → depth of its end */
  readonly top: number[]
  /** way → depth where it meets another, -1 when it goes on to a root */
  readonly stop: number[]
  /** way → the earlier way that it meets */
  readonly joins: number[]
}

/** An arc of the hierarchy as a cheapest way uses it. */
export interface Hop {
  readonly lower: number
  readonly upper: number
  readonly arc: number
  readonly isUp: boolean
}

export function createQuery(h: Hierarchy, kernels: Kernels): Query {
  return {
    kernels,
    stride: h.depthCount,
    labels: createLabels(kernels, h.depthCount * 4),
    wayCount: 0,
    top: [],
    stop: [],
    joins: [],
  }
}

/**
 * Cheapest cost from any of the sources to any of the targets, without a queue: all that a cheapest way needs lies
 * between its ends and the root.
 *
 * Of equally cheap ways the one is taken that is found first, which depends on nothing but the hierarchy and the costs.
 *
 * @param best cost to undercut, at most `kernels.infinite`
 * @returns `best` when there is none; the way is read with `readHops`
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
  query.wayCount = 0
  placeEnds(h, query, sources, targets)
  const { labels } = query
  labels.meeting = -1
  labels.highest = 0
  let bestMs = best
  for (let way = query.wayCount - 1; way >= 0; way--) {
    const offset = way * stride
    bestMs = kernels.climb(h, metric, labels, offset, offset + top[way]!, offset + stop[way]!, bestMs)
    if (stop[way]! >= 0) kernels.mergeLabels(labels, offset, joins[way]! * stride, stop[way]! + 1)
  }
  return bestMs
}

/** The way that `findCost` found, in the order of travel, and the positions of its ends. */
export function readHops(h: Hierarchy, query: Query): { hops: Hop[]; source: number; target: number } {
  const { stride, labels } = query
  const { rank, forwardFrom, backwardFrom, meeting } = labels
  const hops: Hop[] = []
  const read = (from: Int32Array, isUp: boolean): number => {
    let at = meeting
    for (let next = from[at]!; next >= 0; next = from[at]!) {
      const lower = rank[next]!
      const arc = findArc(h, lower, at % stride, h.first[lower]!)
      hops.push({ lower, upper: rank[at]!, arc, isUp })
      at = next
    }
    return ~from[at]!
  }
  const source = read(forwardFrom, true)
  hops.reverse()
  const target = read(backwardFrom, false)
  return { hops, source, target }
}

/** Gives every end its way and its label. From the lowest rank on, so that most ends lie on the way of another. */
function placeEnds(h: Hierarchy, query: Query, sources: readonly End[], targets: readonly End[]): void {
  const { rank } = h
  const ends = sources.length + targets.length
  const rankOf = (end: number) =>
    rank[end < sources.length ? sources[end]!.node : targets[end - sources.length]!.node]!
  const byRank = Array.from({ length: ends }, (_, end) => end)
  for (let i = 1; i < ends; i++) {
    const end = byRank[i]!
    let at = i
    for (; at > 0 && rankOf(byRank[at - 1]!) > rankOf(end); at--) byRank[at] = byRank[at - 1]!
    byRank[at] = end
  }
  for (const end of byRank) {
    const at = wayFrom(h, query, rankOf(end))
    const { forward, forwardFrom, backward, backwardFrom } = query.labels
    if (end < sources.length) setLabel(forward, forwardFrom, at, sources[end]!.costMs, end)
    else setLabel(backward, backwardFrom, at, targets[end - sources.length]!.costMs, end - sources.length)
  }
}

function setLabel(values: Values, from: Int32Array, at: number, costMs: number, position: number): void {
  if (costMs >= values[at]!) return
  values[at] = costMs
  from[at] = ~position
}

/** @returns the label of a rank: on a way that is there already, or on a new one */
function wayFrom(h: Hierarchy, query: Query, end: number): number {
  const { parent } = h
  const { stride, top, stop, joins } = query
  const endDepth = depthOf(h, end)
  const found = wayThrough(query, end, endDepth)
  if (found >= 0) return found * stride + endDepth
  const way = query.wayCount
  if ((way + 1) * stride > query.labels.rank.length) query.labels = grow(query.kernels, query.labels)
  const { rank } = query.labels
  let v = end
  let depth = endDepth
  let joined = -1
  do {
    rank[way * stride + depth] = v
    v = parent[v]!
    depth--
    joined = v === ROOT ? -1 : wayThrough(query, v, depth)
  } while (v !== ROOT && joined < 0)
  top[way] = endDepth
  stop[way] = depth
  joins[way] = joined
  query.wayCount = way + 1
  return way * stride + endDepth
}

/** The way that goes through a rank and has its labels, -1 = none. */
function wayThrough({ wayCount, stride, top, stop, labels }: Query, v: number, depth: number): number {
  for (let way = 0; way < wayCount; way++) {
    if (depth > stop[way]! && depth <= top[way]! && labels.rank[way * stride + depth] === v) return way
  }
  return -1
}

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

/** Twice as many labels; those in use are kept. */
function grow(kernels: Kernels, old: Labels): Labels {
  const labels = createLabels(kernels, old.rank.length * 2)
  labels.forward.set(old.forward)
  labels.backward.set(old.backward)
  labels.forwardFrom.set(old.forwardFrom)
  labels.backwardFrom.set(old.backwardFrom)
  labels.rank.set(old.rank)
  return labels
}
