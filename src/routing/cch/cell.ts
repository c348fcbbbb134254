import type { Neighbours } from './neighbours.js'

/**
 * A part of the graph that is dissected, with nodes numbered from 0, and the scratch of its cuts. The arrays
 * are as long as the largest cell needs; a smaller cell uses only the beginning of each.
 */
export interface Cell {
  nodeCount: number
  /** node → its first arc; `nodeCount + 1` entries */
  readonly first: Uint32Array
  /** arc → node it leads to; every edge is two arcs */
  readonly head: Uint32Array
  /** arc → the opposite arc of the same edge */
  readonly reverse: Uint32Array
  /** node → side of the cut, 0 or 1; 2 = separator */
  readonly side: Uint8Array
  /** node → coordinate along the direction of the cut being tried */
  readonly projection: Float64Array
  /** node → `SOURCE`, `SINK` or 0, see min-cut.ts */
  readonly end: Uint8Array
  /** arc → flow, -1 to 1; the flows of an arc and its opposite add up to 0 */
  readonly flow: Int8Array
  /** node → distance in arcs from the sources in the residual graph, -1 = not reached */
  readonly level: Int32Array
  /** node → arc to try next */
  readonly cursor: Uint32Array
  /** nodes of a breadth-first search, or arcs of an augmenting path */
  readonly queue: Uint32Array
  /** nodes where flow begins */
  readonly sources: Uint32Array
}

/** Creates the arrays for cells of a graph: about 9 bytes an arc and 34 a node. */
export function createCell({ nodeCount, node }: Neighbours): Cell {
  return {
    nodeCount: 0,
    first: new Uint32Array(nodeCount + 1),
    head: new Uint32Array(node.length),
    reverse: new Uint32Array(node.length),
    side: new Uint8Array(nodeCount),
    projection: new Float64Array(nodeCount),
    end: new Uint8Array(nodeCount),
    flow: new Int8Array(node.length),
    level: new Int32Array(nodeCount),
    cursor: new Uint32Array(nodeCount + 1),
    queue: new Uint32Array(nodeCount),
    sources: new Uint32Array(nodeCount),
  }
}

/**
 * Sets the cell to the nodes `nodes[begin … end)` and the edges among them: local node i is `nodes[begin +
 * i]`. Positional parameters: it runs once for each of many thousand small cells.
 *
 * @param position node → its position in `nodes`
 */
export function fillCell(
  cell: Cell,
  graph: Neighbours,
  nodes: Uint32Array,
  position: Uint32Array,
  begin: number,
  end: number,
): void {
  const { first, head, reverse, cursor } = cell
  const count = end - begin
  cell.nodeCount = count
  let arcs = 0
  for (let local = 0; local < count; local++) {
    const node = nodes[begin + local]!
    first[local] = arcs
    cursor[local] = arcs
    for (let at = graph.first[node]!, stop = graph.first[node + 1]!; at < stop; at++) {
      const place = position[graph.node[at]!]!
      if (place >= begin && place < end) arcs++
    }
  }
  first[count] = arcs
  for (let local = 0; local < count; local++) {
    const node = nodes[begin + local]!
    for (let at = graph.first[node]!, stop = graph.first[node + 1]!; at < stop; at++) {
      const place = position[graph.node[at]!]!
      if (place < begin || place >= end) continue
      const other = place - begin
      if (other < local) continue // both arcs of an edge are created at its smaller end
      const forth = cursor[local]!++
      const back = cursor[other]!++
      head[forth] = other
      head[back] = local
      reverse[forth] = back
      reverse[back] = forth
    }
  }
}

/**
 * Numbers the connected components of a cell in `level`, from 0.
 *
 * @returns number of components
 */
export function markComponents(cell: Cell): number {
  const { nodeCount, first, head, level, queue } = cell
  level.fill(-1, 0, nodeCount)
  let components = 0
  for (let seed = 0; seed < nodeCount; seed++) {
    if (level[seed]! >= 0) continue
    level[seed] = components
    queue[0] = seed
    for (let at = 0, count = 1; at < count; at++) {
      const node = queue[at]!
      for (let arc = first[node]!, end = first[node + 1]!; arc < end; arc++) {
        const next = head[arc]!
        if (level[next]! >= 0) continue
        level[next] = components
        queue[count++] = next
      }
    }
    components++
  }
  return components
}
