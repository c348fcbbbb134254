import { type CitationStore, unknownCitation } from '../storage/datasets/citations.js'
import type { RowState, StateQuery } from '../storage/datasets/states.js'
import type { Keyring } from '../storage/keyring.js'
import type { LargeReads } from '../storage/work/large-reads.js'
import { createPause, type NextTurn } from '../storage/work/pause.js'
import { printRecords } from './print-records.js'

/** Records as the v2 API prints them, page by page: column name → JSON value. */
export type RecordPages = AsyncGenerator<Record<string, unknown>[]>

/** Parts that reading a citation uses. */
export interface CitationReading {
  readonly citations: Pick<CitationStore, 'find'>
  readonly keyring: Pick<Keyring, 'read'>
  /** reads the bytes of a stored file by its digest, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
  /** µs UTC */
  nowUs(): number
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** most rows of a page */
  readonly pageRows: number
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  nextTurn?: NextTurn
  /** turns of reads that share the memory of a thread; absent where one read runs alone */
  readonly largeReads?: LargeReads
}

/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
/** Rows of a page with file columns: each row may be as large as a call. */
const FILE_PAGE_ROWS = 4

/**
 * Reads a cited state.
 *
 * @throws AppError UNKNOWN_CITATION, BAD_CONDITION, INVALID_PARAMS for an unknown column; CANCELLED from the
 *   pages
 */
export async function readCitation(
  options: CitationReading,
  { label, query, signal }: { label: string; query: StateQuery; signal: AbortSignal | undefined },
): Promise<RecordPages> {
  const citation = await options.citations.find(label)
  if (citation === undefined) throw unknownCitation(label)
  return await readRows(options, citation, { query, signal })
}

/**
 * Reads rows of a state as the v2 API prints them.
 *
 * @throws AppError BAD_CONDITION, INVALID_PARAMS for an unknown column; CANCELLED from the pages
 */
export async function readRows(
  options: CitationReading,
  state: RowState,
  { query, signal }: { query: StateQuery; signal: AbortSignal | undefined },
): Promise<RecordPages> {
  const { timeZoneMin, keyring } = options
  const env = { timeZoneMin, nowUs: BigInt(options.nowUs()) }
  const hasFiles = state.columns.some(({ isFile }) => isFile)
  const pageRows = hasFiles ? FILE_PAGE_ROWS : options.pageRows
  const { columns, pages } = await state.read(query, {
    env,
    pageRows,
    pause: createPause(signal, SLICE_MS, options.nextTurn),
    largeReads: options.largeReads,
    signal,
  })
  const printing = {
    env,
    keyring,
    tableName: state.info.datasetName,
    readFile: (digest: string) => options.readFile(digest),
  }
  async function* printed(): RecordPages {
    for await (const rows of pages) {
      const records = await printRecords(columns, rows, printing)
      yield records
      records.length = 0 // a large one must not be held while the next is read
    }
  }
  return printed()
}
