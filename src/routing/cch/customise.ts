import type { Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import type { ThemeRisk } from '../search/overlay.js'
import type { Hierarchy } from './hierarchy.js'
import { float64Kernels } from './kernels-float64.js'
import { int32Kernels } from './kernels-int32.js'
import { wideKernels } from './kernels-wide.js'
import {
  type FullRun,
  type Kernels,
  KINDS,
  type Kind,
  type Metric,
  type UpdateRun,
  type Values,
} from './metric.js'
import { ROOT } from './tree.js'

/** A customisation that runs in slices, so that searches need not wait for it. Dropping it cancels it. */
export interface Customisation {
  /** incomplete until `advance` returns true */
  readonly metric: Metric
  /**
   * Processes about `maxWork` triangles, some 6 ns each.
   *
   * @returns true when the metric is complete; false with work left when other threads have to end theirs first
   */
  advance(maxWork: number): boolean
}

/** Start of an update: a complete metric, and the weights that it was customised with. */
interface Base {
  readonly metric: Metric
  readonly weights: Weights
}

/**
 * Largest share of the ranks that an update may have to visit. An update finds its triangles by binary
 * search, where a full run advances a cursor, and ranks near the root have the most triangles: beyond a third
 * a full run is faster.
 */
const MAX_UPDATE_SHARE = 1 / 3

/** Values copied between two checks of the work limit. */
const COPY_CHUNK = 1 << 18

/**
 * Chooses the kind of a metric. int32 takes half of the memory and represents paths of up to 12 weighted
 * days. With sensitivities above `MAX_INT32_FACTOR`, which mean "only if there is no other path", longer
 * paths do occur, and a search that meets one costs a second customisation. Beyond `MAX_FLOAT64_FACTOR` the
 * same would hold for float64, and nobody means such factors: they get at once what represents every path.
 */
export function chooseKind(weights: Weights, themes: readonly Pick<ThemeRisk, 'sensitivity'>[]): Kind {
  const factor = themes.reduce((sum, { sensitivity }) => sum + Math.max(...sensitivity), 1)
  if (factor > MAX_FLOAT64_FACTOR) return 'wide'
  return factor > MAX_INT32_FACTOR || weights instanceof Float64Array ? 'float64' : 'int32'
}

/** Largest factor on the driving time for which int32 is chosen: it represents 3 hours of it. */
const MAX_INT32_FACTOR = 100
/** Largest factor for which float64 is chosen: it is in doubt from 6.2 days of driving on, which no map has. */
const MAX_FLOAT64_FACTOR = 2 ** 21

/**
 * Starts a full customisation: 13 ms for a city of 236,000 arcs of the hierarchy, some 10 ns a triangle.
 *
 * @param weights arc of the graph → milliseconds, negative = closed; kept until the customisation is complete
 * @see J. Dibbelt, B. Strasser, D. Wagner, "Customizable contraction hierarchies", 2014
 */
export function startCustomisation(h: Hierarchy, weights: Weights, kind: Kind): Customisation {
  const kernels = kernelsOf(kind)
  const metric = createMetric(h, kind)
  const run: FullRun = {
    nextRank: 0,
    endRank: h.nodeCount,
    arcAt: new Int32Array(h.depthCount),
    cursor: h.first.slice(),
    seenBy: new Int32Array(h.nodeCount).fill(-1),
  }
  return {
    metric,
    advance(maxWork) {
      kernels.customiseSome(h, weights, metric, run, maxWork)
      return run.nextRank === run.endRank
    },
  }
}

/**
 * Starts an update of a metric for other weights: only ranks whose arcs may change are processed. The result
 * equals that of a full customisation, bit for bit.
 *
 * @param roads graph of both weights
 * @returns undefined when so many weights differ that a full customisation is faster
 */
export function startUpdate(
  roads: Topology,
  h: Hierarchy,
  weights: Weights,
  kind: Kind,
  base: Base,
): Customisation | undefined {
  // "no path" in the base may be a cost that only the wider kind represents
  const isWider = KINDS.indexOf(kind) > KINDS.indexOf(base.metric.kind)
  if (isWider && mayHaveOverflowed(base.metric, base.weights)) return undefined
  if (isScattered(roads, weights, base.weights)) return undefined
  const isMarked = markChanged(roads, h, weights, base.weights)
  if (countAbove(h, isMarked) > h.nodeCount * MAX_UPDATE_SHARE) return undefined
  const kernels = kernelsOf(kind)
  const metric = createMetric(h, kind)
  const run: UpdateRun = {
    nextRank: 0,
    arcAt: new Int32Array(h.depthCount),
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

/** Completes a customisation without a pause. @returns its metric */
export function finish(customisation: Customisation): Metric {
  customisation.advance(Number.POSITIVE_INFINITY)
  return customisation.metric
}

/** Returns the inner loops for a kind. */
export function kernelsOf(kind: Kind): Kernels {
  return KERNELS[kind]
}

const KERNELS: Record<Kind, Kernels> = { int32: int32Kernels, float64: float64Kernels, wide: wideKernels }

/**
 * Returns true when "no path" between the ends of a search may also be a cost too high for the kind of the metric.
 *
 * @param weights of the metric
 * @param highestMs returns the highest cost of an end and of a label; not called for a wide metric
 */
export function isDoubtful(metric: Metric, weights: Weights, highestMs: () => number): boolean {
  const { safeMs } = kernelsOf(metric.kind)
  if (safeMs === Number.POSITIVE_INFINITY) return false
  return highestMs() >= safeMs || mayHaveOverflowed(metric, weights)
}

/**
 * Returns true when "no path" in a metric may also be a cost too high for its kind. Reads every cost once a
 * metric, but none of a wide one.
 *
 * @param weights of the metric
 */
export function mayHaveOverflowed(metric: Metric, weights: Weights): boolean {
  const { infinite, safeMs } = kernelsOf(metric.kind)
  if (safeMs === Number.POSITIVE_INFINITY) return false
  let mayHave = overflows.get(metric)
  if (mayHave === undefined) {
    mayHave =
      reaches(weights, safeMs) ||
      reaches(metric.up, safeMs, infinite) ||
      reaches(metric.down, safeMs, infinite)
    overflows.set(metric, mayHave)
  }
  return mayHave
}

const overflows = new WeakMap<Metric, boolean>()

function reaches(values: Values, limit: number, infinite = Number.POSITIVE_INFINITY): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (value >= limit && value !== infinite) return true
  }
  return false
}

/** Returns the bytes of a metric over a hierarchy. */
export function metricBytes(h: Hierarchy, kind: Kind): number {
  return h.arcCount * 2 * (kind === 'int32' ? 4 : 8)
}

function createMetric({ arcCount }: Hierarchy, kind: Kind): Metric {
  const { createValues } = kernelsOf(kind)
  return { kind, up: createValues(arcCount), down: createValues(arcCount) }
}

/** Nodes of a run. Node numbers follow a space-filling curve, so that a run is a neighbourhood on the map. */
const RUN = 64
/** One run in this many is compared. */
const STRIDE = 8
/** Fewest runs that allow a conclusion. */
const MIN_RUNS = 32

/**
 * Samples runs of nodes. @returns true when weights differ in most of them: an update would visit most of the
 * tree
 */
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

/** Returns rank → 1 for the lower end of each arc whose weight differs. */
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

/** Counts the ranks on the paths from marked ones to the roots: the most that an update can visit. */
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

/**
 * Copies arcs `begin … end` between metrics of any kinds. A cost that the new kind does not represent becomes
 * "no path", as in a full run: the cost of every part of a path is at most that of the path.
 */
function copyValues(from: Metric, to: Metric, begin: number, end: number): void {
  const { infinite } = kernelsOf(to.kind)
  const limit = Math.min(kernelsOf(from.kind).infinite, infinite)
  for (const direction of ['up', 'down'] as const) {
    const [source, target] = [from[direction], to[direction]]
    if (from.kind === to.kind) target.set(source.subarray(begin, end), begin)
    else {
      for (let arc = begin; arc < end; arc++) target[arc] = source[arc]! < limit ? source[arc]! : infinite
    }
  }
}
