import { isUtf8 } from 'node:buffer'
import { AppError, messageOf } from '../../errors.js'
import { parseSafe } from '../../json/exact-json.js'
import { loneSurrogateAt } from '../../json/lone-surrogates.js'

/** Whole lines of a stream. */
export interface LineBatch {
  bytes: Uint8Array<ArrayBuffer>
  /** end of each line: newline, or the record separator of RFC 8142 */
  separator: '\n' | '\u001e'
}

/** Fault of a line that is not JSON. */
interface LineFault {
  /** number of the line in the batch, blank lines included, from 0 */
  line: number
  reason: string
}

/** Bytes that are decoded at once: many lines, and so few that the text is garbage soon. */
const BLOCK_BYTES = 64 * 1024

/**
 * Yields the records of a batch of lines; blank lines are skipped.
 *
 * @throws AppError BAD_RECORD, `data` = `{ line, column, reason }` with `line` counted in the batch from 0
 */
export function* readLines({ bytes, separator }: LineBatch): Generator<unknown> {
  let line = 0
  for (const text of decodeBlocks(bytes, separator)) {
    for (let start = 0; start < text.length; line++) {
      const found = text.indexOf(separator, start)
      const end = found === -1 ? text.length : found
      const record = text.slice(start, end)
      start = end + 1
      if (record.trim() !== '') yield parse(record, line)
    }
  }
}

/** Returns the line of a record in its batch, from 0. @param index of the record, from 0 */
export function lineOfRecord({ bytes, separator }: LineBatch, index: number): number {
  const lines = new TextDecoder().decode(bytes).split(separator)
  let seen = -1
  for (const [line, text] of lines.entries()) {
    if (text.trim() !== '' && ++seen === index) return line
  }
  return lines.length
}

/**
 * Decodes the batch in blocks of whole lines, which is several times quicker than line by line.
 *
 * @throws AppError BAD_RECORD before the first block, when any line is not UTF-8
 */
function* decodeBlocks(bytes: Uint8Array, separator: string): Generator<string> {
  if (!isUtf8(bytes))
    throw badLine({
      line: badUtf8Line(bytes, separator),
      reason: 'found bytes that are not UTF-8, expected text',
    })
  const code = separator.charCodeAt(0)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for (let start = 0; start < bytes.length; ) {
    const end = endOfBlock(bytes, code, start)
    yield decoder.decode(bytes.subarray(start, end))
    start = end
  }
}

/** Returns the end of the last line that begins within `BLOCK_BYTES`. */
function endOfBlock(bytes: Uint8Array, code: number, start: number): number {
  const found = bytes.indexOf(code, start + BLOCK_BYTES)
  return found === -1 ? bytes.length : found + 1
}

/** Finds the line with bytes that are not UTF-8; called only when there is one. */
function badUtf8Line(bytes: Uint8Array, separator: string): number {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const code = separator.charCodeAt(0)
  let line = 0
  for (let start = 0; start < bytes.length; line++) {
    const found = bytes.indexOf(code, start)
    const end = found === -1 ? bytes.length : found
    try {
      decoder.decode(bytes.subarray(start, end))
    } catch {
      return line
    }
    start = end + 1
  }
  return line
}

function parse(text: string, line: number): unknown {
  let value: unknown
  try {
    value = parseSafe(text)
  } catch (error) {
    throw badLine({
      line,
      reason: `found text that is not JSON (${messageOf(error).slice(0, 200)}), expected a GeoJSON Feature`,
    })
  }
  const path = loneSurrogateAt(text, value, '$')
  if (path === undefined) return value
  const reason = `found a lone surrogate at ${path.slice(0, 200)}, expected well-formed Unicode`
  throw badLine({ line, reason })
}

function badLine({ line, reason }: LineFault): AppError {
  return new AppError('BAD_RECORD', { line, column: null, reason }, { message: reason })
}
