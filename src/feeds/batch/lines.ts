import { createHash } from 'node:crypto'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { MAX_BATCH_COLUMNS, MAX_BATCH_ROWS } from './format.js'

/*
 * Lines are measured before they are parsed: text of 4 MiB may hold millions of lines or brackets in a body of some
 * hundred bytes; to parse those takes a second and hundreds of megabytes.
 */

/** Limits of a line. */
export interface LineLimits {
  /** arrays and objects within each other */
  readonly depth: number
  readonly commas: number
}

/** Most characters of the header line. */
const MAX_HEADER_CHARS = 1024 * 1024
const HEADER: LineLimits = { depth: 3, commas: 4 * MAX_BATCH_ROWS + MAX_BATCH_COLUMNS + 100 }
const ORIGINS: LineLimits = { depth: 2, commas: 2 * MAX_BATCH_ROWS }
/** Limits of a line of values. */
export const VALUES: LineLimits = { depth: 1, commas: MAX_BATCH_ROWS }

/**
 * Reads the header of the text of a batch, and compares the digest.
 *
 * @param bytes UTF-8
 * @returns JSON of the header line, unchecked, and the place behind it
 * @throws AppError BAD_BATCH
 */
export function openText(bytes: Buffer): { header: Record<string, unknown>; start: number } {
  if (bytes.at(-1) !== LINE_FEED) throw badBatch('found a last line without its end')
  const end = bytes.indexOf(LINE_FEED)
  if (end > MAX_HEADER_CHARS)
    throw badBatch(`found a header line of ${end} characters, expected at most ${MAX_HEADER_CHARS}`)
  const seal = /^(\{.*),"sha256":"([0-9a-f]{64})"\}$/.exec(bytes.toString('utf8', 0, end))
  if (seal === null) throw badBatch('found no header line, expected an object that ends with sha256')
  const [, head = '', sha256] = seal
  const found = createHash('sha256')
    .update(`${head}}\n`)
    .update(bytes.subarray(end + 1))
    .digest('hex')
  if (found !== sha256) throw badBatch(`found the SHA-256 ${found}, expected ${sha256} as the header has it`)
  return { header: readHeaderLine(`${head}}`), start: end + 1 }
}

const LINE_FEED = 0x0a

/**
 * Finds the lines of a text from a place on.
 *
 * @param most lines that are looked for
 * @returns begin and end of each line, without its line feed
 */
export function findLines(bytes: Buffer, start: number, most: number): [from: number, to: number][] {
  const lines: [number, number][] = []
  for (let from = start; from < bytes.byteLength && lines.length < most; ) {
    const to = bytes.indexOf(LINE_FEED, from)
    lines.push([from, to])
    from = to + 1
  }
  return lines
}

/** Reads a header line. @returns its members, unchecked. @throws AppError BAD_BATCH */
export function readHeaderLine(line: string): Record<string, unknown> {
  const json = parseLine(line, 1, HEADER)
  if (typeof json !== 'object' || json === null) throw badBatch('found no object in the header line')
  return json as Record<string, unknown> // the members of an object are unknown
}

/** Reads a line of origins with their numbers, or of values. @throws AppError BAD_BATCH */
export function readLine(line: string, number: number, what: 'origins' | 'values'): readonly unknown[] {
  const json = parseLine(line, number, what === 'origins' ? ORIGINS : VALUES)
  if (!Array.isArray(json)) throw badBatch(`line ${number}: found ${describeFound(json)}, expected an array`)
  return json
}

function parseLine(line: string, number: number, limits: LineLimits): unknown {
  const fault = faultOf(line, limits)
  if (fault !== undefined) throw badBatch(`line ${number}: ${fault}`)
  try {
    return JSON.parse(line)
  } catch {
    throw badBatch(`line ${number}: found no JSON`)
  }
}

/** Measures a line, which may be no JSON. @returns undefined for one that may be parsed */
export function faultOf(line: string, limits: LineLimits): string | undefined {
  let level = 0
  let found = 0
  for (let at = 0; at < line.length; at++) {
    const character = line[at]
    if (character === '"') at = endOfString(line, at)
    else if (character === ',') found++
    else if (character === ']' || character === '}') level--
    else if (character === '[' || character === '{') level++
    if (level > limits.depth) return depthFault(limits)
    if (found > limits.commas) return commaFault(limits)
  }
  return undefined
}

/** Returns the fault of a line of too many arrays and objects within each other. */
export function depthFault({ depth }: LineLimits): string {
  return `found more than ${depth} arrays and objects within each other`
}

/** Returns the fault of a line of too many commas. */
export function commaFault({ commas }: LineLimits): string {
  return `found more than ${commas} commas, expected values of at most ${MAX_BATCH_ROWS} rows`
}

/** Returns the position of the quote that ends a string, or the end of the line. */
function endOfString(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let before = end - 1
    while (line[before] === '\\') before--
    if ((end - before) % 2 === 1) return end
  }
  return line.length
}

/**
 * Makes the error of a batch. A cause is not kept: what a peer sent is no fault of this gateway, and would be
 * logged as one.
 */
export function badBatch(reason: string): AppError {
  return new AppError('BAD_BATCH', { reason }, { message: `The batch cannot be read: ${reason}` })
}
