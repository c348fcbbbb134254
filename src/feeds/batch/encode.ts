import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import type { ChangedRow, Column } from '../../storage/tables.js'
import { BATCH_VERSION, type BatchHeader, MAX_BATCH_BYTES } from './format.js'
import { toSent } from './values.js'

const compress = promisify(zstdCompress)

/** Options of the frame. The checksum is off by default: a flipped bit would be decoded without an error. */
const ZSTD = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
}

/** A column of a table, and its place in the values of a row. */
export interface SentSlot {
  readonly column: Column
  readonly slot: number
}

/**
 * Makes the body of a batch.
 *
 * @param header without the days and the versions of the rows
 * @param slots columns in the order of `header.columns`
 * @returns undefined when the text has more than `MAX_BATCH_BYTES`
 */
export async function encodeBatch(
  header: BatchHeader,
  slots: readonly SentSlot[],
  rows: readonly ChangedRow[],
): Promise<Uint8Array | undefined> {
  const lines = [JSON.stringify(runsOf(rows, header.node))]
  for (const { column, slot } of slots) {
    lines.push(JSON.stringify(rows.map(({ values }) => toSent(column, values[slot] ?? null))))
    await new Promise((resolve) => setImmediate(resolve)) // the lines of a large batch take milliseconds each
  }
  const rest = `${lines.join('\n')}\n`
  const text = sealed({ ...header, days: daysOf(rows), versions: versionsOf(rows) }, rest)
  if (Buffer.byteLength(text) > MAX_BATCH_BYTES) return undefined
  return await compressBatch(text)
}

/** Joins the header line, with the digest of all, and the other lines. */
export function sealed(header: BatchHeader, rest: string): string {
  const head = JSON.stringify({ fieldgate_batch: BATCH_VERSION, ...header })
  const sha256 = createHash('sha256').update(`${head}\n`).update(rest).digest('hex')
  return `${head.slice(0, -1)},"sha256":"${sha256}"}\n${rest}`
}

/** Compresses the text of a batch. */
export async function compressBatch(text: string): Promise<Uint8Array> {
  return await compress(text, ZSTD)
}

/** Returns the days of consecutive rows, with their numbers. */
function daysOf(rows: readonly ChangedRow[]): [number, number][] {
  const runs: [number, number][] = []
  for (const { day } of rows) {
    const last = runs.at(-1)
    if (last?.[0] === day) last[1]++
    else runs.push([day, 1])
  }
  return runs
}

/** Returns the versions of consecutive rows: rows in the order of their first put at one origin are one pair. */
function versionsOf(rows: readonly ChangedRow[]): [number, number][] {
  const runs: [number, number][] = []
  let next = 0
  for (const { version } of rows) {
    const last = runs.at(-1)
    if (version === next && last !== undefined) last[1]++
    else runs.push([version - next, 1])
    next = version + 1
  }
  return runs
}

/** Returns the origins of consecutive rows, with their numbers. @param node stands for the empty origin */
function runsOf(rows: readonly ChangedRow[], node: string): [string, number][] {
  const runs: [string, number][] = []
  for (const { origin } of rows) {
    const name = origin === '' ? node : origin
    const last = runs.at(-1)
    if (last?.[0] === name) last[1]++
    else runs.push([name, 1])
  }
  return runs
}
