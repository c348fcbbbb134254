import type { Weights } from '../search/dijkstra.js'
import type { Hierarchy } from './hierarchy.js'

export type Values = Int32Array | Float64Array

/**
 * Costs of the arcs of a hierarchy under one set of weights, milliseconds. An arc costs what the cheapest way between
 * its ends costs among those that touch lower ranks only: with that every cheapest way goes up first and then down.
 */
export interface Metric<V extends Values = Values> {
  readonly up: V
  readonly down: V
}

/** Labels of a search from any number of nodes to any number of nodes. Equally long arrays, see `Labels.stride`. */
export interface Labels<V extends Values = Values> {
  /** cost of the cheapest way known from a source; infinite between searches */
  readonly forward: V
  /** cost of the cheapest way known to a target; infinite between searches */
  readonly backward: V
  /** label → the label it came from, or `~position` of the source or target that it began with */
  readonly forwardFrom: Int32Array
  readonly backwardFrom: Int32Array
  /** label → rank */
  readonly rank: Int32Array
  /** label of the best meeting so far, -1 = none */
  meeting: number
  /** highest label that was handed on since it was set: tells whether any may have overflowed */
  highest: number
}

/** A customisation from nothing that is under way. */
export interface FullRun {
  /** ranks below this are done */
  nextRank: number
  /** depth → arc of the rank in work */
  readonly place: Int32Array
  /** rank → its arc that the next higher rank it is joined to will ask for */
  readonly cursor: Uint32Array
  /** rank → rank that last came by */
  readonly seenBy: Int32Array
}

/** A customisation that makes over only what a change of some weights touches. */
export interface UpdateRun {
  nextRank: number
  readonly place: Int32Array
  readonly seenBy: Int32Array
  /** rank → 1 when its arcs must be made over */
  readonly isMarked: Uint8Array
  /** depth → rank, for the way to the root of the rank in work */
  readonly path: Int32Array
}

/** The inner loops for one kind of values. They allocate nothing and check nothing. */
export interface Kernels<V extends Values = Values> {
  /** what stands for "no way"; sums of two are never below it when one of them is not */
  readonly infinite: number
  createValues(length: number): V
  /** Full customisation, some `maxWork` triangles further. Done when `run.nextRank` is the number of nodes. */
  customiseSome(h: Hierarchy, weights: Weights, metric: Metric<V>, run: FullRun, maxWork: number): void
  /** The same for a repair; `metric` begins as a copy of the one before the change. */
  updateSome(h: Hierarchy, weights: Weights, metric: Metric<V>, run: UpdateRun, maxWork: number): void
  /**
   * Hands the labels of one way towards the root on to the ranks above, from label `from` down to above `stop`, and
   * makes them infinite behind it.
   *
   * @param offset of the way's labels: a rank of depth d has the label `offset + d`
   * @param best cost to undercut
   * @returns the cost of the best meeting, `best` when none undercuts it; where it is in `labels.meeting`
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
  /** Merges `count` labels into those of another way that goes through the same ranks, and makes them infinite. */
  mergeLabels(labels: Labels<V>, from: number, to: number, count: number): void
  /**
   * Hands the labels of one whole way to the root on to the ranks above, in one direction only, and leaves them all.
   *
   * @param costs `metric.up`, or `metric.down` for labels that lead to a target
   * @param rank depth → rank on the way; as long as the way
   * @param labels by depth
   * @param from depth → depth that the label came from
   */
  climbOne(h: Hierarchy, costs: V, rank: Int32Array, labels: V, from: Int32Array): void
  /** The depth below `count` at which two rows of labels have the least sum, the deepest of several; -1 = no way. */
  meet(forward: V, backward: V, count: number): number
  /** @param labels by rank: final for every rank that lies above a source, infinite else; all are final afterwards */
  descend(h: Hierarchy, metric: Metric<V>, labels: V): void
}
