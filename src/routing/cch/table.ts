import type { End } from '../search/dijkstra.js'
import { depthOf, type Hierarchy } from './hierarchy.js'
import type { Kernels, Values } from './metric.js'
import { ROOT } from './tree.js'

/** Ways between one end of a route and everything on its way to the root. All arrays are by depth, the root first. */
export interface Row {
  readonly rank: Int32Array
  readonly labels: Values
  /** depth that a label came from, or `~position` of the end that it began with */
  readonly from: Int32Array
}

/** Where a cheapest way turns from up to down. */
export interface Meeting {
  readonly row: Row
  readonly column: Row
  readonly depth: number
  readonly costMs: number
}

/**
 * Cheapest meeting of the ways from some ends with those to others; what they have in common is some hundred labels that
 * lie side by side, 0.2 µs a pair of rows.
 *
 * @returns undefined = no way
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
 * Follows ends to the root, once: one row for each way there that they lie on. Ends on the way of a lower one share its
 * row.
 *
 * @param costs `metric.up` for sources, `metric.down` for targets
 */
export function followEnds(h: Hierarchy, kernels: Kernels, costs: Values, ends: readonly End[]): Row[] {
  const rows: Row[] = []
  const ascending = ends
    .map(({ node, costMs }, position) => ({ rank: h.rank[node]!, costMs, position }))
    .sort((a, b) => a.rank - b.rank)
  for (const { rank, costMs, position } of ascending) {
    const depth = depthOf(h, rank)
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

function createRow(h: Hierarchy, kernels: Kernels, end: number, endDepth: number): Row {
  const labels = kernels.createValues(endDepth + 1)
  labels.fill(kernels.infinite)
  const rank = new Int32Array(endDepth + 1)
  for (let v = end, depth = endDepth; v !== ROOT; v = h.parent[v]!, depth--) rank[depth] = v
  return { labels, rank, from: new Int32Array(endDepth + 1) }
}

/** Two ways to the root are one from where they meet: number of ranks they share. */
function commonLength(a: Row, b: Row): number {
  let low = 0
  let high = Math.min(a.rank.length, b.rank.length)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (a.rank[middle] === b.rank[middle]) low = middle + 1
    else high = middle
  }
  return low
}

/** Highest finite label: tells whether any may have overflowed. */
export function highestOf(kernels: Kernels, rows: readonly Row[]): number {
  let highestMs = 0
  for (const { labels } of rows) {
    for (let i = 0; i < labels.length; i++) {
      const labelMs = labels[i]!
      if (labelMs < kernels.infinite && labelMs > highestMs) highestMs = labelMs
    }
  }
  return highestMs
}
