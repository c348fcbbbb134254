import { AppError } from '../../errors.js'
import { type Graph, NO_ARC } from './graph.js'

/**
 * Checks that no number of a graph leads out of its array, so that what walks it need not look at bounds.
 * Costs one pass over the arrays, about 15 ns a node.
 *
 * @throws AppError BAD_MAP_FILE naming the array and the position
 */
export function checkGraph(graph: Graph): void {
  const { junctionCount, segmentCount, nodeCount, arcCount } = graph
  const linkCount = segmentCount * 2
  if (junctionCount === 0 || segmentCount === 0 || nodeCount === 0) throw damaged('it holds no road')
  checkOffsets('firstOut', graph.firstOut, arcCount)
  checkOffsets('firstGeometry', graph.firstGeometry, graph.geometry.length)
  checkOffsets('linkFirstArc', graph.linkFirstArc, arcCount)
  checkBelow('head', graph.head, nodeCount)
  checkBelow('arcLink', graph.arcLink, linkCount)
  checkBelow('nodeJunction', graph.nodeJunction, junctionCount)
  checkBelow('segmentTail', graph.segmentTail, junctionCount)
  checkBelow('segmentHead', graph.segmentHead, junctionCount)
  checkBelow('linkArcs', graph.linkArcs, arcCount)
  checkStartArcs(graph)
  checkStrings('segmentName', graph.segmentName, graph.strings)
  checkStrings('linkNotes', graph.linkNotes, graph.strings)
  checkSegmentIndex(graph)
  checkJunctionIndex(graph)
  checkMeta(graph)
}

/** The error of all that can be wrong with a map file. */
export function badMapFile(
  reason: 'magic' | 'version' | 'short' | 'damaged',
  message: string,
  cause?: unknown,
): AppError {
  return new AppError('BAD_MAP_FILE', { reason }, { message, cause })
}

function damaged(what: string): Error {
  return badMapFile('damaged', `the map file is damaged: ${what}`)
}

/** Offsets begin at 0, never fall and end at the length of what they point into. */
function checkOffsets(name: string, offsets: Uint32Array, end: number): void {
  let last = 0
  if (offsets[0] !== 0) throw damaged(`${name}[0] is ${offsets[0]}, expected 0`)
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i]!
    if (offset < last) throw damaged(`${name}[${i}] is ${offset}, less than the one before it`)
    last = offset
  }
  if (last !== end) throw damaged(`${name} ends at ${last}, expected ${end}`)
}

function checkBelow(name: string, values: Uint32Array | Uint16Array, limit: number): void {
  for (let i = 0; i < values.length; i++) {
    if (values[i]! >= limit) throw damaged(`${name}[${i}] is ${values[i]}, expected less than ${limit}`)
  }
}

function checkStartArcs({ linkStartArc, linkSpeed, arcLink }: Graph): void {
  for (let link = 0; link < linkStartArc.length; link++) {
    const arc = linkStartArc[link]!
    const isDrivable = linkSpeed[link]! > 0
    // an arc number out of range reads undefined, which is no link
    if (isDrivable ? arcLink[arc] === link : arc === NO_ARC) continue
    throw damaged(`linkStartArc[${link}] is ${arc}, which is no arc of link ${link}`)
  }
}

function checkStrings(name: string, offsets: Uint32Array, strings: Uint8Array): void {
  const view = new DataView(strings.buffer, strings.byteOffset, strings.byteLength)
  if (strings.length < 4 || view.getUint32(0, true) !== 0)
    throw damaged('strings do not begin with the empty one')
  let last = 0
  for (let i = 0; i < offsets.length; i++) {
    const offset = offsets[i]!
    if (offset === last) continue // neighbours often share a name
    if (offset + 4 > strings.length || offset + 4 + view.getUint32(offset, true) > strings.length) {
      throw damaged(`${name}[${i}] is ${offset}, where no string of the ${strings.length} bytes begins`)
    }
    last = offset
  }
}

/** version 3 in the high half, type 5 = Int32 in the low one */
const FLATBUSH_INT32 = (3 << 4) + 5
const KDBUSH_INT32 = (1 << 4) + 5

/** A packed tree whose children are where flatbush puts them: nothing else would end, or stay inside. */
function checkSegmentIndex(graph: Graph): void {
  const tree = openSegmentTree(graph)
  if (tree === undefined) throw damaged('segmentIndex is no flatbush 3 index of its segments')
  const { indices, levelEnds, nodeSize } = tree
  for (let i = 0; i < graph.segmentCount; i++) {
    if (indices[i]! >= graph.segmentCount) throw damaged(`segmentIndex leads to segment ${indices[i]}`)
  }
  let child = 0
  for (let level = 0; level + 1 < levelEnds.length; level++) {
    for (let at = levelEnds[level]!; at < levelEnds[level + 1]!; at++) {
      if (indices[at] !== child * 4) throw damaged(`segmentIndex: branch ${at} does not lead to its children`)
      child = Math.min(child + nodeSize, levelEnds[level]!)
    }
  }
}

/** The arrays of the flatbush index over the segments; undefined when the bytes are none. */
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

export interface SegmentTree {
  readonly nodeSize: number
  /** level, leaves first → where it ends */
  readonly levelEnds: number[]
  /** minX, minY, maxX, maxY */
  readonly boxes: Int32Array
  /** leaf → segment, branch → its first child * 4 */
  readonly indices: Uint16Array | Uint32Array
}

function checkJunctionIndex(graph: Graph): void {
  const tree = openJunctionTree(graph)
  if (tree === undefined) throw damaged('junctionIndex is no kdbush 4 index of its junctions')
  checkBelow('junctionIndex', tree.ids, graph.junctionCount)
}

/** The arrays of the kdbush index over the junctions; undefined when the bytes are none. */
export function openJunctionTree(
  graph: Graph,
): { ids: Uint16Array | Uint32Array; coords: Int32Array } | undefined {
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
    ids: idBytes === 2 ? new Uint16Array(buffer, at, count) : new Uint32Array(buffer, at, count),
    coords: new Int32Array(buffer, byteOffset + coordsAt, count * 2),
  }
}

/** What the program reads of the meta data; the rest is for people. */
function checkMeta({ meta }: Graph): void {
  const isMeta =
    typeof meta === 'object' &&
    meta !== null &&
    typeof meta.name === 'string' &&
    Array.isArray(meta.bbox) &&
    meta.bbox.length === 4 &&
    meta.bbox.every(Number.isFinite) &&
    (meta.area?.type === 'Polygon' || meta.area?.type === 'MultiPolygon') &&
    Array.isArray(meta.area.coordinates)
  if (!isMeta) throw damaged('what it says of itself lacks a name, an area or a box')
}
