import type { Graph } from './graph.js'

/** Arrays of the flatbush index over the segments, views of the map file. */
export interface SegmentTree {
  /** children of a branch */
  readonly nodeSize: number
  /** level, leaves first → position of its end */
  readonly levelEnds: number[]
  /** minX, minY, maxX, maxY of each leaf and branch, 1e-7 degree */
  readonly boxes: Int32Array
  /** leaf → segment, branch → its first child * 4 */
  readonly indices: Uint16Array | Uint32Array
}

/** Arrays of the kdbush index over the junctions, views of the map file. */
export interface JunctionTree {
  /** most entries of a leaf */
  readonly nodeSize: number
  /** entry in tree order → junction */
  readonly ids: Uint16Array | Uint32Array
  /** lng, lat of each entry in tree order, 1e-7 degree */
  readonly coords: Int32Array
}

/** Second byte of an index: version in the high half, here 3 and 1; type in the low half, 5 = Int32. */
const FLATBUSH_INT32 = (3 << 4) + 5
const KDBUSH_INT32 = (1 << 4) + 5

/**
 * Opens the flatbush index of a graph without a copy.
 *
 * @returns undefined when the bytes are not a flatbush 3 index of as many Int32 boxes as there are segments
 */
export function openSegmentTree(graph: Graph): SegmentTree | undefined {
  const { buffer, byteOffset, byteLength } = graph.segmentIndex
  if (byteLength < 8) return undefined
  const view = new DataView(buffer, byteOffset, byteLength)
  const nodeSize = view.getUint16(2, true)
  const isOurs = view.getUint8(0) === 0xfb && view.getUint8(1) === FLATBUSH_INT32 && nodeSize >= 2
  if (!isOurs || view.getUint32(4, true) !== graph.segmentCount) return undefined
  const levelEnds = [graph.segmentCount]
  let count = graph.segmentCount
  let total = count
  do {
    count = Math.ceil(count / nodeSize)
    total += count
    levelEnds.push(total)
  } while (count !== 1)
  const indexBytes = total < 16_384 ? 2 : 4
  if (byteLength !== 8 + total * (16 + indexBytes)) return undefined
  const at = byteOffset + 8 + total * 16
  return {
    nodeSize,
    levelEnds,
    boxes: new Int32Array(buffer, byteOffset + 8, total * 4),
    indices: indexBytes === 2 ? new Uint16Array(buffer, at, total) : new Uint32Array(buffer, at, total),
  }
}

/**
 * Opens the kdbush index of a graph without a copy.
 *
 * @returns undefined when the bytes are not a kdbush 4 index of as many Int32 points as there are junctions
 */
export function openJunctionTree(graph: Graph): JunctionTree | undefined {
  const { buffer, byteOffset, byteLength } = graph.junctionIndex
  const count = graph.junctionCount
  const idBytes = count < 65_536 ? 2 : 4
  const coordsAt = 8 + Math.ceil((count * idBytes) / 8) * 8
  if (byteLength !== coordsAt + count * 8) return undefined
  const view = new DataView(buffer, byteOffset, byteLength)
  const isOurs =
    view.getUint8(0) === 0xdb && view.getUint8(1) === KDBUSH_INT32 && view.getUint16(2, true) >= 2
  if (!isOurs || view.getUint32(4, true) !== count) return undefined
  const at = byteOffset + 8
  return {
    nodeSize: view.getUint16(2, true),
    ids: idBytes === 2 ? new Uint16Array(buffer, at, count) : new Uint32Array(buffer, at, count),
    coords: new Int32Array(buffer, byteOffset + coordsAt, count * 2),
  }
}
