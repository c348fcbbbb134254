import { isUtf8 } from 'node:buffer'
import { AppError, isAppError, messageOf } from '../errors.js'
import { parseExact, parseExactInSlices, parseSafe } from '../json/exact-json.js'
import { loneSurrogate, loneSurrogateAt } from '../json/lone-surrogates.js'
import { shorten } from './shorten.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Reads a JSON body.
 *
 * Of duplicate keys the last one counts, as in JSON.parse. `__proto__` becomes an own property. An integer
 * beyond 2^53 and a number beyond double become a `RawNumber`: the schemas refuse it, with its digits.
 *
 * @param maxDepth deepest nesting of arrays and objects
 * @throws AppError PARSE_ERROR (not UTF-8, not JSON) or INVALID_REQUEST (too deep, lone surrogates, too
 *   many numbers beyond a double)
 */
export function readJson(bytes: Uint8Array, maxDepth: number): unknown {
  return readWith(parseSafe, bytes, maxDepth)
}

/** Reads a JSON body as `readJson` does, with every number as text that a double prints otherwise. */
export function readExactJson(bytes: Uint8Array, maxDepth: number): unknown {
  return readWith(parseExact, bytes, maxDepth)
}

/** Bodies from this size on are read one at a time, with turns of the event loop in between. */
const LARGE_BYTES = 256 * 1024

/** The large body that is read last. */
let lastLarge: Promise<unknown> = Promise.resolve()

/**
 * Reads a JSON body as `readJson` does. Large ones are read one at a time, in the order in which they came, and
 * the event loop turns between their parts and between two of them.
 */
export async function readJsonInTurn(bytes: Uint8Array, maxDepth: number): Promise<unknown> {
  if (bytes.byteLength < LARGE_BYTES) return readJson(bytes, maxDepth)
  const mine = lastLarge.then(async () => {
    await turn()
    requireDepth(bytes, maxDepth)
    await turn()
    const text = decodeUtf8(bytes)
    const value = parseText(parseSafe, text)
    await turn()
    return wellFormed(text, value)
  })
  lastLarge = mine.catch(() => undefined) // a body that is no JSON concerns its own caller
  return await mine
}

/** Reads a body that `readJson` has accepted as `readExactJson` does, in slices. */
export async function readExactAgain(bytes: Uint8Array): Promise<unknown> {
  return await parseExactInSlices(decodeUtf8(bytes))
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function readWith(parse: (text: string) => unknown, bytes: Uint8Array, maxDepth: number): unknown {
  requireDepth(bytes, maxDepth)
  const text = decodeUtf8(bytes)
  return wellFormed(text, parseText(parse, text))
}

/** @throws AppError INVALID_REQUEST */
function requireDepth(bytes: Uint8Array, maxDepth: number): void {
  const deepAt = tooDeepAt(bytes, maxDepth)
  if (deepAt === -1) return
  const message = `Found brackets ${maxDepth + 1} deep at byte ${deepAt}, expected at most ${maxDepth}`
  throw new AppError('INVALID_REQUEST', { maxDepth }, { message })
}

/** @throws AppError PARSE_ERROR, and those of `parse` */
function parseText(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (isAppError(error)) throw error
    const message = `The body is not valid JSON: ${shorten(messageOf(error), 200)}`
    throw new AppError('PARSE_ERROR', {}, { message })
  }
}

/** Returns the value of a text. @throws AppError INVALID_REQUEST for a lone surrogate */
function wellFormed(text: string, value: unknown): unknown {
  const path = loneSurrogateAt(text, value, '$')
  if (path !== undefined) throw loneSurrogate(path)
  return value
}

/** Decodes UTF-8, without a byte order mark. @throws AppError PARSE_ERROR */
function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new AppError('PARSE_ERROR', {}, { message: 'The body is not valid UTF-8' })
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.byteLength - start).toString('utf8')
}

/**
 * Returns the byte offset of the first bracket deeper than `maxDepth`, -1 for none. Brackets in strings do
 * not count.
 */
function tooDeepAt(bytes: Uint8Array, maxDepth: number): number {
  let depth = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth) return at
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return -1
}
