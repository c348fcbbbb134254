import { arcTail, type Topology } from '../graph/topology.js'
import { type Control, type End, searchMany, searchOne, type Weights } from './dijkstra.js'
import { isSettled, type SearchState } from './search-state.js'

/** A cheapest way between two of the nodes that were offered. */
export interface NodePath {
  /** with the costs of the source and of the target */
  readonly costMs: number
  /** positions in the lists that were offered */
  readonly source: number
  readonly target: number
  /** in the order of travel */
  readonly arcs: number[]
}

/**
 * What finds ways between nodes under one set of weights: flat Dijkstra, or anything that answers the same.
 * Undefined means that there is no way, or that the search was stopped (`control.stoppedBy`).
 */
export interface LegSearch {
  /** @param maxCostMs ways that cost more are not looked for */
  one(
    sources: readonly End[],
    targets: readonly End[],
    control: Control,
    maxCostMs?: number,
  ): NodePath | undefined
  /**
   * Costs alone, from each list of sources to each list of targets.
   *
   * @returns row-major, a row for each list of sources, Infinity = no way; undefined when stopped
   */
  costs(
    sourceLists: readonly (readonly End[])[],
    targetLists: readonly (readonly End[])[],
    control: Control,
  ): Float64Array | undefined
  /**
   * The same row by row, with what else adds up along the ways.
   *
   * @param measures arc → what it has of something
   * @returns gives the row of a list of sources; undefined when stopped
   */
  rows(
    targetLists: readonly (readonly End[])[],
    measures: readonly ArcMeasure[],
  ): (sources: readonly End[], control: Control) => WayRow | undefined
  /**
   * Costs from the sources to every node at once.
   *
   * @param maxCostMs costs above it may be told as Infinity
   * @returns node → cost, Infinity = no way, to be asked before the next search begins; undefined when stopped
   */
  reach(sources: readonly End[], control: Control, maxCostMs: number): ((node: number) => number) | undefined
}

/** What an arc has of something that adds up along a way: length, time on the road. */
export type ArcMeasure = (arc: number) => number

/** Cheapest ways from some sources to each of several lists of targets. All arrays: list of targets → value. */
export interface WayRow {
  /** Infinity = no way */
  readonly costMs: Float64Array
  /** positions in the lists that were offered */
  readonly source: Int32Array
  readonly target: Int32Array
  /** one array for each measure */
  readonly sums: readonly Float64Array[]
}

export function createWayRow(columns: number, measures: number): WayRow {
  return {
    costMs: new Float64Array(columns).fill(Number.POSITIVE_INFINITY),
    source: new Int32Array(columns),
    target: new Int32Array(columns),
    sums: Array.from({ length: measures }, () => new Float64Array(columns)),
  }
}

/** Layer 1 of the engine: always right, and the measure of whatever is faster. */
export function createDijkstraSearch(topology: Topology, weights: Weights, state: SearchState): LegSearch {
  return {
    one(sources, targets, control, maxCostMs) {
      const target = searchOne(topology, weights, state, sources, targets, control, maxCostMs)
      return target < 0 ? undefined : readPath(topology, state, targets, target)
    },
    costs(sourceLists, targetLists, control) {
      const costMs = new Float64Array(sourceLists.length * targetLists.length)
      const all = targetLists.flat()
      for (const [row, sources] of sourceLists.entries()) {
        if (!searchMany(topology, weights, state, sources, all, control)) return undefined
        targetLists.forEach((targets, column) => {
          const target = cheapest(state, targets)
          costMs[row * targetLists.length + column] =
            target < 0
              ? Number.POSITIVE_INFINITY
              : state.costMs[targets[target]!.node]! + targets[target]!.costMs
        })
      }
      return costMs
    },
    rows(targetLists, measures) {
      const all = targetLists.flat()
      return (sources, control) => {
        if (!searchMany(topology, weights, state, sources, all, control)) return undefined
        const row = createWayRow(targetLists.length, measures.length)
        for (const [column, targets] of targetLists.entries()) {
          const target = cheapest(state, targets)
          if (target >= 0) setWay(row, column, readPath(topology, state, targets, target), measures)
        }
        return row
      }
    },
    reach(sources, control, maxCostMs) {
      if (!searchMany(topology, weights, state, sources, [], control, maxCostMs)) return undefined
      return (node) => (isSettled(state, node) ? state.costMs[node]! : Number.POSITIVE_INFINITY)
    },
  }
}

function setWay(row: WayRow, column: number, path: NodePath, measures: readonly ArcMeasure[]): void {
  row.costMs[column] = path.costMs
  row.source[column] = path.source
  row.target[column] = path.target
  for (const [i, measure] of measures.entries()) {
    let sum = 0
    for (const arc of path.arcs) sum += measure(arc)
    row.sums[i]![column] = sum
  }
}

/** Walks the parents back from a target of the last run. */
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
