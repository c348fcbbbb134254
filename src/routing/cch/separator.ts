import type { Cell } from './cell.js'
import { coverCut } from './cover.js'
import { maxFlow, SINK, SOURCE, splitByFlow } from './min-cut.js'

/** Where each node of the graph lies: any unit, the same along both axes. */
export interface Sites {
  readonly x: Float64Array
  readonly y: Float64Array
}

/** Share of a cell that a cut leaves on either side at least. */
const END_SHARE = 0.25
const MAX_SAMPLE = 1024

/**
 * Finds a small set of nodes that separates a connected cell into two halves: `cell.side` becomes 0, 1 or 2 = separator.
 *
 * Inertial flow: the quarter of the cell farthest to one end of a line is pulled apart from the quarter at the other
 * end, and a minimum cut must lie between. West to east and south to north are tried; more directions gain
 * little (4 directions: 3 % fewer triangles in twice the time).
 *
 * @param begin the cell's nodes are `nodes[begin …]`
 * @param kept scratch, as long as `cell.side`
 * @see A. Schild, C. Sommer, "On balanced separators in road networks", 2015
 */
export function separate(
  cell: Cell,
  sites: Sites,
  nodes: Uint32Array,
  begin: number,
  kept: Uint8Array,
): void {
  const { nodeCount, side, projection } = cell
  let best = Number.POSITIVE_INFINITY
  for (const axis of [sites.x, sites.y]) {
    for (let node = 0; node < nodeCount; node++) projection[node] = axis[nodes[begin + node]!]!
    if (!markEnds(cell)) continue
    best = tryCut(cell, best, kept)
  }
  if (best === Number.POSITIVE_INFINITY) {
    projectByReach(cell) // all in one place: copies of one junction, or a graph without coordinates
    markEnds(cell)
    tryCut(cell, best, kept)
  }
  side.set(kept.subarray(0, nodeCount))
  coverCut(cell)
}

function tryCut(cell: Cell, best: number, kept: Uint8Array): number {
  const cut = maxFlow(cell, best)
  if (cut < best) splitByFlow(cell, kept)
  return Math.min(cut, best)
}

/** Makes sources and sinks of the outer quarters. @returns false when too many nodes share one projection for that */
function markEnds({ nodeCount, projection, end }: Cell): boolean {
  const sampleCount = Math.min(nodeCount, MAX_SAMPLE)
  const sample = new Float64Array(sampleCount)
  for (let i = 0; i < sampleCount; i++) sample[i] = projection[Math.floor((i * nodeCount) / sampleCount)]!
  sample.sort()
  const low = sample[Math.floor(sampleCount * END_SHARE)]!
  const high = sample[Math.ceil(sampleCount * (1 - END_SHARE)) - 1]!
  if (low >= high) return false
  for (let node = 0; node < nodeCount; node++) {
    const place = projection[node]!
    if (place <= low) end[node] = SOURCE
    else end[node] = place >= high ? SINK : 0
  }
  return true
}

/** Numbers the nodes as a breadth-first search from one rim of the cell meets them. */
function projectByReach(cell: Cell): void {
  const { nodeCount, queue, projection } = cell
  reachFrom(cell, 0)
  reachFrom(cell, queue[nodeCount - 1]!)
  for (let i = 0; i < nodeCount; i++) projection[queue[i]!] = i
}

function reachFrom({ nodeCount, first, head, level, queue }: Cell, from: number): void {
  level.fill(-1, 0, nodeCount)
  level[from] = 0
  queue[0] = from
  for (let at = 0, count = 1; at < count; at++) {
    const node = queue[at]!
    for (let arc = first[node]!, stop = first[node + 1]!; arc < stop; arc++) {
      const next = head[arc]!
      if (level[next]! >= 0) continue
      level[next] = 0
      queue[count++] = next
    }
  }
}
