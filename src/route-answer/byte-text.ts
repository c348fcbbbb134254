/**
 * Buffer of JSON text as bytes of UTF-8. Writing bytes is some times faster than `JSON.stringify` of objects
 * built first.
 *
 * Every writer takes the offset of its first byte and returns the offset behind its last one. None checks for
 * room: call `reserveBytes` first.
 */
export interface ByteText {
  bytes: Uint8Array<ArrayBuffer>
  size: number
}

const FIRST_BYTES = 1 << 16
/** Largest buffer that is kept for the next text. */
const MAX_KEPT_BYTES = 1 << 22

const ZERO = 0x30
const MINUS = 0x2d
const POINT = 0x2e
const QUOTE = 0x22
const BACKSLASH = 0x5c
const HEX = new TextEncoder().encode('0123456789abcdef')

const encoder = new TextEncoder()

/** Creates an empty text. */
export function createByteText(): ByteText {
  return { bytes: new Uint8Array(FIRST_BYTES), size: 0 }
}

/** Encodes a constant part of a text. @param text ASCII */
export function asciiOf(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Makes room for `count` more bytes. */
export function reserveBytes(text: ByteText, count: number): void {
  if (text.size + count <= text.bytes.length) return
  const grown = new Uint8Array(Math.max(text.bytes.length * 2, text.size + count))
  grown.set(text.bytes.subarray(0, text.size))
  text.bytes = grown
}

/** Adds a text of any characters. Some calls with long texts are faster than many with short ones. */
export function addText(text: ByteText, added: string): void {
  // at most three bytes of UTF-8 for each unit of UTF-16
  reserveBytes(text, added.length * 3)
  text.size += encoder.encodeInto(added, text.bytes.subarray(text.size)).written
}

/** Returns a copy of the text, which can move to another thread, and empties the buffer. */
export function takeBytes(text: ByteText): Uint8Array<ArrayBuffer> {
  const taken = text.bytes.slice(0, text.size)
  text.size = 0
  if (text.bytes.length > MAX_KEPT_BYTES) text.bytes = new Uint8Array(FIRST_BYTES)
  return taken
}

/** Writes ASCII. @param ascii some dozen bytes: for these a loop is faster than `set` */
export function writeAscii({ bytes }: ByteText, at: number, ascii: Uint8Array): number {
  const { length } = ascii
  for (let i = 0; i < length; i++) bytes[at + i] = ascii[i]!
  return at + length
}

/** Writes an integer, up to 20 bytes. @param value 0 or more */
export function writeInteger({ bytes }: ByteText, at: number, value: number): number {
  let digits = 1
  for (let limit = 10; limit <= value; limit *= 10) digits++
  let rest = value
  let left = digits
  for (; rest > 0x7fffffff; left--) {
    const tenth = Math.floor(rest / 10)
    bytes[at + left - 1] = ZERO + (rest - tenth * 10)
    rest = tenth
  }
  writeDigits(bytes, at, rest, left)
  return at + digits
}

/**
 * Writes `value / unit` as a decimal fraction without zeros at its end. Up to 15 digits it is the shortest
 * text of the nearest double, the same as `JSON.stringify` writes.
 *
 * @param value integer
 * @param decimals at most 9
 * @param unit 10 to the power of `decimals`
 */
export function writeDecimal(
  text: ByteText,
  at: number,
  value: number,
  decimals: number,
  unit: number,
): number {
  let next = at
  let rest = value
  if (rest < 0) {
    text.bytes[next++] = MINUS
    rest = -rest
  }
  const whole = Math.floor(rest / unit)
  next = writeInteger(text, next, whole)
  const part = rest - whole * unit
  if (part === 0) return next
  text.bytes[next++] = POINT
  return writeTrimmed(text.bytes, next, part, decimals)
}

/**
 * Writes a coordinate in degrees, in 32-bit arithmetic throughout: most of a route's text is coordinates.
 *
 * @param valueE7 1e-7 degree
 */
export function writeE7(bytes: Uint8Array, begin: number, valueE7: number): number {
  let at = begin
  let rest = valueE7 | 0
  if (rest < 0) {
    bytes[at++] = MINUS
    rest = -rest | 0
  }
  const whole = (rest / 1e7) | 0
  let part = (rest - Math.imul(whole, 1e7)) | 0
  if (whole >= 100) bytes[at++] = ZERO + ((whole / 100) | 0)
  if (whole >= 10) bytes[at++] = ZERO + (((whole / 10) | 0) % 10)
  bytes[at++] = ZERO + (whole % 10)
  if (part === 0) return at
  bytes[at++] = POINT
  let end = at + 7
  for (let place = end - 1; place >= at; place--) {
    const tenth = (part / 10) | 0
    bytes[place] = ZERO + (part - Math.imul(tenth, 10))
    part = tenth
  }
  while (bytes[end - 1] === ZERO) end--
  return end
}

/**
 * Writes `value / 1e12`: 12 decimals, in two halves, since they do not fit a 32-bit number.
 *
 * @param value integer below 2^53, 0 or more
 */
export function writeTrillionths(text: ByteText, at: number, value: number): number {
  const millionths = Math.floor(value / 1e6)
  const low = value - millionths * 1e6
  if (low === 0) return writeDecimal(text, at, millionths, 6, 1e6)
  const whole = Math.floor(millionths / 1e6)
  let next = writeInteger(text, at, whole)
  text.bytes[next++] = POINT
  writeDigits(text.bytes, next, millionths - whole * 1e6, 6)
  next += 6
  return writeTrimmed(text.bytes, next, low, 6)
}

/**
 * Writes the digits of a fraction without zeros at its end.
 *
 * @param part below 10 to the power of `digits`, not 0
 */
function writeTrimmed(bytes: Uint8Array, at: number, part: number, digits: number): number {
  let small = part | 0
  let left = digits
  for (let tenth = (small / 10) | 0; tenth * 10 === small; tenth = (small / 10) | 0) {
    small = tenth
    left--
  }
  writeDigits(bytes, at, small, left)
  return at + left
}

/** Writes `digits` digits, padded with zeros in front. */
function writeDigits(bytes: Uint8Array, at: number, value: number, digits: number): void {
  let small = value | 0
  for (let place = at + digits - 1; place >= at; place--) {
    const tenth = (small / 10) | 0
    bytes[place] = ZERO + (small - tenth * 10)
    small = tenth
  }
}

/**
 * Writes a quoted string: up to six bytes for each of its bytes, and two.
 *
 * @param from offset of the string in `utf8`, `end` the offset behind it
 */
export function writeUtf8(text: ByteText, at: number, utf8: Uint8Array, from: number, end: number): number {
  const { bytes } = text
  let next = at
  bytes[next++] = QUOTE
  for (let i = from; i < end; i++) {
    const byte = utf8[i]!
    if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) {
      bytes[next++] = byte
      continue
    }
    bytes[next++] = BACKSLASH
    if (byte >= 0x20) bytes[next++] = byte
    else {
      bytes[next] = 0x75 // u
      bytes[next + 1] = ZERO
      bytes[next + 2] = ZERO
      bytes[next + 3] = HEX[byte >> 4]!
      bytes[next + 4] = HEX[byte & 15]!
      next += 5
    }
  }
  bytes[next++] = QUOTE
  return next
}
