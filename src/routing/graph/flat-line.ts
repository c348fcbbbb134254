import { readShape, type Shapes } from './geometry.js'
import type { Piece } from './paged.js'
import { planeLengthM } from './plane-length.js'

/** Line of a segment in flat arrays that are reused, for loops over many segments. */
export interface FlatLine {
  corners: number
  /** x, y, x, y … in 1e-7 degree */
  xy: Float64Array
  /** corner → millimetres from the tail; set by `measureFlatLine` */
  offsetsMm: Float64Array
}

/** Creates the arrays: room for 64 corners, which grows when a line needs more. */
export function createFlatLine(): FlatLine {
  return { corners: 0, xy: new Float64Array(128), offsetsMm: new Float64Array(64) }
}

/**
 * Reads the line of a segment as `readLine` does. The varints are decoded twice in the text, for lng and lat,
 * which is faster than an inner loop over the axes.
 */
export function readFlatLine(graph: Shapes, segment: number, line: FlatLine): void {
  const { junctionLngE7, junctionLatE7 } = graph
  const tail = graph.segmentTail[segment]!
  const head = graph.segmentHead[segment]!
  const size = readShape(graph, segment, piece)
  const { bytes: geometry } = piece
  let { at } = piece
  const end = at + size
  // before `xy` is bound: the array may be replaced
  reserve(line, size)
  const { xy } = line
  let lngE7 = junctionLngE7[tail]!
  let latE7 = junctionLatE7[tail]!
  xy[0] = lngE7
  xy[1] = latE7
  let count = 2
  while (at < end) {
    // longitude: seven bits a byte, least significant first; the high bit means that more follow
    let byte = geometry[at++]!
    let bits = byte & 0x7f
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = geometry[at++]!
      // a zigzag delta has 32 bits, so it takes five bytes at most
      bits |= (byte & 0x7f) << shift
    }
    lngE7 += (bits >>> 1) ^ -(bits & 1) // zigzag: 0, -1, 1, -2 …
    // latitude likewise
    byte = geometry[at++]!
    bits = byte & 0x7f
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = geometry[at++]!
      bits |= (byte & 0x7f) << shift
    }
    latE7 += (bits >>> 1) ^ -(bits & 1)
    xy[count++] = lngE7
    xy[count++] = latE7
  }
  xy[count++] = junctionLngE7[head]!
  xy[count++] = junctionLatE7[head]!
  line.corners = count >>> 1
}

/** Computes `offsetsMm` as `cornerOffsets` does. */
export function measureFlatLine({ corners, xy, offsetsMm }: FlatLine, lengthMm: number): void {
  offsetsMm[0] = 0
  // a straight line needs no measuring: its two offsets are 0 and the length
  if (corners > 2) {
    let totalM = 0
    for (let corner = 1; corner < corners; corner++) {
      const at = corner * 2
      totalM += planeLengthM(xy[at - 2]!, xy[at - 1]!, xy[at]!, xy[at + 1]!)
      offsetsMm[corner] = totalM
    }
    // 0 for a line whose corners all coincide
    const mmPerM = totalM > 0 ? lengthMm / totalM : 0
    for (let corner = 1; corner < corners; corner++) offsetsMm[corner] = offsetsMm[corner]! * mmPerM
  }
  // exact, whatever the rounding of the product
  offsetsMm[corners - 1] = lengthMm
}

/** Geometry of the segment that is read; nothing else is read while it is decoded. */
const piece: Piece = { bytes: new Uint8Array(0), at: 0 }

/** Makes room for a line: each inner point takes at least two bytes of geometry. */
function reserve(line: FlatLine, geometryBytes: number): void {
  const most = (geometryBytes >>> 1) + 2
  if (most <= line.offsetsMm.length) return
  line.xy = new Float64Array(most * 2)
  line.offsetsMm = new Float64Array(most)
}
