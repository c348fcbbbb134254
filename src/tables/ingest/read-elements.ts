import { readSync } from 'node:fs'
import { AppError, messageOf } from '../../errors.js'
import { parseSafe } from '../../json/exact-json.js'
import { forEachMember, OPEN_OBJECT, offsetOf, openCursor, peek, skipValue } from './json-cursor.js'

const WINDOW_BYTES = 4 * 1024 * 1024
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
/** [ and ]; { and } differ from them in one bit */
const OPEN = 0x5b
const CLOSE = 0x5d

interface ElementOptions {
  /** called with the offset up to which the file has been read, after each read */
  readonly onRead?: (offset: number) => void
  /** most bytes of an element, which is held as a whole; absent for no limit */
  readonly maxBytes?: number
}

/**
 * Yields the elements of a JSON array in a file. Each is parsed by itself, so that only one is in memory.
 *
 * @param start offset after the opening bracket
 * @param end offset of the closing bracket; `scanBody` has matched the brackets in between
 * @throws AppError PARSE_ERROR with the byte; BAD_RECORD for an element beyond `maxBytes`, which is not read
 */
export function* readElements(
  handle: number,
  start: number,
  end: number,
  options: ElementOptions = {},
): Generator<unknown> {
  for (const { value } of readElementTexts(handle, start, end, options)) yield value
}

/** An element, and its text. */
interface Element {
  readonly value: unknown
  readonly text: string
}

/** Yields elements as `readElements` does, with their texts. */
export function* readElementTexts(
  handle: number,
  start: number,
  end: number,
  { onRead = () => undefined, maxBytes = Number.POSITIVE_INFINITY }: ElementOptions = {},
): Generator<Element> {
  const window: Window = {
    handle,
    bytes: Buffer.allocUnsafe(Math.max(1, Math.min(WINDOW_BYTES, end - start))),
    length: 0,
    at: 0,
    next: start,
    end,
    onRead,
    maxBytes,
  }
  let index = 0
  for (;;) {
    const limit = findElement(window)
    if (limit === -1) {
      if (index > 0) throw notJson(window, index, 'nothing after a comma')
      return
    }
    if (limit - window.at > maxBytes) throw tooLarge(window, index)
    yield parse(window, limit, index)
    index++
    window.at = limit
    if (!skipSpace(window)) return
    if (window.bytes[window.at] !== COMMA) throw notJson(window, index, 'no comma between two elements')
    window.at++
  }
}

/** Part of the file that is in memory; it grows to the size of the largest element. */
interface Window {
  readonly handle: number
  bytes: Buffer
  /** bytes in use */
  length: number
  at: number
  /** offset in the file after the window */
  next: number
  readonly end: number
  readonly onRead: (offset: number) => void
  readonly maxBytes: number
}

/**
 * Moves to the next element and returns its end in the window, reading more as needed; -1 when there is none.
 * The end of one that is too large is that of the window.
 */
function findElement(window: Window): number {
  if (!skipSpace(window)) return -1
  for (;;) {
    const limit = elementEnd(window)
    if (limit !== -1) return limit
    if (window.length - window.at > window.maxBytes || !readOn(window)) return window.length
  }
}

/** Returns the end of the element at the cursor; -1 when it continues after the window. */
function elementEnd({ bytes, at: start, length }: Window): number {
  let depth = 0
  for (let at = start; at < length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      at = stringEnd(bytes, at, length)
      if (at === -1) return -1
      if (depth === 0) return at + 1
    } else if ((byte & 0xdf) === OPEN) depth++
    else if ((byte & 0xdf) === CLOSE) {
      if (--depth <= 0) return at + 1
    } else if (depth === 0 && isScalarEnd(byte)) return at
  }
  return -1
}

function isScalarEnd(byte: number): boolean {
  return byte === COMMA || byte <= 0x20
}

/** Returns the position of the closing quote; -1 when it is after the window. */
function stringEnd(bytes: Buffer, start: number, length: number): number {
  for (let at = start + 1; at < length; at++) {
    const byte = bytes[at]!
    if (byte === BACKSLASH) at++
    else if (byte === QUOTE) return at
  }
  return -1
}

function skipSpace(window: Window): boolean {
  do {
    for (; window.at < window.length; window.at++) {
      if (window.bytes[window.at]! > 0x20) return true
    }
  } while (readOn(window))
  return false
}

/** Reads more of the file after the unread part of the window, which grows when it is full. */
function readOn(window: Window): boolean {
  if (window.next >= window.end) return false
  const rest = window.bytes.subarray(window.at, window.length)
  if (window.at === 0 && window.length === window.bytes.length) {
    // one byte beyond the limit is enough to know that an element is too large
    window.bytes = Buffer.allocUnsafe(
      Math.min(window.bytes.length * 2, Math.max(window.bytes.length, window.maxBytes) + 1),
    )
  }
  window.bytes.set(rest, 0)
  window.at = 0
  window.length = rest.length
  const wanted = Math.min(window.bytes.length - window.length, window.end - window.next)
  const count = readSync(window.handle, window.bytes, window.length, wanted, window.next)
  if (count === 0) throw new Error('a spooled body was truncated while it was read')
  window.length += count
  window.next += count
  window.onRead(window.next)
  return true
}

function parse(window: Window, limit: number, index: number): Element {
  const text = window.bytes.toString('utf8', window.at, limit)
  try {
    return { value: parseSafe(text), text }
  } catch (error) {
    throw notJson(window, index, messageOf(error).slice(0, 200))
  }
}

/** Makes the error for an element that is too large, with its largest property. */
function tooLarge(window: Window, index: number): AppError {
  const { handle, maxBytes } = window
  const found = largestProperty(handle, window.next - window.length + window.at)
  const column = found?.name ?? null
  const size = found === undefined ? `more than ${maxBytes}` : `${found.bytes}`
  const what = found === undefined ? 'in the record' : 'as JSON'
  const reason = `found ${size} bytes ${what}, expected a record of at most ${maxBytes} (twice limits.valueBytes)`
  const message = column === null ? reason : `${column}: ${reason}`
  return new AppError('BAD_RECORD', { index, column, reason }, { message })
}

/** Deepest nesting of a record that is looked through; `scanBody` has refused deeper ones. */
const MAX_DEPTH = 1000

/** Returns the longest property of a Feature in a file, with one chunk of it in memory. */
function largestProperty(handle: number, start: number): { name: string; bytes: number } | undefined {
  const cursor = openCursor(handle, MAX_DEPTH, start)
  let largest: { name: string; bytes: number } | undefined
  if (peek(cursor) !== OPEN_OBJECT) return undefined
  forEachMember(cursor, (key) => {
    if (key !== 'properties' || peek(cursor) !== OPEN_OBJECT) return skipValue(cursor, 1)
    forEachMember(cursor, (name) => {
      peek(cursor)
      const from = offsetOf(cursor)
      skipValue(cursor, 2)
      const bytes = offsetOf(cursor) - from
      if (bytes > (largest?.bytes ?? 0)) largest = { name, bytes }
    })
  })
  return largest
}

function notJson(window: Window, index: number, what: string): AppError {
  const byte = window.next - window.length + window.at
  return new AppError(
    'PARSE_ERROR',
    { byte },
    { message: `The body is not valid JSON: element ${index} of the list, at byte ${byte}: ${what}` },
  )
}
