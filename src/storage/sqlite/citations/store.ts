import { type CitationStore, type CitedState, unknownCitation } from '../../datasets/citations.js'
import type { StateQuery, StateResult, StateRow } from '../../datasets/states.js'
import { createChecksumPass } from '../../formats/checksum.js'
import { seekRowIndex } from '../../formats/row-index.js'
import type { DataDb } from '../connection/data-db.js'
import { type Db, retryBusy, transaction } from '../connection/database.js'
import { freeing } from '../connection/reserve.js'
import type { StateReading } from '../versions/read-state.js'
import { toRowState } from '../versions/row-state.js'
import { type Bookmarks, createBookmarks } from './bookmarks.js'
import {
  allCitations,
  createCitation,
  type FoundCitation,
  findCitation,
  findCitationById,
  isCitation,
  pendingCitations,
  recordSums,
  removeCitations,
} from './catalog.js'
import { checkedPages } from './checked-pages.js'
import { createDigestCache, type DigestCache } from './digest-cache.js'
import { listCitations } from './list.js'

/** Opens the citations of data.db. */
export function createCitationStore({ reader, writer, lock }: DataDb): CitationStore {
  const write = <T>(work: () => T): Promise<T> => lock.run(() => retryBusy(() => transaction(writer, work)))
  return {
    ...createCitationReader(reader),
    create: (label, source, nowUs, requireReading) =>
      lock.run(() =>
        retryBusy(() =>
          withoutCheckpoint(writer, () =>
            transaction(writer, () =>
              createCitation(writer, label, source, { nowUs: nowUs(), requireReading }),
            ),
          ),
        ),
      ),
    remove: (label) =>
      lock.run(() =>
        freeing(writer, () => retryBusy(() => transaction(writer, () => removeCitations(writer, label)))),
      ),
    list: async (query) => listCitations(reader, query),
    recordSums: (citationId, sums) => write(() => recordSums(writer, citationId, sums)),
  }
}

/** Part of the store that only reads. */
type CitationReader = Pick<CitationStore, 'find' | 'findById' | 'all' | 'pending' | 'openChecksum'>

/**
 * Opens the citations of a database that is only read.
 *
 * @param db a connection that sees committed rows only
 * @param bookmarks shared by the readers of a thread, as `pageDigests` are
 */
export function createCitationReader(
  db: Db,
  bookmarks: Bookmarks = createBookmarks(),
  pageDigests: DigestCache = createDigestCache(),
): CitationReader {
  const toState = (citation: FoundCitation, label = citation.info.longForm) =>
    toCitedState(db, citation, { label, bookmarks, pageDigests })
  return {
    async find(label) {
      const citation = findCitation(db, label)
      return citation === undefined ? undefined : toState(citation, label)
    },
    async findById(citationId) {
      const citation = findCitationById(db, citationId)
      return citation === undefined ? undefined : toState(citation)
    },
    all: async () => allCitations(db).map((citation) => toState(citation)),
    pending: async () => pendingCitations(db),
    async openChecksum(citationId) {
      const citation = findCitationById(db, citationId)
      if (citation === undefined) return undefined
      // read without checks: who computes a checksum looks for the citation between two steps
      return await createChecksumPass(
        toRowState(db, citation.state, { kind: 'citation', info: citation.info }),
      )
    },
  }
}

/** Returns a citation in the form of the port. @param label name to give in errors */
export function toCitedState(
  db: Db,
  citation: FoundCitation,
  { label, bookmarks, pageDigests }: { label: string; bookmarks: Bookmarks; pageDigests: DigestCache },
): CitedState {
  const { info, state, rowCount } = citation
  const row = toRowState(db, state, { kind: 'citation', info }, (query) => ({
    check: () => requireStill(db, info.citationId, label),
    seek: (offset, isWhole) => seek(citation, query, { offset, isWhole, bookmarks }),
  }))
  return {
    ...row,
    rowCount,
    lastRowId: state.lastRowId,
    async read(query, options) {
      const result = await row.read(query, options)
      const digests = options.isUnchecked === true ? undefined : pageDigests.find(db, info.citationId)
      const reading = { ...options, db }
      const pages =
        digests === undefined
          ? result.pages
          : checkedPages(result.pages, { reading, state, digests, query, label })
      return { ...result, pages: withBookmark({ ...result, pages }, query, info.citationId, bookmarks) }
    },
  }
}

/** @throws AppError UNKNOWN_CITATION when it was removed: its rows may be dropped at any time then */
function requireStill(db: Db, citationId: number, label: string): void {
  if (!isCitation(db, citationId)) throw unknownCitation(label)
}

/** Finds the start of an offset: where an earlier page of the same query ended, else by the row index. */
function seek(
  { info, rowIndex }: FoundCitation,
  { conds }: StateQuery,
  { offset, isWhole, bookmarks }: { offset: number; isWhole: boolean; bookmarks: Bookmarks },
): ReturnType<NonNullable<StateReading['seek']>> {
  const afterId = bookmarks.find(info.citationId, conds, offset)
  if (afterId !== undefined) return { afterId, skip: 0 }
  return isWhole && rowIndex !== null ? seekRowIndex(rowIndex, offset) : undefined
}

/** Keeps the end of a page for the next one, which is likely when the query has a limit and no order. */
async function* withBookmark(
  { pages }: StateResult,
  { conds, order, limit, offset: first = 0 }: StateQuery,
  citationId: number,
  bookmarks: Bookmarks,
): AsyncGenerator<StateRow[]> {
  let offset = first
  let last: bigint | undefined
  for await (const rows of pages) {
    offset += rows.length
    last = rows.at(-1)?.[0] // pages are not empty
    yield rows
  }
  if (limit !== undefined && order === undefined && last !== undefined)
    bookmarks.keep(citationId, conds, { offset, rowId: Number(last) })
}

/**
 * Commits without a checkpoint: a small commit must not wait until the log of large ones is moved into the
 * file.
 */
function withoutCheckpoint<T>(db: Db, work: () => T): T {
  const pages = db.pragma('wal_autocheckpoint', { simple: true })
  db.pragma('wal_autocheckpoint = 0')
  try {
    return work()
  } finally {
    db.pragma(`wal_autocheckpoint = ${pages}`)
  }
}
