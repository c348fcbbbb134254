import { AppError } from '../errors.js'
import { endOfString, scanExact } from './exact-scan.js'

/**
 * JSON whose numbers are kept as supplied. A double rounds 9007199254740993, has no 1e400, and forgets the
 * zero of 1.0. Here such a number is an object that holds its text, and that `JSON.stringify` prints as it
 * was (`JSON.rawJSON`, ECMAScript proposal "JSON.parse source text access").
 */
export interface RawNumber {
  /** text of the number */
  readonly rawJSON: string
}

// TypeScript's library does not have these two functions of V8 yet
const json = JSON as JSON & {
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): value is RawNumber
}

/** True for a number that is kept as text. A caller's object `{"rawJSON": …}` is none. */
export const isRawNumber: (value: unknown) => value is RawNumber = json.isRawJSON

/**
 * Returns a value with doubles for the numbers whose text does not matter; those that a double would falsify
 * stay, and the schemas refuse them. The value itself is not changed.
 *
 * @param keep member of the top object that is returned as it is, unless it is a number: a schema of any object
 *   would take one that is kept as text for an object
 */
export function withDoubles(value: unknown, keep?: string): unknown {
  if (isRawNumber(value)) return isFalsified(value.rawJSON) ? value : Number(value.rawJSON)
  if (Array.isArray(value)) return value.map((item) => withDoubles(item))
  if (typeof value !== 'object' || value === null) return value
  // entries become own properties, also one named __proto__
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key !== keep ? withDoubles(member) : isRawNumber(member) ? Number(member.rawJSON) : member,
    ]),
  )
}

/** May a text have numbers that a double prints otherwise? Strings may match, too. */
const MAYBE_INEXACT = /\d[eE]|-0(?![.\d])|\.\d*0(?!\d)|0\.000000|[\d.]{16}/

/**
 * Parses JSON and keeps each number as text that a double would print otherwise. Costs a few times as much as
 * `JSON.parse`.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!MAYBE_INEXACT.test(text)) return value
  const scan = scanExact(text, inexactNumbers())
  scan.run(text.length)
  return scan.value()
}

/** Characters that are read in one slice: at most a few milliseconds. */
const SLICE_CHARS = 16 * 1024

/**
 * Parses as `parseExact` does, with a turn of the event loop between slices.
 *
 * @param text JSON that `JSON.parse` has accepted
 */
export async function parseExactInSlices(text: string): Promise<unknown> {
  if (!MAYBE_INEXACT.test(text)) return JSON.parse(text)
  const scan = scanExact(text, inexactNumbers())
  while (!scan.run(SLICE_CHARS)) await new Promise((resolve) => setImmediate(resolve))
  return scan.value()
}

/** Most distinct numbers of one text whose occurrences share a value. */
const MAX_SHARED = 10_000

/** Makes the values of numbers that a double may print otherwise. Equal ones share a value, which is frozen. */
function inexactNumbers(): (source: string) => unknown {
  const shared = new Map<string, RawNumber>()
  return (source) => {
    const known = shared.get(source)
    if (known !== undefined) return known
    if (!isInexact(source)) return Number(source)
    const made = json.rawJSON(source)
    if (shared.size < MAX_SHARED) shared.set(source, made)
    return made
  }
}

/** May a text have an integer of 16 digits or more, or an exponent of three? */
const MAYBE_LARGE = /(?:^|[[:,\s])-?\d{16}|\d[eE]\+?\d{3}/
/** From the first character of a number on: its fraction and exponent are no numbers of their own. */
const LARGE = /(?<![\d.eE+-])(?:-?\d{16,}(?![\d.eE])|-?\d+(?:\.\d+)?[eE]\+?\d{3,})/g

/**
 * Parses JSON and keeps each number as text that a double would falsify: integers beyond 2^53, and numbers
 * beyond its range. For bodies of calls; costs one search of the text when it has none of them.
 *
 * @throws SyntaxError as `JSON.parse` does; AppError INVALID_REQUEST for more than 50,000 of them
 */
export function parseSafe(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return MAYBE_LARGE.test(text) ? withRawNumbers(text, value) : value
}

function isInexact(source: string): boolean {
  return String(Number(source)) !== source
}

function isFalsified(source: string): boolean {
  const double = Number(source)
  return !Number.isFinite(double) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(double))
}

/** Most numbers that are kept of one text: each takes about 1 µs, in one block. */
const MOST_FALSIFIED = 50_000

function tooMany(): AppError {
  const most = MOST_FALSIFIED
  const message = `Found more than ${most} integers beyond 2^53 or numbers beyond a double, expected them in strings`
  return new AppError('INVALID_REQUEST', { maxNumbers: most }, { message })
}

/** First character of a string that stands for a number. UTF-8 has no lone surrogates, so no body has it. */
const MARK = '\uDC00'

/**
 * Puts strings in the place of numbers, parses, and puts the numbers back: a reviver that sees the source of
 * each value takes 60 times as long as the parse.
 *
 * @param value result of `JSON.parse`
 */
function withRawNumbers(text: string, value: unknown): unknown {
  const numbers: RawNumber[] = []
  const mark = (source: string): string => {
    if (!isFalsified(source)) return source
    if (numbers.length === MOST_FALSIFIED) throw tooMany()
    numbers.push(json.rawJSON(source))
    return `"${MARK}${numbers.length - 1}"`
  }
  let marked = ''
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const end = quote === -1 ? text.length : quote
    marked += text.slice(at, end).replace(LARGE, mark)
    if (quote === -1) break
    at = endOfString(text, quote)
    marked += text.slice(quote, at)
  }
  return numbers.length === 0 ? value : unmarked(JSON.parse(marked), numbers)
}

function unmarked(value: unknown, numbers: readonly RawNumber[]): unknown {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? (numbers[Number(value.slice(1))] ?? value) : value
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = unmarked(value[at], numbers)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      const fresh = unmarked(member, numbers)
      if (fresh !== member) Object.defineProperty(value, key, { value: fresh })
    }
  }
  return value
}
