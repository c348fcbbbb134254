import { AppError } from '../../../errors.js'
import type { ValueEnv } from '../../columns/column-type.js'
import type { Db } from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import { createBookmarks } from './bookmarks.js'
import { type FoundCitation, findCitation, isCitation } from './catalog.js'
import type { StateQuery } from './plan.js'
import { type PrintOptions, printRecords } from './print.js'
import { seekRowIndex } from './row-index.js'
import { readState, type Start, type StateResult } from './state.js'

/** Records as v2 answers have them: column name → JSON value. */
export type RecordPages = AsyncGenerator<Record<string, unknown>[]>

export interface CitationReader {
  /**
   * Pages of the cited state, read while they are asked for.
   *
   * @throws AppError UNKNOWN_CITATION, BAD_CONDITION, INVALID_PARAMS for an unknown column
   */
  records(label: string, query: StateQuery, signal?: AbortSignal): RecordPages
}

export interface CitationReaderOptions extends Omit<PrintOptions, 'env'> {
  /** µs UTC */
  nowUs(): number
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** rows of a page */
  readonly pageRows: number
}

/** The longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
/** Rows of a page that carries files: each may be as large as a call. */
const FILE_PAGE_ROWS = 4

/** @param db a connection that sees committed rows only */
export function createCitationReader(db: Db, options: CitationReaderOptions): CitationReader {
  const bookmarks = createBookmarks()
  const seek = (citation: FoundCitation, { conds }: StateQuery, offset: number, isWhole: boolean) => {
    const afterId = bookmarks.find(citation.info.citationId, conds, offset)
    if (afterId !== undefined) return { afterId, skip: 0 } satisfies Start
    return isWhole && citation.rowIndex !== null ? seekRowIndex(citation.rowIndex, offset) : undefined
  }
  return {
    records(label, query, signal) {
      const citation = requireCitation(db, label)
      const { state, info } = citation
      const env: ValueEnv = { timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) }
      const hasFiles = state.columns.some(({ isFile }) => isFile)
      const result = readState(
        {
          db,
          env,
          pageRows: hasFiles ? FILE_PAGE_ROWS : options.pageRows,
          pause: createPause(signal, SLICE_MS),
          check: () => {
            if (!isCitation(db, info.citationId)) throw unknownCitation(label)
          },
          seek: (offset, isWhole) => seek(citation, query, offset, isWhole),
        },
        state,
        query,
      )
      const keep = (offset: number, rowId: number) =>
        bookmarks.keep(info.citationId, query.conds, offset, rowId)
      return printPages(citation, result, query, keep, { ...options, env })
    },
  }
}

async function* printPages(
  { state }: FoundCitation,
  { columns, pages }: StateResult,
  query: StateQuery,
  keepBookmark: (offset: number, rowId: number) => void,
  options: PrintOptions,
): RecordPages {
  let offset = query.offset ?? 0
  let last: bigint | undefined
  for await (const rows of pages) {
    offset += rows.length
    last = rows.at(-1)?.[0] ?? last
    yield await printRecords(state.table, columns, rows, options)
  }
  const isNextLikely = query.limit !== undefined && query.order === undefined
  if (isNextLikely && last !== undefined) keepBookmark(offset, Number(last))
}

/** @throws AppError UNKNOWN_CITATION */
export function requireCitation(db: Db, label: string): FoundCitation {
  const citation = findCitation(db, label)
  if (citation === undefined) throw unknownCitation(label)
  return citation
}

export function unknownCitation(label: string): AppError {
  const shown = label.slice(0, 100)
  const message = `No citation is called ${JSON.stringify(shown)}`
  return new AppError('UNKNOWN_CITATION', { citation_label: shown }, { message })
}
