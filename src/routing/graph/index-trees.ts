import type { Graph } from './graph.js'
import { bytesOfStored, isPaged, numberAt } from './paged.js'

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

/** Entries of the kdbush index over the junctions, in memory or in the map file. */
export interface JunctionEntries {
  /** most entries of a leaf */
  readonly nodeSize: number
  readonly count: number
  /** entry in tree order → junction */
  idAt(entry: number): number
  /** position in `JunctionTree.coords` → coordinate */
  coordAt(at: number): number
}

/** Second byte of an index: version in the high half, here 3 and 1; type in the low half, 5 = Int32. */
const FLATBUSH_INT32 = (3 << 4) + 5
const KDBUSH_INT32 = (1 << 4) + 5
/** Fewer boxes than these have indices of two bytes. */
export const SHORT_INDEXES = 16_384
/** Bytes of a box with such an index. */
export const SHORT_ENTRY_BYTES = 18
/** Fewer junctions than these have ids of two bytes. */
const SHORT_IDS = 65_536

/** Returns level, leaves first → position of its end, in a flatbush. */
export function segmentLevels(segmentCount: number, nodeSize: number): number[] {
  const levelEnds = [segmentCount]
  let count = segmentCount
  let total = count
  do {
    count = Math.ceil(count / nodeSize)
    total += count
    levelEnds.push(total)
  } while (count !== 1)
  return levelEnds
}

/**
 * Opens the flatbush index of a graph, without a copy where it is in memory.
 *
 * @returns undefined when the bytes are not a flatbush 3 index of as many Int32 boxes as there are segments
 */
export function openSegmentTree(
  graph: Pick<Graph, 'segmentIndex' | 'segmentCount'>,
): SegmentTree | undefined {
  const { buffer, byteOffset, byteLength } = bytesOfStored(graph.segmentIndex)
  if (byteLength < 8) return undefined
  const view = new DataView(buffer, byteOffset, byteLength)
  const nodeSize = view.getUint16(2, true)
  const isOurs = view.getUint8(0) === 0xfb && view.getUint8(1) === FLATBUSH_INT32 && nodeSize >= 2
  if (!isOurs || view.getUint32(4, true) !== graph.segmentCount) return undefined
  const levelEnds = segmentLevels(graph.segmentCount, nodeSize)
  const total = levelEnds[levelEnds.length - 1]!
  const indexBytes = total < SHORT_INDEXES ? 2 : 4
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
 * Opens the entries of the kdbush index of a graph. Of an index in the file, whose format was checked when the map
 * was opened, only those are read that are asked for.
 *
 * @returns undefined when the bytes are not such an index
 */
export function openJunctionEntries(graph: Graph): JunctionEntries | undefined {
  const { junctionIndex: index, junctionCount: count } = graph
  if (!isPaged(index)) {
    const tree = openJunctionTree(graph)
    if (tree === undefined) return undefined
    const { ids, coords, nodeSize } = tree
    return { nodeSize, count, idAt: (entry) => ids[entry]!, coordAt: (at) => coords[at]! }
  }
  const isShort = count < SHORT_IDS
  const idWords = Math.ceil((count * (isShort ? 2 : 4)) / 8) * 2
  return {
    nodeSize: numberAt(index, 0) >>> 16,
    count,
    idAt: (entry) =>
      isShort
        ? (numberAt(index, 2 + (entry >>> 1)) >>> ((entry & 1) * 16)) & 0xffff
        : numberAt(index, 2 + entry),
    // words are unsigned, coordinates are not
    coordAt: (at) => numberAt(index, 2 + idWords + at) | 0,
  }
}

/**
 * Opens the kdbush index of a graph, without a copy where it is in memory.
 *
 * @returns undefined when the bytes are not a kdbush 4 index of as many Int32 points as there are junctions
 */
export function openJunctionTree(graph: Graph): JunctionTree | undefined {
  const { buffer, byteOffset, byteLength } = bytesOfStored(graph.junctionIndex)
  const count = graph.junctionCount
  const idBytes = count < SHORT_IDS ? 2 : 4
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
