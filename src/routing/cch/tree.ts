import type { Neighbours } from './neighbours.js'

/** Parent of a root. */
export const ROOT = -1

/**
 * Computes the elimination tree of an order: the parent of a node is the first to be eliminated after it
 * among the nodes that it is joined to by then.
 *
 * For each node in the order, the walks from its earlier neighbours up the tree built so far visit exactly
 * the nodes that will be joined to it; the node is the parent of the last one of each walk.
 *
 * @returns node → parent, `ROOT` at the roots
 * @see T. A. Davis, "Direct methods for sparse linear systems", 2006, 4.1
 */
export function eliminationTree(graph: Neighbours, order: Uint32Array): Int32Array {
  const { nodeCount, first, node: list } = graph
  const parent = new Int32Array(nodeCount).fill(ROOT)
  const seenBy = new Int32Array(nodeCount).fill(-1)
  const isOrdered = new Uint8Array(nodeCount)
  for (let rank = 0; rank < nodeCount; rank++) {
    const node = order[rank]!
    isOrdered[node] = 1
    seenBy[node] = node
    for (let at = first[node]!, end = first[node + 1]!; at < end; at++) {
      let lower = list[at]!
      if (isOrdered[lower] === 0) continue
      while (seenBy[lower] !== node) {
        seenBy[lower] = node
        if (parent[lower] === ROOT) parent[lower] = node
        lower = parent[lower]!
      }
    }
  }
  return parent
}

/**
 * Reorders an elimination order into post-order, so that every subtree is consecutive, right before its root.
 * It joins the same pairs of nodes.
 *
 * @param parent of `eliminationTree`
 * @returns nodes in post-order
 */
export function postOrder(order: Uint32Array, parent: Int32Array): Uint32Array {
  const nodeCount = order.length
  const firstChild = new Int32Array(nodeCount + 1).fill(-1) // the last entry is that of the roots
  const nextSibling = new Int32Array(nodeCount).fill(-1)
  for (let rank = nodeCount - 1; rank >= 0; rank--) {
    const node = order[rank]!
    const above = parent[node]! === ROOT ? nodeCount : parent[node]!
    nextSibling[node] = firstChild[above]!
    firstChild[above] = node
  }
  const result = new Uint32Array(nodeCount)
  let count = 0
  let node = firstChild[nodeCount]!
  while (node >= 0) {
    while (firstChild[node]! >= 0) node = firstChild[node]! // down to a leaf
    result[count++] = node
    // up while there is no further sibling: all children are placed
    while (nextSibling[node]! < 0 && parent[node]! !== ROOT) {
      node = parent[node]!
      result[count++] = node
    }
    node = nextSibling[node]!
  }
  return result
}
