import { isRawNumber } from './exact-json.js'

/** Characters of a string in one piece, before they are escaped. */
const STRING_CHARS = 64 * 1024
/** Members of an array in one piece, unless they are long themselves. */
const RUN_MEMBERS = 2048
/** Members of an array or characters of a string up to which a value is short. */
const SHORT = 64

/**
 * Yields the text of a value as `JSON.stringify` makes it, in pieces: of a value of many megabytes the whole
 * text would be held several times.
 *
 * @param value of JSON: no functions, no symbols
 */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string') yield* stringPieces(value)
  else if (Array.isArray(value)) yield* arrayPieces(value)
  else if (isPlain(value)) yield* objectPieces(value)
  else yield JSON.stringify(value) ?? 'null'
}

/** True for an object whose members are its text: none that says itself what its text is. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return false
  return !('toJSON' in value && typeof value.toJSON === 'function')
}

function* stringPieces(value: string): Generator<string> {
  if (value.length <= STRING_CHARS) return yield JSON.stringify(value)
  yield '"'
  for (let at = 0; at < value.length; ) {
    let end = Math.min(at + STRING_CHARS, value.length)
    if (isHighSurrogate(value.charCodeAt(end - 1))) end++ // alone it would be escaped
    yield JSON.stringify(value.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function* arrayPieces(values: readonly unknown[]): Generator<string> {
  let before = '['
  let run: unknown[] = []
  for (const value of values) {
    if (isShort(value) && run.push(value) < RUN_MEMBERS) continue
    if (run.length > 0) {
      yield before + JSON.stringify(run).slice(1, -1)
      before = ','
      run = []
    }
    if (isShort(value)) continue // the last of the run
    yield before
    yield* jsonPieces(value)
    before = ','
  }
  if (run.length > 0) yield before + JSON.stringify(run).slice(1, -1)
  yield before === '[' && run.length === 0 ? '[]' : ']'
}

/** True for numbers, words and positions. */
function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= SHORT
  if (typeof value !== 'object' || value === null) return true
  return Array.isArray(value) && value.length <= SHORT && value.every((one) => typeof one === 'number')
}

function* objectPieces(object: Record<string, unknown>): Generator<string> {
  let before = '{'
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue
    yield `${before}${JSON.stringify(key)}:`
    yield* jsonPieces(value)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}
