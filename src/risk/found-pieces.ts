import type { Overlay } from '../routing/search/overlay.js'
import { grown } from './grown.js'
import type { Pieces } from './stack-levels.js'

/** Segments in the order in which they were found, each once, with their pieces. The arrays grow. */
export interface Found {
  count: number
  pieceCount: number
  segment: Uint32Array
  /** index in `segment` → end of its pieces; they begin where those of the one before end */
  lastPiece: Uint32Array
  /** piece → its end, mm from the beginning of the segment */
  endMm: Uint32Array
  /** piece → level, 0 to 10 */
  level: Uint8Array
}

/** Returns an empty list. @param expected number of segments; more may be added */
export function createFound(expected: number): Found {
  const size = Math.max(64, expected)
  return {
    count: 0,
    pieceCount: 0,
    segment: new Uint32Array(size),
    lastPiece: new Uint32Array(size),
    endMm: new Uint32Array(size * 2),
    level: new Uint8Array(size * 2),
  }
}

/** Appends a segment. @param pieces its pieces; none for a segment that no cell covers any more */
export function addFound(found: Found, segment: number, pieces: Pieces): void {
  const { pieceCount, count } = found
  if (count === found.segment.length) {
    found.segment = grown(found.segment, count * 2)
    found.lastPiece = grown(found.lastPiece, count * 2)
  }
  const pieceEnd = pieceCount + pieces.count
  if (pieceEnd > found.level.length) {
    const size = Math.max(pieceEnd, found.level.length * 2)
    found.endMm = grown(found.endMm, size)
    found.level = grown(found.level, size)
  }
  const { endMm, level } = found
  for (let piece = 0; piece < pieces.count; piece++) {
    endMm[pieceCount + piece] = pieces.end[piece]!
    level[pieceCount + piece] = pieces.level[piece]!
  }
  found.pieceCount = pieceEnd
  found.lastPiece[count] = pieceEnd
  found.segment[count] = segment
  found.count++
}

/** Returns a copy without what is not in use, to be sent to another thread. */
export function trimFound({ count, pieceCount, segment, lastPiece, endMm, level }: Found): Found {
  return {
    count,
    pieceCount,
    segment: segment.slice(0, count),
    lastPiece: lastPiece.slice(0, count),
    endMm: endMm.slice(0, pieceCount),
    level: level.slice(0, pieceCount),
  }
}

/** Joins lists of different segments. */
export function joinFound(parts: readonly Found[]): Found {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return first
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  const pieceCount = parts.reduce((sum, part) => sum + part.pieceCount, 0)
  const all: Found = {
    count,
    pieceCount,
    segment: new Uint32Array(count),
    lastPiece: new Uint32Array(count),
    endMm: new Uint32Array(pieceCount),
    level: new Uint8Array(pieceCount),
  }
  let at = 0
  let piece = 0
  for (const part of parts) {
    all.segment.set(part.segment.subarray(0, part.count), at)
    for (let i = 0; i < part.count; i++) all.lastPiece[at + i] = part.lastPiece[i]! + piece
    all.endMm.set(part.endMm.subarray(0, part.pieceCount), piece)
    all.level.set(part.level.subarray(0, part.pieceCount), piece)
    at += part.count
    piece += part.pieceCount
  }
  return all
}

const EMPTY: Overlay = {
  segments: new Uint32Array(0),
  firstPiece: new Uint32Array(1),
  pieceEndMm: new Uint32Array(0),
  pieceLevel: new Uint8Array(0),
}

/**
 * Merges found pieces and a former overlay into an overlay, segments ascending. A found segment replaces the
 * former one; found without pieces it is removed.
 *
 * Cost: linear in both, plus a radix sort of the found segments.
 */
export function assemble(found: Found, former: Overlay = EMPTY): Overlay {
  const { count, segment, lastPiece, endMm, level } = found
  const places = placesBySegment(found)
  const most = former.segments.length + count
  const mostPieces = former.pieceLevel.length + found.pieceCount
  const segments = new Uint32Array(most)
  const firstPiece = new Uint32Array(most + 1)
  const pieceEndMm = new Uint32Array(mostPieces)
  const pieceLevel = new Uint8Array(mostPieces)
  let listed = 0
  let piece = 0
  let kept = 0
  for (let index = 0; index <= count; index++) {
    const place = index < count ? places[index]! : -1
    const next = place < 0 ? 0xffffffff : segment[place]!
    while (kept < former.segments.length && former.segments[kept]! < next) {
      for (let at = former.firstPiece[kept]!, end = former.firstPiece[kept + 1]!; at < end; at++) {
        pieceEndMm[piece] = former.pieceEndMm[at]!
        pieceLevel[piece++] = former.pieceLevel[at]!
      }
      segments[listed++] = former.segments[kept++]!
      firstPiece[listed] = piece
    }
    if (place < 0) break
    if (former.segments[kept] === next) kept++
    const from = place === 0 ? 0 : lastPiece[place - 1]!
    const end = lastPiece[place]!
    if (from === end) continue
    for (let at = from; at < end; at++) {
      pieceEndMm[piece] = endMm[at]!
      pieceLevel[piece++] = level[at]!
    }
    segments[listed++] = next
    firstPiece[listed] = piece
  }
  return {
    segments: listed === most ? segments : segments.slice(0, listed),
    firstPiece: listed === most ? firstPiece : firstPiece.slice(0, listed + 1),
    pieceEndMm: piece === mostPieces ? pieceEndMm : pieceEndMm.slice(0, piece),
    pieceLevel: piece === mostPieces ? pieceLevel : pieceLevel.slice(0, piece),
  }
}

const DIGIT_BITS = 11
const DIGITS = 2 ** DIGIT_BITS

/** Indexes of the found segments, ascending by segment: a radix sort, least significant digit first. */
function placesBySegment({ count, segment }: Found): Uint32Array {
  let places = new Uint32Array(count)
  let sorted = new Uint32Array(count)
  let largest = 0
  for (let place = 0; place < count; place++) {
    places[place] = place
    if (segment[place]! > largest) largest = segment[place]!
  }
  const next = new Uint32Array(DIGITS + 1)
  for (let shift = 0; shift < 32 && largest >>> shift > 0; shift += DIGIT_BITS) {
    next.fill(0)
    for (let at = 0; at < count; at++) next[((segment[at]! >>> shift) & (DIGITS - 1)) + 1]!++
    for (let digit = 0; digit < DIGITS; digit++) next[digit + 1]! += next[digit]!
    for (let at = 0; at < count; at++) {
      const place = places[at]!
      sorted[next[(segment[place]! >>> shift) & (DIGITS - 1)]!++] = place
    }
    ;[places, sorted] = [sorted, places]
  }
  return places
}
