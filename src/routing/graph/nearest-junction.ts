import type { Graph } from './graph.js'
import { localScale } from './local-scale.js'

/** A kdbush index, read in place. */
interface KdTree {
  readonly ids: Uint16Array | Uint32Array
  /** lng, lat of each entry, 1e-7 degree, in tree order */
  readonly coords: Int32Array
  readonly nodeSize: number
}

const HEADER_BYTES = 8

/**
 * Junction nearest to a point, by metres; of equally near ones the smaller number.
 *
 * kdbush itself finds by radius only, and opens only whole buffers; its tree is a plain array, walked here from the
 * side of the point outwards.
 *
 * @returns -1 for a graph without junctions
 */
export function nearestJunction(graph: Graph, lng: number, lat: number): number {
  const tree = junctionTree(graph)
  const { ids, coords, nodeSize } = tree
  const x = lng * 1e7
  const y = lat * 1e7
  const { lngM, latM } = localScale(y)
  let best = -1
  let bestM2 = Number.POSITIVE_INFINITY

  const look = (at: number) => {
    const dx = (coords[at * 2]! - x) * lngM
    const dy = (coords[at * 2 + 1]! - y) * latM
    const distanceM2 = dx * dx + dy * dy
    const id = ids[at]!
    if (distanceM2 > bestM2 || (distanceM2 === bestM2 && id > best)) return
    best = id
    bestM2 = distanceM2
  }
  const walk = (left: number, right: number, axis: number): void => {
    if (right - left <= nodeSize) {
      for (let at = left; at <= right; at++) look(at)
      return
    }
    const middle = (left + right) >> 1
    look(middle)
    const gap = axis === 0 ? (x - coords[middle * 2]!) * lngM : (y - coords[middle * 2 + 1]!) * latM
    const isLow = gap <= 0
    if (isLow) walk(left, middle - 1, 1 - axis)
    else walk(middle + 1, right, 1 - axis)
    if (gap * gap > bestM2) return
    if (isLow) walk(middle + 1, right, 1 - axis)
    else walk(left, middle - 1, 1 - axis)
  }
  if (ids.length > 0) walk(0, ids.length - 1, 0)
  return best
}

/** @see kdbush 4: magic 0xdb, version and type, u16 node size, u32 count, ids, padding to 8, coordinates */
function junctionTree(graph: Graph): KdTree {
  let tree = trees.get(graph)
  if (tree === undefined) {
    const { buffer, byteOffset, byteLength } = graph.junctionIndex
    const view = new DataView(buffer, byteOffset, byteLength)
    if (view.getUint8(0) !== 0xdb || view.getUint8(1) !== INT32_VERSION_1) {
      throw new Error('the junction index is not a kdbush 4 index of Int32 coordinates')
    }
    const count = view.getUint32(4, true)
    const isSmall = count < 65_536
    const idBytes = count * (isSmall ? 2 : 4)
    const idsAt = byteOffset + HEADER_BYTES
    tree = {
      ids: isSmall ? new Uint16Array(buffer, idsAt, count) : new Uint32Array(buffer, idsAt, count),
      coords: new Int32Array(buffer, idsAt + Math.ceil(idBytes / 8) * 8, count * 2),
      nodeSize: view.getUint16(2, true),
    }
    trees.set(graph, tree)
  }
  return tree
}

/** version 1 in the high half, type 5 = Int32 in the low one */
const INT32_VERSION_1 = (1 << 4) + 5

const trees = new WeakMap<Graph, KdTree>()
