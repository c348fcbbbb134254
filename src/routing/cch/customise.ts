import type { Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import type { ThemeRisk } from '../search/overlay.js'
import type { Hierarchy } from './hierarchy.js'
import { float64Kernels } from './kernels-float64.js'
import { int32Kernels } from './kernels-int32.js'
import type { FullRun, Kernels, Metric, UpdateRun, Values } from './metric.js'
import { ROOT } from './tree.js'

/** A customisation that is done in slices, so that searches need not wait for it. Dropping it cancels it. */
export interface Customisation {
  /** half made until `advance` returns true */
  readonly metric: Metric
  /**
   * Goes on for about `maxWork` triangles, some 6 ns each.
   *
   * @returns true when the metric is ready
   */
  advance(maxWork: number): boolean
}

export type Kind = 'int32' | 'float64'

/** What a repair starts from: a metric that is ready, and the weights it was made of. */
export interface Base {
  readonly metric: Metric
  readonly weights: Weights
}

/**
 * A repair looks its triangles up, where a full run counts along, and what it looks at grows towards the top of the
 * tree: beyond a third of the nodes a full run is faster.
 */
const MAX_REPAIR_SHARE = 1 / 3

const COPY_CHUNK = 1 << 18

/**
 * Values for a set of prices: int32 takes half of the memory, and holds 12 days of the worst that the prices know.
 * Where that is more than `MAX_INT32_FACTOR` times the time on the road, the prices mean "never, unless there is no other way", and ways
 * of 12 such days do occur.
 */
export function chooseKind(weights: Weights, themes: readonly Pick<ThemeRisk, 'sensitivity'>[]): Kind {
  if (weights instanceof Float64Array) return 'float64'
  const factor = themes.reduce((sum, { sensitivity }) => sum + Math.max(...sensitivity), 1)
  return factor <= MAX_INT32_FACTOR ? 'int32' : 'float64'
}

const MAX_INT32_FACTOR = 100

/** Begins to customise from nothing. */
export function startCustomisation(h: Hierarchy, weights: Weights, kind: Kind): Customisation {
  const kernels = kernelsOf(kind)
  const metric = createMetric(h, kernels)
  const run: FullRun = {
    nextRank: 0,
    place: new Int32Array(h.depthCount),
    cursor: h.first.slice(),
    seenBy: new Int32Array(h.nodeCount).fill(-1),
  }
  return {
    metric,
    advance(maxWork) {
      kernels.customiseSome(h, weights, metric, run, maxWork)
      return run.nextRank === h.nodeCount
    },
  }
}

/**
 * Begins to make over what differs from a base, node by node. The metric comes out equal to a full customisation, bit
 * for bit.
 *
 * @param roads the graph that both weights belong to
 * @returns undefined when so much differs that a full customisation is faster
 */
export function startUpdate(
  roads: Topology,
  h: Hierarchy,
  weights: Weights,
  kind: Kind,
  base: Base,
): Customisation | undefined {
  // an int32 value that stands for no way may be a cost too high for it, which float64 holds
  if (kind === 'float64' && mayHaveOverflowed(base.metric, base.weights)) return undefined
  if (isScattered(roads, weights, base.weights)) return undefined
  const isMarked = markChanged(roads, h, weights, base.weights)
  if (countAbove(h, isMarked) > h.nodeCount * MAX_REPAIR_SHARE) return undefined
  const kernels = kernelsOf(kind)
  const metric = createMetric(h, kernels)
  const run: UpdateRun = {
    nextRank: 0,
    place: new Int32Array(h.depthCount),
    seenBy: new Int32Array(h.nodeCount).fill(-1),
    isMarked,
    path: new Int32Array(h.depthCount).fill(-1),
  }
  let copied = 0
  return {
    metric,
    advance(maxWork) {
      for (let left = maxWork; copied < h.arcCount; left -= COPY_CHUNK) {
        if (left < 0) return false
        copyValues(base.metric, metric, copied, Math.min(copied + COPY_CHUNK, h.arcCount))
        copied += COPY_CHUNK
      }
      kernels.updateSome(h, weights, metric, run, maxWork)
      return run.nextRank === h.nodeCount
    },
  }
}

/** Does the rest of a customisation at once. */
export function finish(customisation: Customisation): Metric {
  while (!customisation.advance(Number.POSITIVE_INFINITY));
  return customisation.metric
}

export function kindOf(metric: Metric): Kind {
  return metric.up instanceof Int32Array ? 'int32' : 'float64'
}

export function kernelsOf(kind: Kind): Kernels {
  return kind === 'int32' ? int32Kernels : float64Kernels
}

/** 6.2 weighted days: as long as no cost reaches it, the sum of no two overflows int32. */
export const SAFE_MS = 2 ** 29

/** True when "no way" in a metric may also be a cost too high for it. Looks at every cost, once. */
export function mayHaveOverflowed(metric: Metric, weights: Weights): boolean {
  const { infinite } = kernelsOf(kindOf(metric))
  if (infinite === Number.POSITIVE_INFINITY) return false
  let isDoubtful = looked.get(metric)
  if (isDoubtful === undefined) {
    isDoubtful =
      reaches(weights, SAFE_MS) ||
      reaches(metric.up, SAFE_MS, infinite) ||
      reaches(metric.down, SAFE_MS, infinite)
    looked.set(metric, isDoubtful)
  }
  return isDoubtful
}

const looked = new WeakMap<Metric, boolean>()

function reaches(values: Values, limit: number, infinite = Number.POSITIVE_INFINITY): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (value >= limit && value !== infinite) return true
  }
  return false
}

/** Bytes of a metric over a hierarchy. */
export function metricBytes(h: Hierarchy, kind: Kind): number {
  return h.arcCount * 2 * (kind === 'int32' ? 4 : 8)
}

function createMetric({ arcCount }: Hierarchy, kernels: Kernels): Metric {
  return { up: kernels.createValues(arcCount), down: kernels.createValues(arcCount) }
}

/** Neighbours have numbers near each other: so many make a neighbourhood, of which one in so many is looked at. */
const RUN = 64
const STRIDE = 8
/** Fewer tell nothing. */
const MIN_RUNS = 32

/** Do weights differ in most neighbourhoods? Then a repair would come to most of the tree, which is seen soonest so. */
function isScattered({ nodeCount, firstOut }: Topology, weights: Weights, baseWeights: Weights): boolean {
  let runs = 0
  let changed = 0
  for (let node = 0; node < nodeCount; node += RUN * STRIDE) {
    runs++
    const end = firstOut[Math.min(node + RUN, nodeCount)]!
    let arc = firstOut[node]!
    while (arc < end && weights[arc] === baseWeights[arc]) arc++
    if (arc < end) changed++
  }
  return runs >= MIN_RUNS && changed > runs / 2
}

/** Marks the lower end of each arc whose weight differs. */
function markChanged(roads: Topology, h: Hierarchy, weights: Weights, baseWeights: Weights): Uint8Array {
  const { nodeCount, firstOut, head } = roads
  const { rank } = h
  const isMarked = new Uint8Array(nodeCount)
  for (let node = 0; node < nodeCount; node++) {
    for (let arc = firstOut[node]!, end = firstOut[node + 1]!; arc < end; arc++) {
      if (weights[arc] !== baseWeights[arc]) isMarked[Math.min(rank[node]!, rank[head[arc]!]!)] = 1
    }
  }
  return isMarked
}

/** Ranks on the ways from marked ones to the roots: as many as a repair may come to. */
function countAbove({ nodeCount, parent }: Hierarchy, isMarked: Uint8Array): number {
  const isAbove = isMarked.slice()
  let count = 0
  for (let v = 0; v < nodeCount; v++) {
    if (isAbove[v] === 0) continue
    count++
    if (parent[v] !== ROOT) isAbove[parent[v]!] = 1
  }
  return count
}

/** Copies a stretch between metrics of any kinds. */
function copyValues(from: Metric, to: Metric, begin: number, end: number): void {
  for (const way of ['up', 'down'] as const) {
    if (kindOf(from) === kindOf(to)) to[way].set(from[way].subarray(begin, end), begin)
    else convertValues(from[way], to[way], kernelsOf(kindOf(from)), kernelsOf(kindOf(to)), begin, end)
  }
}

function convertValues(
  from: Values,
  to: Values,
  fromKernels: Kernels,
  toKernels: Kernels,
  begin: number,
  end: number,
): void {
  const limit = Math.min(fromKernels.infinite, toKernels.infinite)
  for (let arc = begin; arc < end; arc++) {
    const value = from[arc]!
    to[arc] = value < limit ? value : toKernels.infinite
  }
}
