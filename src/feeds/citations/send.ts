import { AppError } from '../../errors.js'
import type { StateColumn } from '../../storage/columns/state-column.js'
import type { CitedState } from '../../storage/datasets/citations.js'
import type { StateRow } from '../../storage/datasets/states.js'
import { createPause } from '../../storage/work/pause.js'
import { compressBatch } from '../batch/encode.js'
import { MAX_BATCH_BYTES } from '../batch/format.js'
import { CITATION_VERSION, type CitationHeader, type CitationOffer, type CitedColumn } from './format.js'
import { toCarried, whyNotCarried } from './values.js'

/** Rows read at a time. */
const PAGE_ROWS = 500
/** Most rows of a body. */
const MAX_ROWS = 5000
/** Bytes of text after which a body is full. */
const FULL_BYTES = 2 * 1024 * 1024
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/**
 * Returns what a node tells of a citation before it sends the rows.
 *
 * @returns undefined while its checksum is not computed
 * @throws AppError TABLE_NOT_SENDABLE for a column that does not travel
 */
export function offerOf(
  { info, columns, keyColumns, rowCount }: CitedState,
  node: string,
): CitationOffer | undefined {
  requireCarried(info.longForm, columns)
  if (info.checksum === null || rowCount === null) return undefined
  return {
    node,
    origin: info.origin ?? node,
    ...{ long_form: info.longForm, short_form: info.shortForm },
    ...{ dataset_name: info.datasetName, dataset_realname: info.datasetRealname },
    ...{ created_at_us: info.createdAtUs, transaction_time_us: info.transactionTimeUs },
    ...{ checksum: info.checksum, row_count: rowCount, columns: columns.map(toCitedColumn) },
    // rows of a table are unique for each origin, which a citation does not tell
    key_columns: info.datasetRealname.startsWith('provenance.') ? keyColumns : [],
  }
}

/** @throws AppError TABLE_NOT_SENDABLE */
export function requireCarried(longForm: string, columns: readonly StateColumn[]): void {
  for (const column of columns) {
    const why = whyNotCarried(column)
    if (why === undefined) continue
    const message = `The citation ${longForm} cannot travel: its column ${column.name} ${why}`
    throw new AppError('TABLE_NOT_SENDABLE', { column: column.name }, { message })
  }
}

function toCitedColumn({ name, typeText, isNullable, udtName, srid }: StateColumn): CitedColumn {
  // a column of a table does not print its system
  const isPlain = udtName === 'geometry' && typeText === 'geometry' && srid !== null
  const data_type = isPlain ? `geometry(Geometry,${srid})` : typeText
  return { name, data_type, type_text: typeText, nullable: isNullable }
}

/**
 * Makes the body with the next rows of a citation.
 *
 * @param after rows that the receiver has
 * @throws AppError CITATION_DAMAGED, UNKNOWN_CITATION; TABLE_NOT_SENDABLE for a row that no body can hold
 */
export async function encodeRows(
  citation: CitedState,
  offer: CitationOffer,
  after: number,
  signal: AbortSignal,
): Promise<{ body: Uint8Array; rows: number }> {
  const env = { timeZoneMin: 0, nowUs: 0n }
  const pause = createPause(signal, SLICE_MS)
  const query = { offset: after, limit: MAX_ROWS }
  const { columns, pages } = await citation.read(query, { env, pause, pageRows: PAGE_ROWS })
  const lines: string[] = []
  let bytes = 0
  for await (const page of pages) {
    for (const row of page) {
      const line = lineOf(columns, row)
      bytes += Buffer.byteLength(line)
      lines.push(line)
    }
    if (bytes > FULL_BYTES) break
  }
  while (lines.length > 1 && bytes > FULL_BYTES) bytes -= Buffer.byteLength(lines.pop() ?? '')
  if (bytes > MAX_BATCH_BYTES / 2) {
    const message = `Row ${after} of the citation ${offer.long_form} has ${bytes} bytes, more than travel at once`
    throw new AppError('TABLE_NOT_SENDABLE', { row: after }, { message })
  }
  const { node, origin, long_form, checksum } = offer
  const header: CitationHeader = { node, origin, long_form, checksum, after, rows: lines.length }
  const head = JSON.stringify({ fieldgate_citation: CITATION_VERSION, ...header })
  return { body: await compressBatch(`${head}\n${lines.join('')}`), rows: lines.length }
}

function lineOf(columns: readonly StateColumn[], [, ...values]: StateRow): string {
  return `${JSON.stringify(columns.map((column, at) => toCarried(column, values[at] ?? null)))}\n`
}
