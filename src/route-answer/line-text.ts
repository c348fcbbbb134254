import { type FlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import type { Graph } from '../routing/graph/graph.js'
import { isBackward, segmentOf } from '../routing/graph/topology.js'
import type { DrivenStep } from '../routing/search/route.js'
import { writeE7 } from './byte-text.js'

/** Scratch of one line, reused from line to line. */
export interface LineScratch {
  /** line of the segment that was read last */
  readonly flat: FlatLine
  /** positions of the line being written: lng, lat, lng, lat … in 1e-7 degree; grows */
  line: Int32Array
}

/** Upper bound of a position: `[-180.1234567,-90.1234567],`, and two escaped numbers of a polyline. */
export const POSITION_BYTES = 32

const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN = 0x5b
const CLOSE = 0x5d
/** Units of 1e-7 degree in one of a polyline of precision 6. */
const E7_PER_E6 = 10
/** First character of the encoding, `?`. */
const FIRST_CHAR = 63
const CHUNK_BITS = 5
const CHUNK_MASK = 31
const MORE_CHUNKS = 32

/**
 * Adds the positions that `cutLine` returns of a step; one that equals the position before is left out.
 *
 * @param from numbers in `line` before
 * @returns numbers in `line`
 */
export function addStepLine(scratch: LineScratch, graph: Graph, step: DrivenStep, from = 0): number {
  readFlatLine(graph, segmentOf(step.link), scratch.flat)
  return addFlatLine(scratch, step, from)
}

/** Adds the positions of a step whose segment is in `flat`. */
export function addFlatLine(scratch: LineScratch, { link, from, to }: DrivenStep, before: number): number {
  const { xy, corners } = scratch.flat
  let count = before
  if (from !== undefined) count = addPosition(scratch, count, from.lngE7, from.latE7)
  if (isBackward(link)) {
    const last = to === undefined ? 0 : to.corner + 1
    for (let corner = from === undefined ? corners - 1 : from.corner; corner >= last; corner--) {
      count = addPosition(scratch, count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  } else {
    const last = to === undefined ? corners - 1 : to.corner
    for (let corner = from === undefined ? 0 : from.corner + 1; corner <= last; corner++) {
      count = addPosition(scratch, count, xy[corner * 2]!, xy[corner * 2 + 1]!)
    }
  }
  return to === undefined ? count : addPosition(scratch, count, to.lngE7, to.latE7)
}

/** Gives a line of length 0 its position twice, as GeoJSON asks. @returns numbers in `line` */
export function closeLine({ line }: LineScratch, count: number): number {
  if (count !== 2) return count
  line[2] = line[0]!
  line[3] = line[1]!
  return 4
}

/** Adds a position unless it equals the last one. @returns numbers in `line` */
function addPosition(scratch: LineScratch, count: number, lngE7: number, latE7: number): number {
  let { line } = scratch
  if (count > 0 && line[count - 2] === lngE7 && line[count - 1] === latE7) return count
  if (count === line.length) {
    const grown = new Int32Array(count * 2)
    grown.set(line)
    scratch.line = line = grown
  }
  line[count] = lngE7
  line[count + 1] = latE7
  return count + 2
}

/**
 * Writes positions as arrays with commas between them.
 *
 * @param positions the first `count` numbers: lng, lat, lng, lat … in 1e-7 degree
 * @returns offset behind them
 */
export function writePositions(
  bytes: Uint8Array,
  begin: number,
  positions: Int32Array,
  count: number,
): number {
  let at = begin
  for (let i = 0; i < count; i += 2) {
    if (i > 0) bytes[at++] = COMMA
    bytes[at++] = OPEN
    at = writeE7(bytes, at, positions[i]!)
    bytes[at++] = COMMA
    at = writeE7(bytes, at, positions[i + 1]!)
    bytes[at++] = CLOSE
  }
  return at
}

/**
 * Writes positions as an encoded polyline of precision 6: latitudes first, differences in 1e-6 degree. Its
 * backslashes are escaped for JSON.
 *
 * @param positions as of `writePositions`
 * @returns offset behind it
 * @see "Encoded Polyline Algorithm Format", Google Maps Platform
 */
export function writePolyline6(
  bytes: Uint8Array,
  begin: number,
  positions: Int32Array,
  count: number,
): number {
  let at = begin
  let [lng, lat] = [0, 0]
  for (let i = 0; i < count; i += 2) {
    const nextLng = Math.round(positions[i]! / E7_PER_E6)
    const nextLat = Math.round(positions[i + 1]! / E7_PER_E6)
    at = writeDifference(bytes, at, nextLat - lat)
    at = writeDifference(bytes, at, nextLng - lng)
    lng = nextLng
    lat = nextLat
  }
  return at
}

/** @param difference at most 360e6 in either direction, so that its double fits 32 bits */
function writeDifference(bytes: Uint8Array, begin: number, difference: number): number {
  let at = begin
  let rest = difference < 0 ? ~(difference << 1) : difference << 1
  for (;;) {
    const isLast = rest < MORE_CHUNKS
    const char = FIRST_CHAR + (isLast ? rest : MORE_CHUNKS | (rest & CHUNK_MASK))
    if (char === BACKSLASH) bytes[at++] = BACKSLASH
    bytes[at++] = char
    if (isLast) return at
    rest >>>= CHUNK_BITS
  }
}
