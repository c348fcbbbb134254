import FlatQueue from 'flatqueue'

/** Scratch of the node-to-node searches over one graph: made once, used by one search at a time. */
export interface SearchState {
  /** node → cost of the best path found, milliseconds; valid where `mark` belongs to the last run */
  readonly costMs: Float64Array
  /** node → last arc of that path, or `~position` of the source that it starts from */
  readonly parent: Int32Array
  /** node → run number and bits, see `MARK_STRIDE` */
  readonly mark: Int32Array
  readonly queue: FlatQueue<number>
  /** number of the last run; values of older runs are invalid */
  run: number
  /** number of nodes that the last run settled */
  settledCount: number
}

/**
 * Marks are `run * MARK_STRIDE + bits`: target 1, seen 2, settled 4. So with `base = run * MARK_STRIDE` a
 * node is seen in this run when `mark >= base + SEEN`, settled when `mark >= base + SETTLED`, and starting a
 * run costs nothing.
 */
export const MARK_STRIDE = 8
export const TARGET = 1
export const SEEN = 2
export const SETTLED = 4

const LAST_RUN = Math.floor(0x7fffffff / MARK_STRIDE) - 1

/** Creates the scratch for a graph: 16 bytes a node. */
export function createSearchState(nodeCount: number): SearchState {
  return {
    costMs: new Float64Array(nodeCount),
    parent: new Int32Array(nodeCount),
    mark: new Int32Array(nodeCount),
    queue: new FlatQueue<number>(),
    run: 0,
    settledCount: 0,
  }
}

/** Starts a run and invalidates the values of the run before. @returns base of this run's marks */
export function beginRun(state: SearchState): number {
  if (state.run >= LAST_RUN) {
    state.mark.fill(0) // once in 268 million runs
    state.run = 0
  }
  state.run++
  state.settledCount = 0
  state.queue.clear()
  return state.run * MARK_STRIDE
}

/** Returns true when the last run settled the node: its cost is final. */
export function isSettled(state: SearchState, node: number): boolean {
  return state.mark[node]! >= state.run * MARK_STRIDE + SETTLED
}
