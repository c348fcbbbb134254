import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { zstdDecompress, zstdDecompressSync } from 'node:zlib'
import type { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { createPause } from '../../storage/work/pause.js'
import { giveBack, takeBuffer } from './buffers.js'
import {
  AT_ONCE_BYTES,
  BATCH_VERSION,
  type BatchHeader,
  LAST_DAY,
  MAX_BATCH_BYTES,
  MAX_BATCH_COLUMNS,
  MAX_BATCH_ROWS,
  SHA256,
  UUID,
} from './format.js'
import { textBytesOf } from './frame-size.js'
import { badBatch, findLines, openText, readLine } from './lines.js'
import { openLine, type SentLine } from './sent-line.js'

const decompress = promisify(zstdDecompress)
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/** A batch whose digest and counts are right. Its values are unchecked. */
export interface DecodedBatch {
  readonly header: BatchHeader
  /** one per row */
  readonly origins: readonly string[]
  /** UTC day of the last write at the origin, one per row; 0 where it is not known */
  readonly days: readonly number[]
  /** grows with each write at the origin, one per row; 0 where it is not known */
  readonly versions: readonly number[]
  /** values of each column; not to be read after `release` */
  readonly columns: readonly SentLine[]
  /** Gives the memory of the text back. To be called once. */
  release(): void
}

/**
 * Reads the body of a batch. Bytes after the frame, a frame without end, larger than allowed, or of another
 * format are refused.
 *
 * @throws AppError BAD_BATCH
 */
export async function decodeBatch(body: Uint8Array): Promise<DecodedBatch> {
  const memory = await textOf(body, (text) => {
    const bytes = takeBuffer(text.byteLength)
    text.copy(bytes)
    return { bytes, text: bytes.subarray(0, text.byteLength) }
  })
  try {
    const decoded = await readText(memory.text)
    return { ...decoded, release: () => giveBack(memory.bytes) }
  } catch (error) {
    giveBack(memory.bytes)
    throw error
  }
}

async function readText(text: Buffer): Promise<Omit<DecodedBatch, 'release'>> {
  const opened = openText(text)
  const header = checkHeader(opened.header)
  const { runs, columns } = await readLines(text, opened.start, header.columns.length)
  for (const [at, column] of columns.entries())
    if (column.length !== header.rows)
      throw badBatch(
        `found ${column.length} values in the column ${header.columns[at]}, expected ${header.rows}`,
      )
  const { rows, days = [[0, rows]], versions } = header
  return {
    ...{ header, origins: readRuns(runs, rows), days: readDays(days, rows), columns },
    versions: versions === undefined ? Array<number>(rows).fill(0) : readVersions(versions, rows),
  }
}

/**
 * Returns the lines of a body that is one zstd frame. Bytes after the frame, a frame without end or larger than
 * allowed, and more lines than a header and 10,000 rows are refused.
 *
 * @throws AppError BAD_BATCH
 */
export async function linesOfBody(body: Uint8Array): Promise<string[]> {
  const text = await textOf(body, (bytes) => bytes.toString())
  if (!text.endsWith('\n')) throw badBatch('found a last line without its end')
  const lines = text.slice(0, -1).split('\n', MAX_BATCH_ROWS + 2)
  if (lines.length > MAX_BATCH_ROWS + 1)
    throw badBatch(`found more than ${MAX_BATCH_ROWS} rows, expected at most ${MAX_BATCH_ROWS}`)
  return lines
}

/** Reads the lines behind the header, with turns of the event loop. */
async function readLines(
  text: Buffer,
  start: number,
  count: number,
): Promise<{ runs: readonly unknown[]; columns: readonly SentLine[] }> {
  const [first, ...lines] = findLines(text, start, count + 2)
  if (first === undefined || lines.length !== count)
    throw badBatch(
      `found ${lines.length > count ? `more than ${count}` : lines.length} lines of columns, expected ${count}`,
    )
  const runs = readLine(text.toString('utf8', ...first), 2, 'origins')
  const pause = createPause(undefined, SLICE_MS)
  const columns: SentLine[] = []
  for (const [at, [from, to]] of lines.entries()) {
    columns.push(openLine(text, from, to, at + 3))
    await pause()
  }
  return { runs, columns }
}

/**
 * Decompresses a body.
 *
 * @param take reads the text at once: the buffer dies young then
 * @throws AppError BAD_BATCH
 */
async function textOf<T>(body: Uint8Array, take: (text: Buffer) => T): Promise<T> {
  const text = await decompressed(body)
  if (text === undefined || !isUtf8(text)) throw notWhole('a body that is no whole zstd frame')
  return take(text)
}

/** Bytes beyond the size that a frame tells: a buffer that is full would be followed by another one. */
const SPARE_BYTES = 64
/** Text of a byte of a frame that does not tell its size, about, and its least. Longer text takes further buffers. */
const TEXT_FACTOR = 8
const LEAST_TEXT_BYTES = 64 * 1024

/** Bytes that are set aside for the text of a frame. */
function chunkBytesOf(body: Uint8Array): number {
  const told = textBytesOf(body)
  if (told < MAX_BATCH_BYTES) return told + SPARE_BYTES
  return Math.min(MAX_BATCH_BYTES, Math.max(LEAST_TEXT_BYTES, body.byteLength * TEXT_FACTOR)) + SPARE_BYTES
}

async function decompressed(body: Uint8Array): Promise<Buffer | undefined> {
  try {
    // options that the types of Node 24 lack: without the first, bytes after the frame are ignored
    const options = {
      ...{ rejectGarbageAfterEnd: true, maxOutputLength: MAX_BATCH_BYTES },
      chunkSize: chunkBytesOf(body),
    }
    return textBytesOf(body) <= AT_ONCE_BYTES
      ? zstdDecompressSync(body, options)
      : await decompress(body, options)
  } catch (error) {
    if (error instanceof RangeError) throw notWhole(`more than ${MAX_BATCH_BYTES} bytes of text`)
    return undefined
  }
}

function notWhole(found: string): AppError {
  return badBatch(
    `found ${found}, expected a batch compressed by zstd, of at most ${MAX_BATCH_BYTES} bytes of text`,
  )
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
  const most = `at most ${MAX_BATCH_COLUMNS} names`
  expect('columns', !Array.isArray(json.columns) || json.columns.length <= MAX_BATCH_COLUMNS, most)
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
