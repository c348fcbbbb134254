import type { Stored } from '../columns/column-type.js'

/*
 * Canonical text of a row, written byte by byte into memory that is used again: it takes half the time of a string that is
 * joined of parts, which must be made flat before it is hashed.
 */

/**
 * Bytes of the texts that are written here; longer rows are few, and their digest takes the time of their
 * bytes.
 */
const MEMORY_BYTES = 16 * 1024
/** Length from which on views are not kept. */
const MAX_KEPT_VIEW_BYTES = 512
/** Most bytes of a character of a string in JSON text: `\u0000`. */
const UNIT_BYTES = 6
/** More than any number takes. */
const NUMBER_BYTES = 32

const memory = Buffer.allocUnsafeSlow(MEMORY_BYTES)
/** by length */
const views: Uint8Array[] = []
const bigint = new BigInt64Array(1)
/** The halves of `bigint`; the lower one comes first on all targets of this program. */
const halves = new Int32Array(bigint.buffer)
const hexDigits = Buffer.from('0123456789abcdef')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const ZERO = 0x30
const FIRST_PRINTABLE = 0x20
const LAST_ASCII = 0x7e

/**
 * Writes the text of a row, as `row-digest.ts` has it.
 *
 * @param slots places of the values in the text, in its order
 * @returns the text, valid until the next call; undefined for a row that may be longer than the memory
 */
export function writeRowText(slots: readonly number[], values: readonly Stored[]): Uint8Array | undefined {
  let at = 0
  for (let place = 0; place < slots.length; place++) {
    const value = values[slots[place] as number] as Stored
    if (at + mostBytes(value) > MEMORY_BYTES - 2) return undefined
    memory[at] = place === 0 ? 0x5b : 0x2c // [ or ,
    at = writeValue(value, at + 1)
  }
  memory[at] = 0x5d // ]
  return viewOf(at + 1)
}

/**
 * Returns the first bytes of the memory. Views of the lengths that most rows have are kept: one for each row
 * costs more than its text.
 */
function viewOf(length: number): Uint8Array {
  if (length >= MAX_KEPT_VIEW_BYTES) return memory.subarray(0, length)
  views[length] ??= memory.subarray(0, length)
  return views[length]
}

function mostBytes(value: Stored): number {
  if (typeof value === 'string') return value.length * UNIT_BYTES + 2
  return value instanceof Uint8Array ? value.byteLength * 2 + 2 : NUMBER_BYTES
}

/** Writes a value. @returns the place behind it, as all that follow */
function writeValue(value: Stored, at: number): number {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? writeInteger(value, at) : print(value, at)
  if (typeof value === 'string') return writeString(value, at)
  if (value === null) return writeAscii('null', at)
  if (typeof value !== 'bigint') return writeBytes(value, at)
  bigint[0] = value
  const near = (halves[1] as number) * 2 ** 32 + ((halves[0] as number) >>> 0) // exact where it is a safe integer
  return Number.isSafeInteger(near) ? writeInteger(near, at) : print(value, at)
}

function print(value: number | bigint, at: number): number {
  return writeAscii(String(value), at)
}

function writeAscii(text: string, at: number): number {
  for (let place = 0; place < text.length; place++) memory[at + place] = text.charCodeAt(place)
  return at + text.length
}

/** Writes a string as JSON does: one of printable ASCII needs no escapes. */
function writeString(text: string, at: number): number {
  memory[at] = QUOTE
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place)
    const isPlain = unit >= FIRST_PRINTABLE && unit <= LAST_ASCII && unit !== QUOTE && unit !== BACKSLASH
    if (!isPlain) return at + memory.write(JSON.stringify(text), at)
    memory[at + 1 + place] = unit
  }
  memory[at + 1 + text.length] = QUOTE
  return at + text.length + 2
}

function writeBytes(bytes: Uint8Array, at: number): number {
  let to = at
  memory[to++] = QUOTE
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] as number
    memory[to++] = hexDigits[byte >> 4] as number
    memory[to++] = hexDigits[byte & 15] as number
  }
  memory[to++] = QUOTE
  return to
}

/** Most digits of a part that 32 bits hold. */
const PART_DIGITS = 8
const PART = 10 ** PART_DIGITS

/** Writes a safe integer in parts of eight digits: arithmetic of 32 bits is fast. */
function writeInteger(value: number, at: number): number {
  if (value < 0) {
    memory[at] = MINUS
    return writeInteger(-value, at + 1)
  }
  if (value < PART) return writeDigits(value, at, digitsOf(value))
  const upper = Math.floor(value / PART)
  return writeDigits(value - upper * PART, writeInteger(upper, at), PART_DIGITS)
}

function digitsOf(value: number): number {
  let digits = 1
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) digits++
  return digits
}

function writeDigits(value: number, at: number, digits: number): number {
  let rest = value | 0
  for (let to = at + digits - 1; to >= at; to--) {
    const tens = (rest / 10) | 0
    memory[to] = ZERO + rest - tens * 10
    rest = tens
  }
  return at + digits
}
