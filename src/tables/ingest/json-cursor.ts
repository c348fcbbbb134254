import { isUtf8 } from 'node:buffer'
import { fstatSync, readSync } from 'node:fs'
import { AppError } from '../../errors.js'

/*
 * Finds positions in JSON text that is too large to be parsed as a whole: a cursor over a file, with one
 * chunk of it in memory. Brackets, strings, commas and colons on the way are checked; the contents of skipped
 * values are checked when they are parsed. Errors are PARSE_ERROR with the byte, or INVALID_REQUEST when
 * values are nested too deep.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const LOWER_U = 0x75
const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** result of `peek` at the end of the file */
export const END = -1

const BOM = Buffer.of(0xef, 0xbb, 0xbf)
const CHUNK_BYTES = 1024 * 1024
/** Longest key that is compared, escapes included; longer keys are cut. */
const MAX_KEY_BYTES = 128

/** Position in a file of JSON text. */
export interface JsonCursor {
  readonly handle: number
  readonly maxDepth: number
  chunk: Buffer
  /** bytes of the chunk that are in use */
  length: number
  /** position in the chunk */
  at: number
  /** offset of the chunk in the file */
  base: number
  /** a string on the way has half of a character */
  hasLoneSurrogate: boolean
}

/**
 * Opens a cursor on a file.
 *
 * @param maxDepth deepest nesting of arrays and objects
 * @param start offset of the first byte to read
 */
export function openCursor(handle: number, maxDepth: number, start = 0): JsonCursor {
  const size = Math.min(CHUNK_BYTES, fstatSync(handle).size)
  const chunk = Buffer.allocUnsafe(size)
  return { handle, maxDepth, chunk, length: 0, at: 0, base: start, hasLoneSurrogate: false }
}

/** Visits the members of the object at the cursor; `visit` must move the cursor past each value. */
export function forEachMember(cursor: JsonCursor, visit: (key: string) => void): void {
  cursor.at++
  if (peek(cursor) === CLOSE_OBJECT) {
    cursor.at++
    return
  }
  for (;;) {
    if (peek(cursor) !== QUOTE) throw unexpected(cursor, 'a key')
    const key = readKey(cursor)
    if (peek(cursor) !== COLON) throw unexpected(cursor, 'a colon')
    cursor.at++
    visit(key)
    const next = peek(cursor)
    if (next !== COMMA && next !== CLOSE_OBJECT) throw unexpected(cursor, 'a comma or }')
    cursor.at++
    if (next === CLOSE_OBJECT) return
  }
}

/** Visits the elements of the array at the cursor; `visit` must move the cursor past each. */
export function forEachElement(cursor: JsonCursor, visit: () => void): void {
  cursor.at++
  if (peek(cursor) === CLOSE_ARRAY) {
    cursor.at++
    return
  }
  for (;;) {
    visit()
    const next = peek(cursor)
    if (next !== COMMA && next !== CLOSE_ARRAY) throw unexpected(cursor, 'a comma or ]')
    cursor.at++
    if (next === CLOSE_ARRAY) return
  }
}

/** Returns the key at the cursor and moves past it; a key longer than `MAX_KEY_BYTES` is cut. */
function readKey(cursor: JsonCursor): string {
  const bytes: number[] = []
  skipString(cursor, (byte) => {
    if (bytes.length < MAX_KEY_BYTES) bytes.push(byte)
  })
  const text = Buffer.from(bytes).toString('utf8')
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text // a wrong escape, which the parser of the envelope refuses, or one that was cut
  }
}

/** Moves past a value. @param depth number of brackets around it */
export function skipValue(cursor: JsonCursor, depth: number): void {
  const first = peek(cursor)
  if (first === QUOTE) skipString(cursor)
  else if (first === OPEN_ARRAY || first === OPEN_OBJECT) skipNested(cursor, depth)
  else skipScalar(cursor)
}

/** Moves past an array or object, matching brackets outside strings. */
function skipNested(cursor: JsonCursor, depth: number): void {
  const closers: number[] = []
  do {
    const byte = moveToBracket(cursor)
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      closers.push(byte + 2) // the code of a closing bracket is that of the opening one plus 2
      if (depth + closers.length > cursor.maxDepth) throw tooDeep(cursor.base + cursor.at, cursor.maxDepth)
    } else if (closers.pop() !== byte) throw unexpected(cursor, 'the bracket that is open')
    cursor.at++
  } while (closers.length > 0)
}

/** Moves to the next bracket outside strings and returns it. */
function moveToBracket(cursor: JsonCursor): number {
  for (;;) {
    const { chunk, length } = cursor
    let at = cursor.at
    while (at < length && !isStop(chunk[at]!)) at++
    cursor.at = at
    if (at === length) {
      if (!fill(cursor)) throw unexpected(cursor, 'a closing bracket')
    } else if (chunk[at] === QUOTE) skipString(cursor)
    else return chunk[at]!
  }
}

/** True for a quote or a bracket; square and curly brackets differ in one bit. */
function isStop(byte: number): boolean {
  const folded = byte & 0xdf
  return byte === QUOTE || folded === OPEN_ARRAY || folded === CLOSE_ARRAY
}

function skipString(cursor: JsonCursor, take?: (byte: number) => void): void {
  cursor.at++
  /** the unit before is an escaped high surrogate, whose other half must follow */
  let isHalf = false
  do {
    const { chunk, length } = cursor
    let at = cursor.at
    for (; at < length && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH; at++) take?.(chunk[at]!)
    if (isHalf && at > cursor.at) cursor.hasLoneSurrogate = true
    isHalf &&= at === cursor.at
    cursor.at = at
    if (at === length) continue
    if (chunk[at] === QUOTE) {
      if (isHalf) cursor.hasLoneSurrogate = true
      cursor.at++
      return
    }
    isHalf = skipEscape(cursor, isHalf, take)
  } while (cursor.at < cursor.length || fill(cursor))
  throw unexpected(cursor, 'a closing quote')
}

/**
 * Moves past an escape and notes half of a character.
 *
 * @param isHalf the unit before is an escaped high surrogate
 * @returns true when this one is
 */
function skipEscape(cursor: JsonCursor, isHalf: boolean, take?: (byte: number) => void): boolean {
  const move = () => {
    take?.(byteInString(cursor))
    cursor.at++
  }
  move()
  const kind = byteInString(cursor)
  move()
  let digits = ''
  while (kind === LOWER_U && digits.length < 4) {
    const byte = byteInString(cursor)
    if (byte === QUOTE || byte === BACKSLASH) break // the parser refuses such an escape
    digits += String.fromCharCode(byte)
    move()
  }
  const isHigh = /^d[89ab]/i.test(digits)
  const isLow = /^d[c-f]/i.test(digits)
  if (isHalf !== isLow) cursor.hasLoneSurrogate = true
  return isHigh
}

/** Returns the byte at the cursor, in the middle of a string. */
function byteInString(cursor: JsonCursor): number {
  if (cursor.at === cursor.length && !fill(cursor)) throw unexpected(cursor, 'a closing quote')
  return cursor.chunk[cursor.at]!
}

/** Moves past a number, true, false or null. */
function skipScalar(cursor: JsonCursor): void {
  let count = 0
  do {
    const { chunk, length } = cursor
    for (; cursor.at < length; cursor.at++) {
      const byte = chunk[cursor.at]!
      const isEnd = byte <= 0x20 || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT
      if (isEnd || byte === QUOTE || byte === COLON || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        if (count === 0) throw unexpected(cursor, 'a value')
        return
      }
      count++
    }
  } while (fill(cursor))
  if (count === 0) throw unexpected(cursor, 'a value')
}

/** Moves to the next byte that is not white space and returns it; `END` at the end of the file. */
export function peek(cursor: JsonCursor): number {
  do {
    for (; cursor.at < cursor.length; cursor.at++) {
      const byte = cursor.chunk[cursor.at]!
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
    }
  } while (fill(cursor))
  return END
}

/**
 * Reads the next chunk. A character that the end of the chunk cuts is left to the next chunk, so that each
 * chunk is valid UTF-8 by itself.
 *
 * @returns false at the end of the file
 */
function fill(cursor: JsonCursor): boolean {
  cursor.base += cursor.length
  cursor.at = 0
  cursor.length = readSync(cursor.handle, cursor.chunk, 0, cursor.chunk.length, cursor.base)
  if (cursor.length === 0) return false
  // a byte order mark is not part of the text
  if (cursor.base === 0 && cursor.chunk.subarray(0, BOM.length).equals(BOM)) cursor.at = BOM.length
  if (cursor.length === CHUNK_BYTES) cursor.length -= cutBytes(cursor.chunk)
  if (!isUtf8(cursor.chunk.subarray(0, cursor.length)))
    throw new AppError('PARSE_ERROR', {}, { message: 'The body is not valid UTF-8' })
  return true
}

/** Returns the number of bytes of a character that the end of a chunk cuts; 0 when none is cut. */
function cutBytes(chunk: Buffer): number {
  for (let back = 1; back <= 3; back++) {
    const byte = chunk[chunk.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) {
      const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return size > back ? back : 0
    }
  }
  return 0
}

/** Returns the offset of the cursor in the file. */
export function offsetOf({ base, at }: JsonCursor): number {
  return base + at
}

/** Makes the error for a byte that is not JSON here. */
export function unexpected(cursor: JsonCursor, expected: string): AppError {
  const offset = cursor.base + cursor.at
  const found =
    cursor.at < cursor.length ? JSON.stringify(String.fromCharCode(cursor.chunk[cursor.at]!)) : 'the end'
  return new AppError(
    'PARSE_ERROR',
    { byte: offset },
    { message: `The body is not valid JSON: found ${found} at byte ${offset}, expected ${expected}` },
  )
}

function tooDeep(offset: number, maxDepth: number): AppError {
  const message = `Found brackets ${maxDepth + 1} deep at byte ${offset}, expected at most ${maxDepth}`
  return new AppError('INVALID_REQUEST', { maxDepth }, { message })
}
