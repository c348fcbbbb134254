import type { Graph } from './graph.js'
import { type JunctionEntries, openJunctionEntries } from './index-trees.js'
import { localScale } from './local-scale.js'

/**
 * Finds the junction nearest to a point; of equally near ones the smaller number. Some 2 µs in a city.
 *
 * kdbush itself searches by radius only, and opens only whole buffers. Its tree is a plain array that is
 * walked here, the half of the point first.
 *
 * @returns -1 for a graph without junctions
 */
export function nearestJunction(graph: Graph, lng: number, lat: number): number {
  // the k-d tree of kdbush: an array in which the middle of a range divides it, axes in turn
  const tree = junctionTree(graph)
  const { idAt, coordAt, nodeSize, count } = tree
  const x = lng * 1e7
  const y = lat * 1e7
  const { lngM, latM } = localScale(y)
  let best = -1
  let bestM2 = Number.POSITIVE_INFINITY

  const compare = (at: number) => {
    const dx = (coordAt(at * 2) - x) * lngM
    const dy = (coordAt(at * 2 + 1) - y) * latM
    const distanceM2 = dx * dx + dy * dy
    if (distanceM2 > bestM2) return
    const id = idAt(at)
    if (distanceM2 === bestM2 && id > best) return
    best = id
    bestM2 = distanceM2
  }
  const walk = (left: number, right: number, axis: number): void => {
    // a range of this size is a leaf, unsorted
    if (right - left <= nodeSize) {
      for (let at = left; at <= right; at++) compare(at)
      return
    }
    const middle = (left + right) >> 1
    compare(middle)
    // signed distance to the dividing line in metres: no junction beyond it is nearer than that
    const gap = axis === 0 ? (x - coordAt(middle * 2)) * lngM : (y - coordAt(middle * 2 + 1)) * latM
    const isLow = gap <= 0
    if (isLow) walk(left, middle - 1, 1 - axis)
    else walk(middle + 1, right, 1 - axis)
    if (gap * gap > bestM2) return // the other half is farther than the nearest so far
    if (isLow) walk(middle + 1, right, 1 - axis)
    else walk(left, middle - 1, 1 - axis)
  }
  if (count > 0) walk(0, count - 1, 0)
  return best
}

/** Opens the index once a graph. @throws Error for bytes of another format, which `checkGraph` refuses */
function junctionTree(graph: Graph): JunctionEntries {
  let tree = trees.get(graph)
  if (tree === undefined) {
    tree = openJunctionEntries(graph)
    if (tree === undefined) throw new Error('the junction index is not a kdbush 4 index of Int32 coordinates')
    trees.set(graph, tree)
  }
  return tree
}

const trees = new WeakMap<Graph, JunctionEntries>()
