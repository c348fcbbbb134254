import { arcTail, type Topology } from '../graph/topology.js'
import { type Control, type End, searchMany, searchOne, type Weights } from './dijkstra.js'
import { isSettled, type SearchState } from './search-state.js'

/** A cheapest path between two of the nodes that were offered. */
export interface NodePath {
  /** with the costs of the source and of the target */
  readonly costMs: number
  /** positions in the lists that were offered */
  readonly source: number
  readonly target: number
  /** in the order of travel */
  readonly arcs: number[]
}

/** Node → lower bound of the cost of the cheapest path from there to a target, Infinity = no path. */
export type Potential = (node: number) => number

/**
 * Search for cheapest paths between nodes under one set of weights: flat Dijkstra, or the hierarchy of
 * `routing/cch`, which finds the same costs. An undefined result means that there is no path, or that the
 * search was stopped (`control.stoppedBy`).
 */
export interface LegSearch {
  /** @param maxCostMs more expensive paths are not searched for */
  one(
    sources: readonly End[],
    targets: readonly End[],
    control: Control,
    maxCostMs?: number,
  ): NodePath | undefined
  /**
   * Computes costs alone, from each list of sources to each list of targets.
   *
   * @returns row-major, a row for each list of sources, Infinity = no path; undefined when stopped
   */
  costs(
    sourceLists: readonly (readonly End[])[],
    targetLists: readonly (readonly End[])[],
    control: Control,
  ): Float64Array | undefined
  /**
   * Computes costs row by row, with sums of other quantities along the cheapest paths.
   *
   * @param measures quantities to sum up
   * @param isMarked arcs that a path is to be marked for when one follows the other
   * @returns function that computes the row of a list of sources; undefined when stopped
   */
  rows(
    targetLists: readonly (readonly End[])[],
    measures: readonly ArcMeasure[],
    isMarked: ArcPairTest,
  ): (sources: readonly End[], control: Control) => PathRow | undefined
  /**
   * Computes costs from the sources to every node.
   *
   * @param maxCostMs a cost above it may be reported as Infinity
   * @returns node → cost, Infinity = no path; valid until the next search begins. Undefined when stopped
   */
  reach(sources: readonly End[], control: Control, maxCostMs: number): ((node: number) => number) | undefined
  /** Returns a lower bound of the costs to some targets: the costs themselves, or 0 where they are not known. */
  potentialTo(targets: readonly End[]): Potential
}

/** Arc → a quantity that adds up along a path, for instance length or driving time. */
export type ArcMeasure = (arc: number) => number

/** Returns true for two arcs in a row that are looked for, for instance a turn that is not allowed. */
export type ArcPairTest = (before: number, arc: number) => boolean

/**
 * Cheapest paths from some sources to each of several lists of targets. All arrays: list of targets → value.
 */
export interface PathRow {
  /** Infinity = no path */
  readonly costMs: Float64Array
  /** positions in the lists that were offered */
  readonly source: Int32Array
  readonly target: Int32Array
  /** first and last arc, -1 = the path has none */
  readonly firstArc: Int32Array
  readonly lastArc: Int32Array
  /** 1 = two arcs of the path are what `isMarked` looks for */
  readonly isMarked: Uint8Array
  /** one array for each measure */
  readonly sums: readonly Float64Array[]
}

/** Creates a row without any path: 25 bytes a column, and 8 for each measure. */
export function createPathRow(columns: number, measures: number): PathRow {
  return {
    costMs: new Float64Array(columns).fill(Number.POSITIVE_INFINITY),
    source: new Int32Array(columns),
    target: new Int32Array(columns),
    firstArc: new Int32Array(columns).fill(-1),
    lastArc: new Int32Array(columns).fill(-1),
    isMarked: new Uint8Array(columns),
    sums: Array.from({ length: measures }, () => new Float64Array(columns)),
  }
}

/**
 * Creates the search of layer 1: flat Dijkstra, the reference that faster searches are compared with.
 *
 * @param state scratch of `createSearchState(topology.nodeCount)`; one search at a time
 */
export function createDijkstraSearch(topology: Topology, weights: Weights, state: SearchState): LegSearch {
  const roads = { topology, weights, state }
  return {
    one(sources, targets, control, maxCostMs) {
      const target = searchOne(roads, sources, targets, control, maxCostMs)
      return target < 0 ? undefined : readPath(topology, state, targets, target)
    },
    costs(sourceLists, targetLists, control) {
      const costMs = new Float64Array(sourceLists.length * targetLists.length)
      const all = targetLists.flat()
      for (const [row, sources] of sourceLists.entries()) {
        if (!searchMany(roads, sources, all, control)) return undefined
        targetLists.forEach((targets, column) => {
          costMs[row * targetLists.length + column] = cheapestCost(state, targets)
        })
      }
      return costMs
    },
    rows(targetLists, measures, isMarked) {
      const all = targetLists.flat()
      return (sources, control) => {
        if (!searchMany(roads, sources, all, control)) return undefined
        const row = createPathRow(targetLists.length, measures.length)
        for (const [column, targets] of targetLists.entries()) {
          const target = cheapest(state, targets)
          if (target < 0) continue
          const path = readPath(topology, state, targets, target)
          setPath(row, column, path, measures)
          row.isMarked[column] = path.arcs.some((arc, i) => i > 0 && isMarked(path.arcs[i - 1]!, arc)) ? 1 : 0
        }
        return row
      }
    },
    reach(sources, control, maxCostMs) {
      if (!searchMany(roads, sources, [], control, maxCostMs)) return undefined
      return (node) => (isSettled(state, node) ? state.costMs[node]! : Number.POSITIVE_INFINITY)
    },
    potentialTo: () => () => 0,
  }
}

function setPath(row: PathRow, column: number, path: NodePath, measures: readonly ArcMeasure[]): void {
  row.costMs[column] = path.costMs
  row.source[column] = path.source
  row.target[column] = path.target
  row.firstArc[column] = path.arcs[0] ?? -1
  row.lastArc[column] = path.arcs.at(-1) ?? -1
  for (const [i, measure] of measures.entries()) {
    let sum = 0
    for (const arc of path.arcs) sum += measure(arc)
    row.sums[i]![column] = sum
  }
}

/** Follows the parents back from a target of the last run. */
function readPath(topology: Topology, state: SearchState, targets: readonly End[], target: number): NodePath {
  const { node, costMs } = targets[target]!
  const arcs: number[] = []
  let arc = state.parent[node]!
  while (arc >= 0) {
    arcs.push(arc)
    arc = state.parent[arcTail(topology, arc)]!
  }
  arcs.reverse()
  return { costMs: state.costMs[node]! + costMs, source: ~arc, target, arcs }
}

/** @returns position of the cheapest settled target, the first among equals, -1 when none is settled */
function cheapest(state: SearchState, targets: readonly End[]): number {
  let best = -1
  let bestMs = Number.POSITIVE_INFINITY
  targets.forEach(({ node, costMs }, i) => {
    if (!isSettled(state, node) || state.costMs[node]! + costMs >= bestMs) return
    best = i
    bestMs = state.costMs[node]! + costMs
  })
  return best
}

function cheapestCost(state: SearchState, targets: readonly End[]): number {
  const target = targets[cheapest(state, targets)]
  return target === undefined ? Number.POSITIVE_INFINITY : state.costMs[target.node]! + target.costMs
}
