import { cursorMismatch, feedUnknown, isSameState, staleEpoch } from '../../exchange/feed-errors.js'
import type {
  FeedInbox,
  ReceivedBatch,
  ReceivedFeed,
  ReceivedRow,
  SenderState,
} from '../../exchange/feeds.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import { createPause } from '../../work/pause.js'
import type { WriteLock } from '../../work/write-lock.js'
import { asyncTransaction, type Db, retryBusy, statement, transaction } from '../connection/database.js'
import { findTable, findTableById } from '../tables/catalog.js'
import { beginCounting } from '../tables/row-digests.js'
import { putSentRows } from '../tables/sent-rows.js'

interface CursorRow {
  sender: string
  feed: string
  sender_table: string
  epoch: number
  digest: string
  cursor: number
  table_id: number
}

interface InboxConnection {
  /** sees committed rows only */
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  readonly lock: WriteLock
}

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/** Creates the receiver of feeds of `data.db`. */
export function createFeedInbox({ reader, writer, lock }: InboxConnection): FeedInbox {
  return {
    open: (state, table, range) =>
      lock.run(() => retryBusy(() => transaction(writer, () => openFeed(writer, state, table, range)))),
    async check(state) {
      requireEpoch(state, findCursor(reader, state.sender, state.feed))
    },
    async find(sender, feed) {
      return findReceivedFeed(reader, sender, feed)
    },
    ofSender: async (sender) =>
      statement<CursorRow>(reader, 'SELECT * FROM feed_cursor WHERE sender = ? ORDER BY feed')
        .all(sender)
        .flatMap((row) => toReceivedFeed(reader, row) ?? []), // no test: a dropped table takes its cursors along
    take: (batch, owner) => lock.run(() => asyncTransaction(writer, () => takeBatch(writer, batch)), owner),
  }
}

/** Writes the cursor of a feed that is new, or begins again. @returns the cursor */
function openFeed(
  db: Db,
  state: SenderState,
  { dataName, tableId }: TableRef,
  { start, last = Number.POSITIVE_INFINITY }: { start: number; last?: number },
): number {
  const table = findTable(db, dataName)
  if (table?.tableId !== tableId) throw feedUnknown(state)
  const known = findCursor(db, state.sender, state.feed)
  requireEpoch(state, known)
  const isSameData = known?.sender_table === state.senderTable && known.table_id === tableId
  const isKnown = isSameData && known.epoch === state.epoch && known.cursor <= last
  const cursor = isKnown ? known.cursor : start
  statement(
    db,
    `INSERT INTO feed_cursor (sender, feed, sender_table, epoch, digest, cursor, table_id)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET sender_table = excluded.sender_table,
       epoch = excluded.epoch, digest = excluded.digest, cursor = excluded.cursor, table_id = excluded.table_id`,
  ).run(state.sender, state.feed, state.senderTable, state.epoch, state.digest, cursor, tableId)
  beginCounting(db, table)
  return cursor
}

/** @throws AppError STALE_EPOCH */
function requireEpoch(state: SenderState, known: CursorRow | undefined): void {
  if (known !== undefined && state.epoch < known.epoch) throw staleEpoch(state, known.epoch)
}

/** Stores a batch. The caller has begun a transaction. @returns rows that were written */
async function takeBatch(db: Db, batch: ReceivedBatch): Promise<number> {
  const feed = findReceivedFeed(db, batch.sender, batch.feed)
  if (feed === undefined || !isSameState(feed, batch)) throw feedUnknown(batch)
  if (feed.cursor !== batch.after) throw cursorMismatch(batch, feed.cursor)
  const pause = createPause(undefined, SLICE_MS)
  const parts: Iterable<[string, Iterable<ReceivedRow>]> =
    batch.origin === undefined
      ? Map.groupBy(batch.rows, ({ origin }) => origin)
      : [[batch.origin, batch.rows]]
  let written = 0
  for (const [origin, rows] of parts)
    written += await putSentRows(db, feed.table, { origin, sender: batch.sender, rows }, pause)
  statement(db, 'UPDATE feed_cursor SET cursor = ? WHERE sender = ? AND feed = ?').run(
    batch.last,
    batch.sender,
    batch.feed,
  )
  return written
}

/** Finds a feed of another node that was opened. */
export function findReceivedFeed(db: Db, sender: string, feed: string): ReceivedFeed | undefined {
  const row = findCursor(db, sender, feed)
  return row === undefined ? undefined : toReceivedFeed(db, row)
}

function findCursor(db: Db, sender: string, feed: string): CursorRow | undefined {
  return statement<CursorRow>(db, 'SELECT * FROM feed_cursor WHERE sender = ? AND feed = ?').get(sender, feed)
}

function toReceivedFeed(db: Db, row: CursorRow): ReceivedFeed | undefined {
  const table: LoaderTable | undefined = findTableById(db, row.table_id)
  if (table === undefined) return undefined // no test: a dropped table takes its cursors along
  const { sender, feed, sender_table: senderTable, epoch, digest, cursor } = row
  return { sender, feed, senderTable, epoch, digest, cursor, table }
}
