import type { Neighbours } from './neighbours.js'

/**
 * Largest cell that is ordered by degree instead of divided: it has one bit for each node in a 32-bit mask.
 */
export const BASE_CELL_SIZE = 30

/**
 * Computes the elimination order of a small cell: always the node of the lowest degree next, whose neighbours
 * become joined to each other.
 *
 * Neighbours outside the cell, which are eliminated later, count too; otherwise nodes at the border would be
 * eliminated too early. On a city that saves a tenth of all arcs.
 *
 * O(n²) for a cell of n nodes, of which there are at most 30: a row of a bit matrix is one integer.
 *
 * @param position node → its position in `nodes`; the cell is `nodes[begin … end)`
 * @param order receives local numbers: positions in the cell, from 0
 * @see C. Ashcraft, J. Liu, "Robust ordering of sparse matrices using multisection", 1998
 */
export function orderByMinDegree(
  graph: Neighbours,
  nodes: Uint32Array,
  position: Uint32Array,
  begin: number,
  end: number,
  order: Uint32Array,
): void {
  const nodeCount = end - begin
  const inside = new Uint32Array(nodeCount)
  const outside = new Uint32Array(nodeCount)
  // places of outside nodes; the index of an entry is the bit of its node
  const outer: number[] = []
  for (let i = 0; i < nodeCount; i++) {
    const node = nodes[begin + i]!
    // `position` separates the nodes of the cell, begin … end - 1, from all others without a search
    for (let at = graph.first[node]!, stop = graph.first[node + 1]!; at < stop; at++) {
      const place = position[graph.node[at]!]!
      if (place >= begin && place < end) inside[i]! |= 1 << (place - begin)
      else outside[i]! |= 1 << numberOf(outer, place)
    }
  }
  eliminateAll(nodeCount, inside, outside, order)
}

/**
 * Returns the bit of a node outside. With more than 32 some share a bit, which only makes degrees less
 * precise.
 */
function numberOf(known: number[], place: number): number {
  const found = known.indexOf(place)
  if (found >= 0) return found
  return known.length < 32 ? known.push(place) - 1 : place & 31
}

/** @param inside local node → bits of its neighbours in the cell; `outside` likewise of those outside */
function eliminateAll(
  nodeCount: number,
  inside: Uint32Array,
  outside: Uint32Array,
  order: Uint32Array,
): void {
  // bits of the nodes that are not eliminated yet
  let left = 2 ** nodeCount - 1
  for (let count = 0; count < nodeCount; count++) {
    const node = nodeOfLowestDegree(nodeCount, inside, outside, left)
    order[count] = node
    left &= ~(1 << node)
    // the neighbours that remain become a clique; a node is not its own neighbour
    const around = inside[node]! & left
    for (let other = 0; other < nodeCount; other++) {
      if ((around & (1 << other)) === 0) continue
      inside[other] = (inside[other]! | around) & ~(1 << other)
      // outside nodes are never eliminated here, so their bits only grow
      outside[other]! |= outside[node]!
    }
  }
}

function nodeOfLowestDegree(
  nodeCount: number,
  inside: Uint32Array,
  outside: Uint32Array,
  left: number,
): number {
  // the smallest number wins among equals, which keeps the order deterministic
  let best = -1
  let bestDegree = Number.POSITIVE_INFINITY
  for (let node = 0; node < nodeCount; node++) {
    if ((left & (1 << node)) === 0) continue
    const degree = bitCount(inside[node]! & left) + bitCount(outside[node]!)
    if (degree >= bestDegree) continue
    best = node
    bestDegree = degree
  }
  return best
}

/** Counts the bits that are set. @see H. S. Warren, "Hacker's Delight", 2nd edition, 2012, 5-1 */
function bitCount(bits: number): number {
  // sums of neighbouring bits, then of pairs; the multiplication adds the four bytes into the highest one
  const pairs = bits - ((bits >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
