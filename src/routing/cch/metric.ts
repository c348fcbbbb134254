import type { Weights } from '../search/dijkstra.js'
import type { Contraction, Hierarchy } from './hierarchy.js'

/**
 * Kinds of metrics, each wider than the one before: 32-bit integers; doubles up to a cost for which arithmetic
 * needs no branches; doubles without an end. See `chooseKind`.
 */
export const KINDS = ['int32', 'float64', 'wide'] as const

export type Kind = (typeof KINDS)[number]

/** Costs in whole milliseconds. */
export type Values = Int32Array | Float64Array

/**
 * Costs of the arcs of a hierarchy under one set of weights, milliseconds: arc → cost upwards, and downwards.
 * The cost of an arc is that of the cheapest path between its ends over lower ranks. So some cheapest path
 * between any two nodes goes up first and then down.
 */
export interface Metric<V extends Values = Values> {
  /** tells float64 and wide apart, whose arrays are of one type */
  readonly kind: Kind
  readonly up: V
  readonly down: V
}

/**
 * Labels of a search between any number of nodes. Arrays of equal length; for the numbering of labels see
 * `Query`.
 */
export interface Labels<V extends Values = Values> {
  /** label → cost of the cheapest path known from a source; infinite between searches */
  readonly forward: V
  /** label → cost of the cheapest path known to a target; infinite between searches */
  readonly backward: V
  /** label → label that its path comes from, or `~position` of the source or target that it begins with */
  readonly forwardFrom: Int32Array
  readonly backwardFrom: Int32Array
  /** label → rank */
  readonly rank: Int32Array
  /** label of the best meeting so far, -1 = none */
  meeting: number
  /** highest label that was relaxed since it was set to 0: shows whether a sum may have overflowed */
  highest: number
}

/** State of a full customisation of a range of ranks. */
export interface FullRun {
  /** ranks of the range below this are complete */
  nextRank: number
  /** end of the range, exclusive. What its ranks need is in it, or complete */
  endRank: number
  /** depth → arc of the current rank with its upper end there */
  readonly arcAt: Int32Array
  /** rank → its arc to the next higher rank that will process it */
  readonly cursor: Uint32Array
  /** rank → current rank when it was last visited */
  readonly seenBy: Int32Array
}

/** State of an update: a customisation of the ranks that changed weights affect. */
export interface UpdateRun {
  nextRank: number
  readonly arcAt: Int32Array
  readonly seenBy: Int32Array
  /** rank → 1 when its arcs must be computed again */
  readonly isMarked: Uint8Array
  /** depth → rank on the path from the current rank to the root */
  readonly path: Int32Array
}

/** Inner loops for one kind of metrics. They check nothing; their parameters are positional for speed. */
export interface Kernels<V extends Values = Values> {
  /** value for "no path"; a sum with it is never below it */
  readonly infinite: number
  /** the sum of two costs below it is below `infinite`; infinite where costs have no end */
  readonly safeMs: number
  /** Creates an array of zeros. */
  createValues(length: number): V
  /** Creates an array of zeros that threads can share. */
  createShared(length: number): V
  /**
   * Advances a full customisation by about `maxWork` triangles. Complete when `run.nextRank` is `run.endRank`.
   *
   * @returns triangles and arcs that were processed
   */
  customiseSome(h: Contraction, weights: Weights, metric: Metric<V>, run: FullRun, maxWork: number): number
  /** Advances an update likewise; `metric` starts as a copy of the metric before the change. */
  updateSome(h: Hierarchy, weights: Weights, metric: Metric<V>, run: UpdateRun, maxWork: number): void
  /**
   * Relaxes the labels of one branch upwards, from label `from` to the one above `stop`, and resets each to
   * infinite after it is relaxed.
   *
   * @param offset of the branch's labels: a rank of depth d has the label `offset + d`
   * @param best only cheaper paths are wanted
   * @returns cost of the best path through a common rank, `best` when none is cheaper; its label is
   *   `labels.meeting`
   */
  climb(
    h: Hierarchy,
    metric: Metric<V>,
    labels: Labels<V>,
    offset: number,
    from: number,
    stop: number,
    best: number,
  ): number
  /**
   * Merges `count` labels into those of another branch through the same ranks, and resets them to infinite.
   */
  mergeLabels(labels: Labels<V>, from: number, to: number, count: number): void
  /**
   * Relaxes the labels of one path to the root upwards, in one direction only, and keeps them all.
   *
   * @param costs `metric.up`, or `metric.down` for labels that lead to a target
   * @param rank depth → rank on the path to the root; as long as the path
   * @param labels depth → cost
   * @param from depth → depth that the label comes from
   */
  climbOne(h: Hierarchy, costs: V, rank: Int32Array, labels: V, from: Int32Array): void
  /**
   * Finds the depth below `count` with the least sum of two rows of labels, the deepest of several; -1 = no
   * path.
   */
  meet(forward: V, backward: V, count: number): number
  /**
   * Computes the labels of all ranks downwards. @param labels rank → cost: final above the sources, infinite
   * elsewhere
   */
  descend(h: Hierarchy, metric: Metric<V>, labels: V): void
}
