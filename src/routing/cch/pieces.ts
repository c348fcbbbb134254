import type { Contraction } from './hierarchy.js'
import { ROOT } from './tree.js'

/** Parts of a full customisation: pieces, which may run at the same time, and the ranks above them. */
export interface Pieces {
  /** begin and end of each piece: whole subtrees of the elimination tree, which need no other piece */
  readonly ranges: Int32Array
  /** begin and end of ranges of the other ranks, in ascending order: they need all pieces, and those before them */
  readonly top: Int32Array
  /** triangles of the hierarchy, by the least of their three ranks */
  readonly triangles: number
}

/**
 * Pieces of about equal work: enough that no thread waits long for the last one. More would leave more ranks above
 * them, which one thread processes.
 */
const PIECES = 24

/**
 * Cuts the ranks of a hierarchy for several threads. Ranks are in post-order, so whole subtrees are ranges. O(ranks).
 *
 * The triangles of a rank all lie in its subtree and above it, so that those of the two threads never meet.
 */
export function cutRanks(h: Contraction): Pieces {
  const { nodeCount, parent, first } = h
  const work = new Float64Array(nodeCount)
  let triangles = 0
  for (let v = 0; v < nodeCount; v++) {
    const arcs = first[v + 1]! - first[v]!
    const own = (arcs * (arcs - 1)) / 2
    triangles += own
    work[v]! += own + arcs + 1 // children came before: now that of the whole subtree
    if (parent[v] !== ROOT) work[parent[v]!]! += work[v]!
  }
  let total = 0
  for (let v = 0; v < nodeCount; v++) if (parent[v] === ROOT) total += work[v]!
  const limit = total / PIECES
  const ranges: number[] = []
  const top: number[] = []
  let begin = 0
  let pieceWork = 0
  for (let v = 0; v < nodeCount; v++) {
    const isTop = work[v]! > limit
    const isWhole = !isTop && (parent[v] === ROOT || work[parent[v]!]! > limit)
    if (isTop) {
      if (begin < v) ranges.push(begin, v)
      if (top.at(-1) === v) top[top.length - 1] = v + 1
      else top.push(v, v + 1)
    }
    if (isWhole) pieceWork += work[v]!
    const isFull = isWhole && pieceWork > limit / 2
    if (isFull) ranges.push(begin, v + 1)
    if (!isTop && !isFull) continue
    begin = v + 1
    pieceWork = 0
  }
  if (begin < nodeCount) ranges.push(begin, nodeCount)
  return { ranges: Int32Array.from(ranges), top: Int32Array.from(top), triangles }
}
