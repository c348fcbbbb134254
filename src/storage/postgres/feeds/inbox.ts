import { feedUnknown } from '../../exchange/feed-errors.js'
import type { FeedInbox, ReceivedFeed, SenderState } from '../../exchange/feeds.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'
import { beginCounting } from '../tables/row-digests.js'
import type { TablesContext } from '../tables/store.js'
import {
  type CursorRow,
  cursorsOf,
  feedKey,
  findCursor,
  findCursors,
  lockCursor,
  requireEpoch,
} from './cursors.js'
import { createTaking } from './take-together.js'

/** Feeds whose table a process keeps in mind. */
const MAX_KNOWN = 50_000

const OPEN = `INSERT INTO feed_cursor (sender, feed, sender_table, epoch, digest, cursor, table_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (sender, feed) DO UPDATE SET sender_table = excluded.sender_table,
    epoch = excluded.epoch, digest = excluded.digest, cursor = excluded.cursor, table_id = excluded.table_id`

/** Creates the receiver of feeds. */
export function createFeedInbox(context: TablesContext): FeedInbox {
  const { db, catalog } = context
  /** table of each feed that was seen; a batch finds out within its transaction whether it is another one by now */
  const tables = new Map<string, LoaderTable>()
  const tableOf = async (row: CursorRow): Promise<LoaderTable | undefined> => {
    const key = feedKey(row)
    const known = tables.get(key)
    const isSame = known?.tableId === row.tableId
    const table = isSame ? await catalog.recent(db.read, known) : await catalog.findById(db.read, row.tableId)
    tables.delete(key)
    if (table !== undefined) tables.set(key, table)
    const [oldest] = tables.keys()
    if (tables.size > MAX_KNOWN && oldest !== undefined) tables.delete(oldest)
    return table
  }
  const toFeed = async (row: CursorRow): Promise<ReceivedFeed | undefined> => {
    const table = await tableOf(row)
    if (table === undefined) return undefined // no test: a dropped table takes its cursors along
    const { tableId: _, ...feed } = row
    return { ...feed, table }
  }
  const findTable = async (state: SenderState): Promise<LoaderTable> => {
    const row = await findCursor(db.read, state)
    const table = row === undefined ? undefined : await tableOf(row)
    if (table === undefined) throw feedUnknown(state)
    return table
  }
  const taking = createTaking(context)
  const cursorOf = readTogether((keys) => findCursors(db.read, keys))
  return {
    open: (state, table, range) => db.write((rows) => openFeed(rows, context, { state, table, range })),
    async check(state) {
      requireEpoch(state, await findCursor(db.read, state))
    },
    async find(sender, feed) {
      const row = await cursorOf(feedKey({ sender, feed }))
      return row === undefined ? undefined : await toFeed(row)
    },
    async ofSender(sender) {
      const feeds = await Promise.all((await cursorsOf(db.read, sender)).map(toFeed))
      return feeds.filter((feed) => feed !== undefined)
    },
    async take(batch, owner) {
      const known = tables.get(feedKey(batch)) ?? (await findTable(batch))
      const written = await taking.take(known, batch, owner)
      if (written !== undefined) return written
      // another process has opened the feed for another table since it was seen here
      const again = await taking.take(await findTable(batch), batch, owner)
      // no test: it would have to be opened once more
      if (again === undefined) throw feedUnknown(batch)
      return again
    },
  }
}

interface Opening {
  readonly state: SenderState
  readonly table: TableRef
  readonly range: { readonly start: number; readonly last?: number }
}

/** Writes the cursor of a feed that is new, or begins again. @returns the cursor */
async function openFeed(
  rows: Rows,
  { catalog }: TablesContext,
  { state, table: { dataName, tableId }, range: { start, last = Number.POSITIVE_INFINITY } }: Opening,
): Promise<number> {
  const table = await catalog.findById(rows, tableId)
  if (table?.dataName !== dataName) throw feedUnknown(state)
  await beginCounting(rows, table) // locks the table, as each batch does before it looks at its cursor
  const known = await lockCursor(rows, state)
  requireEpoch(state, known)
  const isSameData = known?.senderTable === state.senderTable && known.tableId === tableId
  const isKnown = isSameData && known.epoch === state.epoch && known.cursor <= last
  const cursor = isKnown ? known.cursor : start
  const { sender, feed, senderTable, epoch, digest } = state
  await rows.run(OPEN, sender, feed, senderTable, epoch, digest, cursor, tableId)
  return cursor
}
