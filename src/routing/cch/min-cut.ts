import type { Cell } from './cell.js'

/** Values of `cell.end`. */
export const SOURCE = 1
export const SINK = 2

/**
 * Computes a maximum flow between the sources and the sinks of a cell, in `cell.flow`: its value is the
 * smallest number of edges that separates them.
 *
 * Every edge carries one unit in either direction. Levels begin at the sources that have a neighbour outside
 * the sources: flow from the others could only pass through these.
 *
 * O(√n · m) for unit capacities
 *
 * @param limit the search ends when the flow reaches it: a better cut is known
 * @returns the flow, at most `limit`
 * @see E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation",
 *   1970
 */
export function maxFlow(cell: Cell, limit: number): number {
  const { nodeCount, first, flow, sources } = cell
  flow.fill(0, 0, first[nodeCount]!)
  const sourceCount = findBorder(cell, SOURCE, sources)
  let total = 0
  while (markLevels(cell, sourceCount)) {
    // within a phase an arc that failed once cannot succeed later, so each node goes on where it stopped
    cell.cursor.set(first.subarray(0, nodeCount))
    for (let i = 0; i < sourceCount; i++) {
      while (augment(cell, sources[i]!)) {
        total++
        if (total >= limit) return limit
      }
    }
  }
  return total
}

/**
 * Divides the cell along the flow of `maxFlow`: of the two minimum cuts nearest to the sources and to the
 * sinks, the more balanced one.
 *
 * @param side node → 0 or 1, set
 */
export function splitByFlow(cell: Cell, side: Uint8Array): void {
  const { nodeCount, level } = cell
  let sourceSide = 0
  for (let node = 0; node < nodeCount; node++) {
    side[node] = level[node]! >= 0 ? 0 : 1 // as the last, unsuccessful search of the sinks left it
    if (side[node] === 0) sourceSide++
  }
  const sinkSide = markSinkSide(cell)
  const smallerHalf = (count: number) => Math.min(count, nodeCount - count)
  if (smallerHalf(sinkSide) <= smallerHalf(sourceSide)) return
  for (let node = 0; node < nodeCount; node++) side[node] = level[node]! >= 0 ? 1 : 0
}

/** Lists the nodes of a kind that have a neighbour of another kind. @returns their number */
function findBorder({ nodeCount, first, head, end }: Cell, kind: number, border: Uint32Array): number {
  let count = 0
  for (let node = 0; node < nodeCount; node++) {
    if (end[node] !== kind) continue
    for (let arc = first[node]!, stop = first[node + 1]!; arc < stop; arc++) {
      if (end[head[arc]!] === kind) continue
      border[count++] = node
      break
    }
  }
  return count
}

/** Computes levels along arcs with residual capacity. @returns false when no sink can be reached */
function markLevels(cell: Cell, sourceCount: number): boolean {
  const { nodeCount, first, head, flow, end, level, queue, sources } = cell
  for (let node = 0; node < nodeCount; node++) level[node] = end[node] === SOURCE ? 0 : -1
  queue.set(sources.subarray(0, sourceCount))
  let sinkLevel = nodeCount
  for (let at = 0, count = sourceCount; at < count; at++) {
    const node = queue[at]!
    const nextLevel = level[node]! + 1
    if (nextLevel > sinkLevel) break // farther than the nearest sink
    for (let arc = first[node]!, stop = first[node + 1]!; arc < stop; arc++) {
      const next = head[arc]!
      // an edge may carry one unit either way: residual capacity is 1 - flow, 0 to 2
      if (level[next]! >= 0 || flow[arc]! >= 1) continue
      level[next] = nextLevel
      if (end[next] === SINK) sinkLevel = nextLevel
      else queue[count++] = next
    }
  }
  return sinkLevel < nodeCount
}

/** Sends one unit from a source to some sink along ascending levels. @returns false when no path is left */
function augment(cell: Cell, source: number): boolean {
  const { first, head, reverse, flow, end, level, cursor, queue: path } = cell
  let node = source
  let depth = 0
  for (;;) {
    const arc = cursor[node]!
    if (arc === first[node + 1]!) {
      // dead end: go back and try the next arc there
      if (depth === 0) return false
      depth--
      const back = path[depth]!
      node = head[reverse[back]!]!
      cursor[node] = back + 1
      continue
    }
    const next = head[arc]!
    if (flow[arc]! >= 1 || level[next] !== level[node]! + 1) {
      cursor[node] = arc + 1
      continue
    }
    path[depth++] = arc
    if (end[next] === SINK) break
    node = next
  }
  // one unit along the path; the residual capacity of the opposite arcs grows
  for (let i = 0; i < depth; i++) {
    const arc = path[i]!
    flow[arc]! += 1
    flow[reverse[arc]!]! -= 1
  }
  return true
}

/**
 * Sets level 0 for the nodes from which a sink can be reached, -1 for all others. @returns number of the
 * former
 */
function markSinkSide(cell: Cell): number {
  const { nodeCount, first, head, reverse, flow, end, level, queue } = cell
  const borderCount = findBorder(cell, SINK, queue)
  let reached = 0
  for (let node = 0; node < nodeCount; node++) {
    level[node] = end[node] === SINK ? 0 : -1
    if (end[node] === SINK) reached++
  }
  for (let at = 0, count = borderCount; at < count; at++) {
    const node = queue[at]!
    for (let arc = first[node]!, stop = first[node + 1]!; arc < stop; arc++) {
      const previous = head[arc]!
      // the search runs against the arcs, so the opposite arc must have residual capacity
      if (level[previous]! >= 0 || flow[reverse[arc]!]! >= 1) continue
      level[previous] = 0
      queue[count++] = previous
      reached++
    }
  }
  return reached
}
