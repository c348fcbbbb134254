import { AppError } from '../errors.js'
import { parseSafe } from '../json/exact-json.js'
import { jsonPieces } from '../json/json-pieces.js'
import type { RowStates } from '../storage/datasets/citations.js'
import { unknownDataset } from '../storage/datasets/datasets.js'
import type { ReadOptions, RowState, StateQuery } from '../storage/datasets/states.js'
import { createPause } from '../storage/work/pause.js'
import type { ReadHandler } from '../worker/read-host.js'
import { type CitationReading, type RecordPages, readCitation, readRows } from './read-citation.js'

/** Request for records of a cited state, as it crosses threads. */
export interface RecordsRead {
  readonly label: string
  readonly query: Omit<StateQuery, 'conds'>
  /** JSON text of the condition, null for none: a number that is kept as text cannot be cloned */
  readonly conds: string | null
}

/** Request for rows of anything that has a name. */
export interface RowsRead extends RecordsRead {
  /** what the caller may read */
  readonly may: RowRights
}

/** Kinds of rows that a caller may read; a citation counts as a dataset. */
export interface RowRights {
  readonly datasets: boolean
  readonly tables: boolean
}

/** Names of the reads of this room. */
export const RECORDS_READ = 'dataset.records'
export const ROWS_READ = 'dataset.rows'
export const COUNT_READ = 'dataset.count'

/** Parts of a reader thread that the reads of this room use. */
export interface DatasetReading extends CitationReading {
  readonly states: RowStates
}

/** Returns the reads of citations, datasets and tables by their labels, for a reader thread. */
export function datasetReads(source: DatasetReading): Record<string, ReadHandler> {
  return {
    async [RECORDS_READ](read: RecordsRead, { signal }) {
      return {
        text: arrayText(await readCitation(source, { label: read.label, query: queryOf(read), signal })),
      }
    },
    async [ROWS_READ](read: RowsRead, { signal }) {
      const state = await requireRows(source, read)
      return { text: arrayText(await readRows(source, state, { query: queryOf(read), signal })) }
    },
    async [COUNT_READ](read: RowsRead, { signal }) {
      const state = await requireRows(source, read)
      const count = await state.count(queryOf(read), countOptions(source, signal))
      return { text: once(String(count)) }
    },
  }
}

/**
 * Finds rows by their label, and refuses those that the caller may not read.
 *
 * @throws AppError UNKNOWN_DATASET, FORBIDDEN
 */
export async function requireRows(
  { states, nowUs }: Pick<DatasetReading, 'states' | 'nowUs'>,
  { label, may }: Pick<RowsRead, 'label' | 'may'>,
): Promise<RowState> {
  const state = await states.find(label, nowUs())
  if (state === undefined) throw unknownDataset(label)
  const isTable = state.kind === 'loader'
  if (isTable ? may.tables : may.datasets) return state
  const scope = isTable ? 'loader:read' : 'dataset:read'
  throw new AppError('FORBIDDEN', { scope }, { message: `The key lacks the scope ${scope}` })
}

export function queryOf({ query, conds }: RecordsRead): StateQuery {
  return conds === null ? query : { ...query, conds: parseSafe(conds) }
}

/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5

function countOptions(source: CitationReading, signal: AbortSignal): ReadOptions {
  const { timeZoneMin, nowUs, pageRows, nextTurn } = source
  return {
    env: { timeZoneMin, nowUs: BigInt(nowUs()) },
    pageRows,
    pause: createPause(signal, SLICE_MS, nextTurn),
    signal,
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}

/** Yields a JSON array, one chunk per page; pieces of a record that comes alone, as a large one does. */
async function* arrayText(pages: RecordPages): AsyncGenerator<string> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 1) {
      yield before
      yield* jsonPieces(page[0])
    } else yield before + page.map((record) => JSON.stringify(record)).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}
