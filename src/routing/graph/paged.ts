import { sharedBuffer } from './shared-memory.js'

/** Bytes of a page: a route reads a few hundred bytes here and there, so small pages hold more of what is used. */
export const PAGE_BYTES = 4096
const PAGE_SHIFT = 12
/** Numbers of 32 bits in a page. */
const WORDS_SHIFT = PAGE_SHIFT - 2
const WORD_MASK = PAGE_BYTES / 4 - 1
const DOUBLES_SHIFT = PAGE_SHIFT - 3
const DOUBLE_MASK = PAGE_BYTES / 8 - 1
const BYTE_MASK = PAGE_BYTES - 1
/** Offsets for each of `Steps.whole`. */
const STEPS = 16
const LONG_STEP = 255
/** Usual memory for the pages of a map. Sections that are no larger together stay in memory, which is faster. */
export const CACHE_BYTES = 16 * 1024 * 1024
/** Bytes in frames are counted in 32 bits with a sign. */
const MAX_CACHE_BYTES = 1024 ** 3

/**
 * Reads bytes of a map file.
 *
 * @param offset from the beginning of the file
 * @param into filled as a whole
 * @throws an error when the file cannot be read, or has become shorter
 */
export type ReadFile = (offset: number, into: Uint8Array) => void

/** CRC-32 of some bytes (ISO 3309, as in zip and PNG), for instance `crc32` of `node:zlib`. */
export type Crc32 = (bytes: Uint8Array) => number

/**
 * Pages of a map file that were used last. Second chance: of the pages in the order of a ring, the next that was
 * not used since the hand passed it makes room.
 */
export interface Pages {
  readonly read: ReadFile
  /** number of the open file, which other threads of the process may read as well */
  readonly fd: number
  readonly crc32: Crc32
  /** error of a page that is not as it was when the map was opened */
  readonly changed: (offset: number) => Error
  /** page → frame that holds it, -1 = none */
  frameOf: Int32Array
  /** page → CRC-32 of its bytes when the map was opened */
  sumOf: Uint32Array
  pageCount: number
  /** frame → page */
  readonly pageIn: Int32Array
  /** frame → 1 when it was used since the hand passed it */
  readonly isUsed: Uint8Array
  /** frames in turn, as bytes and as numbers; the system gives memory to those alone that are filled */
  readonly bytes: Uint8Array
  readonly words: Uint32Array
  readonly doubles: Float64Array
  hand: number
  frameCount: number
  /** pages read so far, for measurements */
  readCount: number
  /** copy of a piece that lies on several pages; grows */
  scratch: Uint8Array
}

/** Section of a map file that is not in memory: its elements are read by pages. */
export interface Paged {
  readonly pages: Pages
  /** page of `pages` that holds the first bytes */
  readonly firstPage: number
  /** of the section in the file */
  readonly offset: number
  readonly byteLength: number
  /** number of elements, as of a typed array */
  readonly length: number
  /** of numbers most of which are 0: one bit each, 1 = not 0 */
  readonly isSet?: Uint8Array | undefined
  /** of offsets that ascend in small steps */
  readonly steps?: Steps | undefined
}

/** Ascending offsets in a byte each: sums of the steps since the last of some offsets that are kept whole. */
export interface Steps {
  /** every 16th offset */
  readonly whole: Uint32Array
  /** step from each offset to the next, `LONG_STEP` where a byte is too small for it */
  readonly size: Uint8Array
}

/** Array of a graph: in memory, or in its file. */
export type Stored<A extends Uint8Array | Uint32Array | Float64Array> = A | Paged

/** Bytes of a stored array: they begin at `at` of `bytes`, until another piece is read. */
export interface Piece {
  bytes: Uint8Array
  at: number
}

/** Creates the pages of a file. @param cacheBytes most memory of them */
export function createPages(
  { read, fd, crc32, changed }: Pick<Pages, 'read' | 'fd' | 'crc32' | 'changed'>,
  cacheBytes: number,
): Pages {
  const frames = Math.ceil(Math.min(cacheBytes, MAX_CACHE_BYTES) / PAGE_BYTES)
  const buffer = new ArrayBuffer(frames * PAGE_BYTES)
  return {
    ...{ read, fd, crc32, changed },
    frameOf: new Int32Array(0),
    sumOf: new Uint32Array(0),
    pageCount: 0,
    pageIn: new Int32Array(frames),
    isUsed: new Uint8Array(frames),
    bytes: new Uint8Array(buffer),
    words: new Uint32Array(buffer),
    doubles: new Float64Array(buffer),
    hand: 0,
    frameCount: 0,
    readCount: 0,
    scratch: new Uint8Array(PAGE_BYTES * 2),
  }
}

/**
 * Adds a section to the pages of its file.
 *
 * @param array the section in memory, whose checksum was compared; not kept
 * @param offset of the section in the file
 */
export function pageSection(
  pages: Pages,
  array: Uint8Array | Uint32Array | Float64Array,
  offset: number,
): Paged {
  const { byteLength, length } = array
  const bytes = new Uint8Array(array.buffer, array.byteOffset, byteLength)
  const firstPage = pages.pageCount
  pages.pageCount += Math.ceil(byteLength / PAGE_BYTES)
  const sums = new Uint32Array(pages.pageCount)
  sums.set(pages.sumOf)
  for (let page = firstPage; page < pages.pageCount; page++) {
    const from = (page - firstPage) * PAGE_BYTES
    sums[page] = pages.crc32(bytes.subarray(from, Math.min(from + PAGE_BYTES, byteLength)))
  }
  pages.sumOf = sums
  pages.frameOf = new Int32Array(pages.pageCount).fill(-1)
  return { pages, firstPage, offset, byteLength, length }
}

/** Returns element `at` of an array of 32-bit numbers. @throws the errors of the file */
export function numberAt(array: Stored<Uint32Array>, at: number): number {
  if (!isPaged(array)) return array[at]!
  return array.pages.words[
    (frameFor(array, array.firstPage + (at >>> WORDS_SHIFT)) << WORDS_SHIFT) + (at & WORD_MASK)
  ]!
}

/** Returns element `at` of an array of doubles. @throws the errors of the file */
export function doubleAt(array: Stored<Float64Array>, at: number): number {
  if (!isPaged(array)) return array[at]!
  return array.pages.doubles[
    (frameFor(array, array.firstPage + (at >>> DOUBLES_SHIFT)) << DOUBLES_SHIFT) + (at & DOUBLE_MASK)
  ]!
}

/** Returns whether element `at` of an array of 32-bit numbers is 0. @throws the errors of the file */
export function isZeroAt(array: Stored<Uint32Array>, at: number): boolean {
  if (isPaged(array) && array.isSet !== undefined) return (array.isSet[at >>> 3]! & (1 << (at & 7))) === 0
  return numberAt(array, at) === 0
}

/** Returns element `at` of an array of ascending offsets. @throws the errors of the file */
export function offsetAt(array: Stored<Uint32Array>, at: number): number {
  if (!isPaged(array) || array.steps === undefined) return numberAt(array, at)
  const { whole, size } = array.steps
  let offset = whole[at >>> 4]!
  for (let i = at & ~(STEPS - 1); i < at; i++) {
    if (size[i] === LONG_STEP) return numberAt(array, at)
    offset += size[i]!
  }
  return offset
}

/** Keeps one bit for each number of a section, so that those that are 0 need not be read. */
export function withBits(paged: Paged, numbers: Uint32Array): Paged {
  const isSet = new Uint8Array(Math.ceil(numbers.length / 8))
  for (let at = 0; at < numbers.length; at++) if (numbers[at] !== 0) isSet[at >>> 3]! |= 1 << (at & 7)
  return { ...paged, isSet }
}

/**
 * Keeps a byte for each of the ascending offsets of a section, so that few of them need be read: in memory that threads
 * can share.
 */
export function withSteps(paged: Paged, offsets: Uint32Array): Paged {
  const size = new Uint8Array(sharedBuffer(offsets.length))
  for (let at = 0; at + 1 < offsets.length; at++)
    size[at] = Math.min(LONG_STEP, offsets[at + 1]! - offsets[at]!)
  const whole = new Uint32Array(sharedBuffer(Math.ceil(offsets.length / STEPS) * 4))
  for (let at = 0; at < whole.length; at++) whole[at] = offsets[at * STEPS]!
  return { ...paged, steps: { whole, size } }
}

/**
 * Finds the bytes `from` to `end` of an array.
 *
 * @param piece filled; valid until another piece or number is read
 * @throws the errors of the file
 */
export function readPiece(array: Stored<Uint8Array>, from: number, end: number, piece: Piece): void {
  if (!isPaged(array)) {
    piece.bytes = array
    piece.at = from
    return
  }
  const { pages } = array
  const page = from >>> PAGE_SHIFT
  if (end - (page << PAGE_SHIFT) > PAGE_BYTES) {
    piece.bytes = joined(array, from, end)
    piece.at = 0
    return
  }
  piece.bytes = pages.bytes
  // nothing is read for an empty piece, which may lie behind the last page
  piece.at = from === end ? 0 : (frameFor(array, array.firstPage + page) << PAGE_SHIFT) + (from & BYTE_MASK)
}

/** Returns all bytes of a stored array: those in memory, or a copy of those in the file. @throws the errors of the file */
export function bytesOfStored(
  array: Stored<Uint8Array | Uint32Array | Float64Array>,
): Uint8Array<ArrayBufferLike> {
  if (!isPaged(array)) return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
  const { pages, firstPage, offset, byteLength } = array
  const bytes = new Uint8Array(byteLength)
  for (let at = 0; at < byteLength; at += PAGE_BYTES) {
    const into = bytes.subarray(at, Math.min(at + PAGE_BYTES, byteLength))
    pages.read(offset + at, into)
    if (pages.crc32(into) !== pages.sumOf[firstPage + at / PAGE_BYTES]) throw pages.changed(offset + at)
  }
  return bytes
}

/** Returns an array of 32-bit numbers in memory. @throws the errors of the file */
export function numbersOf(array: Stored<Uint32Array>): Uint32Array {
  return isPaged(array) ? new Uint32Array(bytesOfStored(array).buffer) : array
}

/** Returns true for an array that is in its file. */
export function isPaged(array: Stored<Uint8Array | Uint32Array | Float64Array>): array is Paged {
  return (array as Partial<Paged>).pages !== undefined
}

/** Copies bytes that lie on several pages. */
function joined(array: Paged, from: number, end: number): Uint8Array {
  const { pages } = array
  if (pages.scratch.length < end - from) pages.scratch = new Uint8Array((end - from) * 2)
  const { scratch, bytes } = pages
  for (let at = from; at < end; ) {
    const frame = frameFor(array, array.firstPage + (at >>> PAGE_SHIFT))
    const begin = (frame << PAGE_SHIFT) + (at & BYTE_MASK)
    const count = Math.min(end - at, PAGE_BYTES - (at & BYTE_MASK))
    scratch.set(bytes.subarray(begin, begin + count), at - from)
    at += count
  }
  return scratch
}

/** Returns the frame of a page, which is read when none holds it. */
function frameFor(array: Paged, page: number): number {
  const { frameOf, isUsed } = array.pages
  const frame = frameOf[page]!
  if (frame < 0) return readPage(array, page)
  isUsed[frame] = 1
  return frame
}

/** Reads a page into a free frame, or one whose page was not used for long. */
function readPage({ pages, firstPage, offset, byteLength }: Paged, page: number): number {
  const { bytes, pageIn, frameOf, isUsed, sumOf } = pages
  const from = (page - firstPage) * PAGE_BYTES
  const frame = freeFrame(pages)
  const into = bytes.subarray(
    frame * PAGE_BYTES,
    frame * PAGE_BYTES + Math.min(PAGE_BYTES, byteLength - from),
  )
  pages.read(offset + from, into)
  pages.readCount++
  // a changed file could lead searches out of their arrays
  if (pages.crc32(into) !== sumOf[page]) throw pages.changed(offset + from)
  pageIn[frame] = page
  frameOf[page] = frame
  isUsed[frame] = 1
  return frame
}

/** Returns a frame without a page. */
function freeFrame(pages: Pages): number {
  const { pageIn, isUsed, frameOf } = pages
  if (pages.frameCount < pageIn.length) {
    pageIn[pages.frameCount] = -1
    return pages.frameCount++
  }
  let frame = pages.hand
  while (isUsed[frame] === 1) {
    isUsed[frame] = 0
    frame = frame + 1 === pageIn.length ? 0 : frame + 1
  }
  pages.hand = frame + 1 === pageIn.length ? 0 : frame + 1
  const before = pageIn[frame]!
  if (before >= 0) frameOf[before] = -1
  pageIn[frame] = -1
  return frame
}
