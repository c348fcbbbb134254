import type { Graph } from './graph.js'
import { offsetAt, type Piece, readPiece } from './paged.js'
import { planeLengthM } from './plane-length.js'

/** Arrays of a graph that describe lines. */
export type Shapes = Pick<
  Graph,
  | 'segmentTail'
  | 'segmentHead'
  | 'junctionLngE7'
  | 'junctionLatE7'
  | 'firstGeometry'
  | 'geometry'
  | 'segmentLengthMm'
>

/**
 * A point on a segment's line: between corner `corner` (0 = tail) and the next, at `fraction` of that part.
 */
export interface LinePoint {
  readonly corner: number
  /** 0 ≤ fraction < 1; 0 means the corner itself */
  readonly fraction: number
  /** distance from the tail along the line */
  readonly offsetMm: number
  readonly lngE7: number
  readonly latE7: number
}

/**
 * Finds the encoded inner corners of a segment's line.
 *
 * @param piece filled; valid until another piece or number is read
 * @returns their size, bytes
 */
export function readShape(
  { firstGeometry, geometry }: Pick<Graph, 'firstGeometry' | 'geometry'>,
  segment: number,
  piece: Piece,
): number {
  const from = offsetAt(firstGeometry, segment)
  const end = offsetAt(firstGeometry, segment + 1)
  readPiece(geometry, from, end, piece)
  return end - from
}

/**
 * Reads the line of a segment from tail to head.
 *
 * @param line filled with lng, lat, lng, lat … in 1e-7 degree; reused by the caller
 * @returns number of corners, at least 2
 */
export function readLine(graph: Shapes, segment: number, line: number[]): number {
  const { junctionLngE7, junctionLatE7 } = graph
  const tail = graph.segmentTail[segment]!
  const head = graph.segmentHead[segment]!
  let lngE7 = junctionLngE7[tail]!
  let latE7 = junctionLatE7[tail]!
  let count = 0
  line[count++] = lngE7
  line[count++] = latE7
  const size = readShape(graph, segment, piece)
  const { bytes: geometry } = piece
  let { at } = piece
  const end = at + size
  while (at < end) {
    // two zigzag varints, least significant seven bits first
    for (let axis = 0; axis < 2; axis++) {
      let bits = 0
      let shift = 0
      let byte = 0
      do {
        byte = geometry[at++]!
        bits |= (byte & 0x7f) << shift
        shift += 7
      } while (byte >= 0x80)
      const delta = (bits >>> 1) ^ -(bits & 1)
      if (axis === 0) lngE7 += delta
      else latE7 += delta
    }
    line[count++] = lngE7
    line[count++] = latE7
  }
  line[count++] = junctionLngE7[head]!
  line[count++] = junctionLatE7[head]!
  // a longer line of the call before leaves no corners behind
  line.length = count
  return count / 2
}

/**
 * Computes corner → distance from the tail, millimetres, unrounded: the stored length is divided among the
 * parts of the line in proportion to their lengths in the local plane.
 *
 * @param line of `readLine`
 * @param offsets filled; reused by the caller
 */
export function cornerOffsets(line: readonly number[], lengthMm: number, offsets: number[]): void {
  const corners = line.length / 2
  let totalM = 0
  offsets[0] = 0
  if (corners === 2) {
    offsets[1] = lengthMm // most segments are straight
    offsets.length = 2
    return
  }
  for (let corner = 1; corner < corners; corner++) {
    const at = corner * 2
    totalM += planeLengthM(line[at - 2]!, line[at - 1]!, line[at]!, line[at + 1]!)
    offsets[corner] = totalM
  }
  offsets.length = corners
  const mmPerM = totalM > 0 ? lengthMm / totalM : 0
  for (let corner = 1; corner < corners; corner++) offsets[corner] = offsets[corner]! * mmPerM
  offsets[corners - 1] = lengthMm
}

/** Returns the head or the tail of a segment as a point on its line. */
export function endPoint(graph: Shapes, segment: number, isHead: boolean): LinePoint {
  const line: number[] = []
  const corners = readLine(graph, segment, line)
  const corner = isHead ? corners - 1 : 0
  return {
    corner,
    fraction: 0,
    offsetMm: isHead ? graph.segmentLengthMm[segment]! : 0,
    lngE7: line[corner * 2]!,
    latE7: line[corner * 2 + 1]!,
  }
}

/**
 * Returns the line of a segment between two of its points, in that order, with the corners between them. Of
 * equal neighbours one is left out, but two positions always remain.
 *
 * @param isAgainst the direction of travel is from head to tail
 * @param from undefined = the beginning in the direction of travel, `to` likewise the end
 * @returns [lng, lat] in degrees
 */
export function cutLine(
  graph: Shapes,
  segment: number,
  isAgainst: boolean,
  from: LinePoint | undefined,
  to: LinePoint | undefined,
): [number, number][] {
  const line: number[] = []
  const corners = readLine(graph, segment, line)
  const positions: [number, number][] = []
  if (from !== undefined) addPosition(positions, from.lngE7, from.latE7)
  if (isAgainst) {
    // seen from the tail, `to` lies after `to.corner`: against that direction the next corner is the last
    const last = to === undefined ? 0 : to.corner + 1
    for (let corner = from?.corner ?? corners - 1; corner >= last; corner--) {
      addPosition(positions, line[corner * 2]!, line[corner * 2 + 1]!)
    }
  } else {
    const last = to === undefined ? corners - 1 : to.corner
    for (let corner = from === undefined ? 0 : from.corner + 1; corner <= last; corner++) {
      addPosition(positions, line[corner * 2]!, line[corner * 2 + 1]!)
    }
  }
  if (to !== undefined) addPosition(positions, to.lngE7, to.latE7)
  // a line of one point is no LineString: RFC 7946 asks for two positions
  if (positions.length === 1) positions.push(positions[0]!)
  return positions
}

/** Geometry of the segment that is read; nothing else is read while it is decoded. */
const piece: Piece = { bytes: new Uint8Array(0), at: 0 }

/** Appends a position in degrees, unless it equals the last one. */
function addPosition(positions: [number, number][], lngE7: number, latE7: number): void {
  const lng = lngE7 / 1e7
  const lat = latE7 / 1e7
  const last = positions[positions.length - 1]
  if (last !== undefined && last[0] === lng && last[1] === lat) return
  positions.push([lng, lat])
}
