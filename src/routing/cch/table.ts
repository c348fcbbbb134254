import type { End } from '../search/dijkstra.js'
import { depthOf, type Hierarchy } from './hierarchy.js'
import type { Kernels, Values } from './metric.js'
import { ROOT } from './tree.js'

/**
 * Cheapest paths between one end of a route and every rank above it. Arrays: depth → value, the root first.
 */
export interface Row {
  readonly rank: Int32Array
  readonly labels: Values
  /** depth that a label comes from, or `~position` of the end that it begins with */
  readonly from: Int32Array
}

/** Rank at which a cheapest path turns from up to down. */
export interface Meeting {
  readonly row: Row
  readonly column: Row
  readonly depth: number
  readonly costMs: number
}

/**
 * Finds the cheapest path over rows of sources and rows of targets: the least sum of labels at a common rank.
 * The common ranks of two rows are some hundred adjacent labels, 0.2 µs a pair.
 *
 * @returns undefined = no path
 */
export function findMeeting(
  kernels: Kernels,
  rows: readonly Row[],
  columns: readonly Row[],
): Meeting | undefined {
  let best: Meeting | undefined
  for (const row of rows) {
    for (const column of columns) {
      const depth = kernels.meet(row.labels, column.labels, commonLength(row, column))
      if (depth < 0) continue
      const costMs = row.labels[depth]! + column.labels[depth]!
      if (best === undefined || costMs < best.costMs) best = { row, column, depth, costMs }
    }
  }
  return best
}

/**
 * Computes the rows of ends: one for each path to the root that is needed. An end on the path of a lower one
 * shares its row.
 *
 * @param costs `metric.up` for sources, `metric.down` for targets
 */
export function followEnds(h: Hierarchy, kernels: Kernels, costs: Values, ends: readonly End[]): Row[] {
  const rows: Row[] = []
  // lowest rank first: a row then holds all higher ends on its path, and no second row is needed for them
  const ascending = ends
    .map(({ node, costMs }, position) => ({ rank: h.rank[node]!, costMs, position }))
    .sort((a, b) => a.rank - b.rank)
  for (const { rank, costMs, position } of ascending) {
    const depth = depthOf(h, rank)
    // an end lies on a row when the row has its rank at its depth
    const known = rows.find((row) => row.rank[depth] === rank)
    const row = known ?? createRow(h, kernels, rank, depth)
    if (known === undefined) rows.push(row)
    if (costMs >= row.labels[depth]!) continue
    row.labels[depth] = costMs
    row.from[depth] = ~position
  }
  for (const { rank, labels, from } of rows) kernels.climbOne(h, costs, rank, labels, from)
  return rows
}

/** Creates the row of a rank: its path to the root, without labels. */
function createRow(h: Hierarchy, kernels: Kernels, end: number, endDepth: number): Row {
  const labels = kernels.createValues(endDepth + 1)
  labels.fill(kernels.infinite)
  const rank = new Int32Array(endDepth + 1)
  for (let v = end, depth = endDepth; v !== ROOT; v = h.parent[v]!, depth--) rank[depth] = v
  return { labels, rank, from: new Int32Array(endDepth + 1) }
}

/**
 * Returns the number of ranks that two rows share, by binary search: paths to the root are equal from where
 * they meet.
 */
function commonLength(a: Row, b: Row): number {
  // invariant: ranks at depths below `low` are equal, those from `high` on differ or are missing
  let low = 0
  let high = Math.min(a.rank.length, b.rank.length)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (a.rank[middle] === b.rank[middle]) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the highest finite label of some rows, which shows whether a sum may have overflowed. */
export function highestOf(kernels: Kernels, rows: readonly Row[]): number {
  return rows.reduce((highestMs, { labels }) => Math.max(highestMs, highestLabel(kernels, labels)), 0)
}

/** Returns the highest finite label, 0 when there is none. */
export function highestLabel({ infinite }: Kernels, labels: Values): number {
  let highestMs = 0
  for (let i = 0; i < labels.length; i++) {
    const labelMs = labels[i]!
    if (labelMs < infinite && labelMs > highestMs) highestMs = labelMs
  }
  return highestMs
}

/** Returns the highest cost of the ends of a search: one that the metric cannot represent gets no label. */
export function highestEnd(ends: readonly End[]): number {
  return ends.reduce((highestMs, { costMs }) => Math.max(highestMs, costMs), 0)
}
