import type { Neighbours } from './neighbours.js'

/** Rest of a graph without its nodes of low degree. */
export interface Core {
  readonly neighbours: Neighbours
  /** node of the core → node of the graph, ascending */
  readonly node: Uint32Array
}

/** Largest degree that is eliminated: up to 2, lists of neighbours never grow, so that it works in place. */
const MAX_DEGREE = 2

/**
 * Eliminates nodes of degree two or less until none is left: dead ends vanish, chains become one edge. That
 * removes about half of the nodes of a road network, so that the dissection of the rest is faster and its
 * hierarchy smaller.
 *
 * Works in rounds. Within a round no node is eliminated after a neighbour: a chain eliminated end to end
 * would become a path in the elimination tree; by every other node it becomes a tree of logarithmic depth.
 *
 * An elimination costs O(degrees of its at most two neighbours), whose lists are searched.
 *
 * @param neighbours overwritten
 * @param order receives the eliminated nodes, from position 0
 */
export function stripLowDegree(neighbours: Neighbours, order: Uint32Array): Core {
  // the list of a node is `list[first … first + degree)`; it only shrinks or keeps its length
  const { nodeCount, first, node: list } = neighbours
  const degree = new Uint32Array(nodeCount)
  const isGone = new Uint8Array(nodeCount)
  const touchedIn = new Uint32Array(nodeCount) // node → round in which a neighbour was eliminated
  const queuedFor = new Uint32Array(nodeCount) // node → round that it is queued for
  let queue: number[] = []
  for (let node = 0; node < nodeCount; node++) {
    degree[node] = first[node + 1]! - first[node]!
    if (degree[node]! <= MAX_DEGREE) queue.push(node)
  }
  let count = 0
  for (let round = 1; queue.length > 0; round++) {
    const next: number[] = []
    const offer = (node: number) => {
      if (degree[node]! > MAX_DEGREE || queuedFor[node] === round + 1) return
      queuedFor[node] = round + 1
      next.push(node)
    }
    for (const node of queue) {
      // a neighbour was eliminated in this round: wait for the next one
      if (touchedIn[node] === round) {
        offer(node)
        continue
      }
      isGone[node] = 1
      order[count++] = node
      eliminate(first, list, degree, node)
      for (let at = first[node]!, end = at + degree[node]!; at < end; at++) {
        // its former list still names its neighbours, whose degrees may have fallen to the limit
        touchedIn[list[at]!] = round
        offer(list[at]!)
      }
    }
    // all of them are left: a neighbour of an eliminated node waits for the next round
    queue = next
  }
  return coreOf(neighbours, degree, isGone, nodeCount - count)
}

/**
 * Removes a node of degree 0 to 2 from its neighbours' lists; two neighbours become neighbours of each other.
 */
function eliminate(first: Uint32Array, list: Uint32Array, degree: Uint32Array, node: number): void {
  const begin = first[node]!
  if (degree[node] === 0) return
  const a = list[begin]!
  if (degree[node] === 1) {
    remove(first, list, degree, a, node)
    return
  }
  const b = list[begin + 1]!
  // a and b are neighbours already: their lists shrink
  if (positionOf(first, list, degree, a, b) >= 0) {
    remove(first, list, degree, a, node)
    remove(first, list, degree, b, node)
    return
  }
  // otherwise the new edge takes the place of the old one in both lists
  list[positionOf(first, list, degree, a, node)] = b
  list[positionOf(first, list, degree, b, node)] = a
}

/** Removes a neighbour from the list of `from`. */
function remove(
  first: Uint32Array,
  list: Uint32Array,
  degree: Uint32Array,
  from: number,
  node: number,
): void {
  // the last entry fills the gap: lists are not sorted here
  const last = first[from]! + degree[from]! - 1
  list[positionOf(first, list, degree, from, node)] = list[last]!
  degree[from]!--
}

/** Finds a neighbour in the list of `from`. @returns its position in `list`, -1 when absent */
function positionOf(
  first: Uint32Array,
  list: Uint32Array,
  degree: Uint32Array,
  from: number,
  node: number,
): number {
  const begin = first[from]!
  for (let at = begin, end = begin + degree[from]!; at < end; at++) {
    if (list[at] === node) return at
  }
  return -1
}

/** Renumbers the nodes that remain, in their order. */
function coreOf(
  { nodeCount, first, node: list }: Neighbours,
  degree: Uint32Array,
  isGone: Uint8Array,
  coreCount: number,
): Core {
  const node = new Uint32Array(coreCount)
  const numberOf = new Uint32Array(nodeCount)
  const coreFirst = new Uint32Array(coreCount + 1)
  let count = 0
  for (let old = 0; old < nodeCount; old++) {
    if (isGone[old] === 1) continue
    node[count] = old
    numberOf[old] = count++
    coreFirst[count] = coreFirst[count - 1]! + degree[old]!
  }
  const coreList = new Uint32Array(coreFirst[coreCount]!)
  for (let i = 0, to = 0; i < coreCount; i++) {
    const begin = first[node[i]!]!
    for (let at = begin, end = begin + degree[node[i]!]!; at < end; at++)
      coreList[to++] = numberOf[list[at]!]!
  }
  return { node, neighbours: { nodeCount: coreCount, first: coreFirst, node: coreList } }
}
