import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import {
  BATCH_VERSION,
  type BatchHeader,
  LAST_DAY,
  MAX_BATCH_BYTES,
  MAX_BATCH_ROWS,
  SHA256,
  UUID,
} from './format.js'

const decompress = promisify(zstdDecompress)

/** A batch whose digest and counts are right. Its values are unchecked. */
export interface DecodedBatch {
  readonly header: BatchHeader
  /** one per row */
  readonly origins: readonly string[]
  /** UTC day of the last write at the origin, one per row; 0 where it is not known */
  readonly days: readonly number[]
  /** grows with each write at the origin, one per row; 0 where it is not known */
  readonly versions: readonly number[]
  /** values of each column, one per row */
  readonly columns: readonly (readonly unknown[])[]
}

/**
 * Reads the body of a batch. Bytes after the frame, a frame without end, larger than allowed, or of another
 * format are refused.
 *
 * @throws AppError BAD_BATCH
 */
export async function decodeBatch(body: Uint8Array): Promise<DecodedBatch> {
  const lines = await linesOfBody(body)
  const [head = '', ...rest] = lines
  const header = readHeader(head, rest)
  const [runs, ...columns] = rest.map((line, at) => readLine(line, at + 2))
  if (columns.length !== header.columns.length)
    throw badBatch(`found ${columns.length} lines of columns, expected ${header.columns.length}`)
  for (const [at, column] of columns.entries())
    if (column.length !== header.rows)
      throw badBatch(
        `found ${column.length} values in the column ${header.columns[at]}, expected ${header.rows}`,
      )
  const { rows, days = [[0, rows]], versions } = header
  return {
    ...{ header, origins: readRuns(runs ?? [], rows), days: readDays(days, rows), columns },
    versions: versions === undefined ? Array<number>(rows).fill(0) : readVersions(versions, rows),
  }
}

/**
 * Returns the lines of a body that is one zstd frame. Bytes after the frame, a frame without end or larger than
 * allowed are refused.
 *
 * @throws AppError BAD_BATCH
 */
export async function linesOfBody(body: Uint8Array): Promise<string[]> {
  const text = await textOf(body)
  if (!text.endsWith('\n')) throw badBatch('found a last line without its end')
  return text.slice(0, -1).split('\n')
}

async function textOf(body: Uint8Array): Promise<string> {
  try {
    // options that the types of Node 24 lack: without the first, bytes after the frame are ignored
    const options = { rejectGarbageAfterEnd: true, maxOutputLength: MAX_BATCH_BYTES }
    const bytes = await decompress(body, options)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    const isBomb = error instanceof RangeError
    const found = isBomb ? `more than ${MAX_BATCH_BYTES} bytes of text` : 'a body that is no whole zstd frame'
    throw badBatch(
      `found ${found}, expected a batch compressed by zstd, of at most ${MAX_BATCH_BYTES} bytes of text`,
    )
  }
}

/** Reads the header and compares the digest of the text. */
function readHeader(line: string, rest: readonly string[]): BatchHeader {
  const seal = /^(\{.*),"sha256":"([0-9a-f]{64})"\}$/.exec(line)
  if (seal === null) throw badBatch('found no header line, expected an object that ends with sha256')
  const [, head = '', sha256] = seal
  const hash = createHash('sha256').update(`${head}}\n`)
  for (const text of rest) hash.update(`${text}\n`)
  const found = hash.digest('hex')
  if (found !== sha256) throw badBatch(`found the SHA-256 ${found}, expected ${sha256} as the header has it`)
  const json = parse(`${head}}`, 1)
  if (typeof json !== 'object' || json === null) throw badBatch('found no object in the header line')
  return checkHeader(json as Record<string, unknown>)
}

function checkHeader(json: Record<string, unknown>): BatchHeader {
  const expect = (name: string, isFine: boolean, expected: string) => {
    if (!isFine) throw badBatch(`${name}: found ${describeFound(json[name])}, expected ${expected}`)
  }
  expect('fieldgate_batch', json.fieldgate_batch === BATCH_VERSION, `${BATCH_VERSION}`)
  for (const name of ['node', 'feed', 'table']) expect(name, isText(json[name], UUID), 'a UUID')
  expect('digest', isText(json.digest, SHA256), 'a SHA-256 in hex')
  for (const name of ['epoch', 'after', 'last', 'rows'])
    expect(name, isCount(json[name]), 'a whole number, 0 or more')
  // the checks above have narrowed the members
  const header = json as unknown as BatchHeader
  expect('last', header.last >= header.after, `${header.after} or more`)
  expect('rows', header.rows <= MAX_BATCH_ROWS, `at most ${MAX_BATCH_ROWS}`)
  const isList = Array.isArray(json.columns) && json.columns.every((name) => typeof name === 'string')
  expect('columns', isList, 'an array of names')
  expect('columns', new Set(header.columns).size === header.columns.length, 'each name once')
  expect('days', json.days === undefined || Array.isArray(json.days), 'an array of days with their numbers')
  expect('versions', json.versions === undefined || Array.isArray(json.versions), 'an array of steps')
  const { node, feed, table, epoch, digest, after, last, rows, columns, days, versions } = header
  return {
    node,
    feed,
    table,
    epoch,
    digest,
    after,
    last,
    rows,
    columns,
    ...(days === undefined ? {} : { days }),
    ...(versions === undefined ? {} : { versions }),
  }
}

function isText(value: unknown, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function readLine(line: string, number: number): readonly unknown[] {
  const json = parse(line, number)
  if (!Array.isArray(json)) throw badBatch(`line ${number}: found ${describeFound(json)}, expected an array`)
  return json
}

function parse(text: string, number: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badBatch(`line ${number}: found no JSON`)
  }
}

/** Returns the origin of each row. */
function readRuns(runs: readonly unknown[], rows: number): string[] {
  const origins: string[] = []
  for (const run of runs) {
    const [origin, count] = Array.isArray(run) ? run : []
    if (!isText(origin, UUID) || !isCount(count) || origins.length + Number(count) > rows)
      throw badBatch(
        `line 2: found ${describeFound(run)}, expected origins of ${rows} rows with their numbers`,
      )
    for (let at = 0; at < Number(count); at++) origins.push(String(origin))
  }
  if (origins.length !== rows)
    throw badBatch(`line 2: found the origins of ${origins.length} rows, expected ${rows}`)
  return origins
}

/** Returns the day of each row. @param runs unchecked */
function readDays(runs: readonly unknown[], rows: number): number[] {
  const days: number[] = []
  for (const run of runs) {
    const [day, count] = Array.isArray(run) ? run : []
    if (!isCount(day) || Number(day) > LAST_DAY || !isCount(count) || days.length + Number(count) > rows)
      throw badBatch(`days: found ${describeFound(run)}, expected days of ${rows} rows with their numbers`)
    for (let at = 0; at < Number(count); at++) days.push(Number(day))
  }
  if (days.length !== rows) throw badBatch(`days: found those of ${days.length} rows, expected ${rows}`)
  return days
}

/** Returns the version of each row. */
function readVersions(runs: readonly unknown[], rows: number): number[] {
  const versions: number[] = []
  let next = 0
  for (const run of runs) {
    const [step, count] = Array.isArray(run) ? run : []
    next += Number.isSafeInteger(step) ? Number(step) : Number.NaN
    if (!isCount(next) || !isCount(count) || versions.length + Number(count) > rows)
      throw badBatch(`versions: found ${describeFound(run)}, expected steps to versions of ${rows} rows`)
    for (let at = 0; at < Number(count); at++) versions.push(next++)
  }
  if (versions.length !== rows)
    throw badBatch(`versions: found those of ${versions.length} rows, expected ${rows}`)
  return versions
}

/**
 * Returns the error for a body that is no batch. A cause is not kept: what a peer sent is no fault of this
 * gateway, and would be logged as one.
 */
export function badBatch(reason: string): AppError {
  return new AppError('BAD_BATCH', { reason }, { message: `The batch cannot be read: ${reason}` })
}
