import type { Cell } from './cell.js'

const LEFT = 0
const RIGHT = 1
/** Value of `cell.side`: the node belongs to neither half. */
export const SEPARATOR = 2

const NONE = -1

/** Matching between the two halves along cut edges, and the search trees from unmatched nodes. */
interface Matching {
  /** node → its partner in the other half, `NONE` = unmatched */
  readonly mate: Int32Array
  /** node → predecessor in its search tree, `NONE` = in no tree */
  readonly cameFrom: Int32Array
}

/**
 * Sets the separator to the fewest nodes that cover all cut edges: often a node or two fewer than there are
 * on either side of the cut.
 *
 * The cut edges form a bipartite graph, in which a largest matching has as many edges as a smallest cover has
 * nodes. The cover consists of the right nodes that the trees from unmatched left nodes reach, and of the
 * left nodes that they do not reach. A tree without an augmenting path never gets one later, so it is kept,
 * and all such trees together visit each edge once.
 *
 * @see D. Kőnig, "Gráfok és mátrixok", 1931
 */
export function coverCut(cell: Cell): void {
  const { first, head, side } = cell
  const left = leftEnds(cell)
  const matching: Matching = {
    mate: new Int32Array(cell.nodeCount).fill(NONE),
    cameFrom: new Int32Array(cell.nodeCount).fill(NONE),
  }
  for (const node of left) growTree(cell, matching, node)
  for (const node of left) {
    if (matching.cameFrom[node] === NONE) {
      side[node] = SEPARATOR
      continue
    }
    for (let arc = first[node]!, end = first[node + 1]!; arc < end; arc++) {
      if (side[head[arc]!] === RIGHT) side[head[arc]!] = SEPARATOR
    }
  }
}

/** Lists the nodes of the left half that have a neighbour in the right one. */
function leftEnds({ nodeCount, first, head, side }: Cell): number[] {
  const left: number[] = []
  for (let node = 0; node < nodeCount; node++) {
    if (side[node] !== LEFT) continue
    for (let arc = first[node]!, end = first[node + 1]!; arc < end; arc++) {
      if (side[head[arc]!] !== RIGHT) continue
      left.push(node)
      break
    }
  }
  return left
}

/**
 * Searches breadth first for an unmatched right node. Augments the matching along the path, or keeps the
 * tree.
 */
function growTree(cell: Cell, { mate, cameFrom }: Matching, root: number): void {
  const { first, head, side } = cell
  const lefts = [root]
  const rights: number[] = []
  cameFrom[root] = root
  for (let at = 0; at < lefts.length; at++) {
    const node = lefts[at]!
    for (let arc = first[node]!, end = first[node + 1]!; arc < end; arc++) {
      const other = head[arc]!
      if (side[other] !== RIGHT || cameFrom[other] !== NONE) continue
      cameFrom[other] = node
      rights.push(other)
      const next = mate[other]!
      if (next === NONE) {
        // an augmenting path: the tree is dropped, since its nodes are matched now
        matchAlong(mate, cameFrom, other)
        for (const seen of lefts) cameFrom[seen] = NONE
        for (const seen of rights) cameFrom[seen] = NONE
        return
      }
      cameFrom[next] = other
      lefts.push(next)
    }
  }
}

/** Matches every right node on the path back with the left node that it was reached from. */
function matchAlong(mate: Int32Array, cameFrom: Int32Array, last: number): void {
  let right = last
  for (;;) {
    const left = cameFrom[right]!
    const freed = mate[left]!
    mate[left] = right
    mate[right] = left
    if (freed === NONE) return
    right = freed
  }
}
