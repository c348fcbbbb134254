/*
 * A second reading of JSON text that `JSON.parse` has accepted, in which each number may be made by the caller.
 * A reviver that sees the source of each value takes 60 times as long as the parse; this one about as long as
 * a few of them, and it can stop after any value.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const LOWER_F = 0x66
const LOWER_N = 0x6e
const LOWER_T = 0x74

/** Digits of a decimal number that a double always prints again. */
const EXACT_DIGITS = 15
/** Zeros after the point from which on a double is printed with an exponent. */
const EXPONENT_ZEROS = 6

/** Reading of one text. */
export interface ExactScan {
  /** Reads at least `chars` further characters. @returns true at the end of the text */
  run(chars: number): boolean
  /** Returns the value of the text, once `run` has returned true. */
  value(): unknown
}

type Container = unknown[] | Record<string, unknown>

/**
 * Starts to read a text.
 *
 * @param text JSON that `JSON.parse` accepts
 * @param inexact makes the value of a number that a double may print otherwise
 */
export function scanExact(text: string, inexact: (source: string) => unknown): ExactScan {
  const open: Container[] = []
  let top: Container | undefined
  /** key of the member whose value comes next; undefined between two members */
  let key: string | undefined
  let root: unknown
  let at = 0

  const put = (value: unknown) => {
    if (top === undefined) root = value
    else if (Array.isArray(top)) top.push(value)
    else {
      setMember(top, key as string, value)
      key = undefined
    }
  }
  const enter = (container: Container) => {
    put(container)
    open.push(container)
    top = container
    at++
  }
  const leave = () => {
    open.pop()
    top = open.at(-1)
    at++
  }
  const string = () => {
    const start = at
    at = endOfString(text, start)
    const inside = text.slice(start + 1, at - 1)
    const value = inside.includes('\\') ? (JSON.parse(text.slice(start, at)) as string) : inside
    if (top !== undefined && !Array.isArray(top) && key === undefined) key = value
    else put(value)
  }
  const literal = (value: unknown, length: number) => {
    put(value)
    at += length
  }
  const number = () => {
    const start = at
    at = endOfNumber(text, start)
    const source = text.slice(start, at)
    put(isPlain(source) ? Number(source) : inexact(source))
  }
  /** Reads what begins at a character other than one of a number. */
  const other = (code: number) => {
    if (code === QUOTE) string()
    else if (code === OPEN_ARRAY) enter([])
    else if (code === OPEN_OBJECT) enter({})
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) leave()
    else if (code === LOWER_T) literal(true, 4)
    else if (code === LOWER_F) literal(false, 5)
    else if (code === LOWER_N) literal(null, 4)
    else at++ // a comma, a colon or white space
  }
  return {
    run(chars) {
      for (const until = Math.min(at + chars, text.length); at < until; ) {
        const code = text.charCodeAt(at)
        if (code === MINUS || (code >= ZERO && code <= NINE)) number()
        else other(code)
      }
      return at >= text.length
    },
    value: () => root,
  }
}

/** Sets an own property, also one named `__proto__`, as JSON.parse does. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}

/** Returns the offset after the closing quote of a string. */
export function endOfString(text: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = text.indexOf('"', at)
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at + 1
  }
}

function endOfNumber(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    // letters, signs and the point lie between the separators and the brackets
    if (code <= 0x20 || code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || code === COLON)
      return at
  }
  return text.length
}

/**
 * True for few digits, without an exponent, zeros at the end of the fraction, or many zeros before its first
 * digit: two decimals of 15 digits never have the same double.
 */
function isPlain(source: string): boolean {
  const first = source.charCodeAt(0) === MINUS ? 1 : 0
  if (source.length - first > EXACT_DIGITS) return false
  let point = -1
  for (let at = first; at < source.length; at++) {
    const code = source.charCodeAt(at)
    if (code === POINT) point = at
    else if (code < ZERO || code > NINE) return false
  }
  if (point === -1) return first === 0 || source.charCodeAt(1) !== ZERO
  if (source.charCodeAt(source.length - 1) === ZERO) return false
  if (source.charCodeAt(first) !== ZERO) return true
  let zeros = 0
  while (source.charCodeAt(point + 1 + zeros) === ZERO) zeros++
  return zeros < EXPONENT_ZEROS
}
