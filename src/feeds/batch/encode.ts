import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib'
import type { ChangedRow, Column } from '../../storage/tables.js'
import { createGrowingText, giveBack, takeBuffer } from './buffers.js'
import { AT_ONCE_BYTES, BATCH_VERSION, type BatchHeader, MAX_BATCH_BYTES } from './format.js'
import { createRowRuns } from './row-runs.js'
import { senderOf } from './values.js'

const compress = promisify(zstdCompress)

/** Options of the frame. The checksum is off by default: a flipped bit would be decoded without an error. */
const ZSTD = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
}
/** Rows whose values are printed at a time: they die young. */
const PART_ROWS = 250

/** A column of a table, and its place in the values of a row. */
export interface SentSlot {
  readonly column: Column
  readonly slot: number
}

/** Members of a header that do not follow from the rows. */
export type HeaderStart = Omit<BatchHeader, 'rows' | 'columns' | 'days' | 'versions'>

/** Batch that is being made. Rows are needed only while they are added. */
export interface BatchText {
  /** change of each row */
  readonly changes: readonly number[]
  /** Adds rows. Cost: 1,000 rows 2 ms. */
  add(rows: readonly ChangedRow[]): void
  /**
   * Makes the body.
   *
   * @returns undefined when the text has more than `MAX_BATCH_BYTES`
   */
  seal(header: HeaderStart): Promise<Uint8Array | undefined>
  /** Gives the memory back. */
  release(): void
}

/**
 * Begins a batch.
 *
 * @param node UUID that stands for the empty origin
 * @param slots columns in their order in the batch
 */
export function beginBatch(node: string, slots: readonly SentSlot[]): BatchText {
  const lines = slots.map(({ column, slot }) => ({
    ...{ slot, sentOf: senderOf(column), text: createGrowingText() },
  }))
  const columns = slots.map(({ column }) => column.name)
  const changes: number[] = []
  const runs = createRowRuns(node)
  return {
    changes,
    add(rows) {
      if (rows.length === 0) return
      for (const { slot, sentOf, text } of lines) {
        const values = JSON.stringify(rows.map((row) => sentOf(row.values[slot] ?? null)))
        text.add(`${changes.length === 0 ? '[' : ','}${values.slice(1, -1)}`)
      }
      for (const row of rows) {
        runs.add(row)
        changes.push(row.change)
      }
    },
    seal(header) {
      const rows = changes.length
      const { origins, days, versions } = runs
      const parts: Uint8Array[] = [Buffer.from(`${JSON.stringify(origins)}\n`)]
      for (const { text } of lines) parts.push(...(rows === 0 ? [NO_VALUES] : [text.bytes(), END]))
      return seal({ ...header, rows, columns, days, versions }, parts)
    },
    release() {
      for (const { text } of lines) text.release()
    },
  }
}

const END = Buffer.from(']\n')
const NO_VALUES = Buffer.from('[]\n')

/**
 * Makes the body of a batch of rows that are at hand.
 *
 * @returns undefined when the text has more than `MAX_BATCH_BYTES`
 */
export async function encodeBatch(
  header: HeaderStart,
  slots: readonly SentSlot[],
  rows: readonly ChangedRow[],
): Promise<Uint8Array | undefined> {
  const batch = beginBatch(header.node, slots)
  try {
    for (let at = 0; at < rows.length; at += PART_ROWS) {
      batch.add(rows.slice(at, at + PART_ROWS))
      await new Promise((resolve) => setImmediate(resolve)) // the rows of a large batch take milliseconds
    }
    return await batch.seal(header)
  } finally {
    batch.release()
  }
}

/** Puts the header line, with the digest of all, before the other lines, and compresses them. */
async function seal(header: BatchHeader, rest: readonly Uint8Array[]): Promise<Uint8Array | undefined> {
  const line = JSON.stringify({ fieldgate_batch: BATCH_VERSION, ...header })
  const sha256 = createHash('sha256').update(`${line}\n`)
  for (const part of rest) sha256.update(part)
  const head = Buffer.from(`${line.slice(0, -1)},"sha256":"${sha256.digest('hex')}"}\n`)
  const bytes = rest.reduce((sum, part) => sum + part.byteLength, head.byteLength)
  if (bytes > MAX_BATCH_BYTES) return undefined
  const text = takeBuffer(bytes)
  try {
    let at = head.copy(text)
    for (const part of rest) {
      text.set(part, at)
      at += part.byteLength
    }
    return await compressBatch(text.subarray(0, bytes))
  } finally {
    giveBack(text)
  }
}

/** Compresses the text of a batch. */
export async function compressBatch(text: string | Uint8Array): Promise<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  // an option that the types of Node 24 lack: the frame tells the size, and its receiver sets no more memory aside
  const options = { ...ZSTD, pledgedSrcSize: bytes.byteLength }
  return bytes.byteLength <= AT_ONCE_BYTES ? zstdCompressSync(bytes, options) : await compress(bytes, options)
}
