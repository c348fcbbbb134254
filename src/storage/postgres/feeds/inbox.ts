import { feedUnknown } from '../../exchange/feed-errors.js'
import type { FeedInbox, ReceivedFeed, SenderState } from '../../exchange/feeds.js'
import type { LoaderTable } from '../../tables.js'
import { readTogether } from '../connection/read-together.js'
import type { TablesContext } from '../tables/store.js'
import { type CursorRow, cursorsOf, feedKey, findCursors, requireEpoch } from './cursors.js'
import { createOpening } from './open-together.js'
import { createTaking } from './take-together.js'

/** Feeds whose table a process keeps in mind. */
const MAX_KNOWN = 50_000

/** Creates the receiver of feeds. */
export function createFeedInbox(context: TablesContext): FeedInbox {
  const { db, catalog } = context
  /** table of each feed that was seen; a batch finds out within its transaction whether it is another one by now */
  const tables = new Map<string, LoaderTable>()
  const tableOf = async (row: CursorRow): Promise<LoaderTable | undefined> => {
    const key = feedKey(row)
    const table = await catalog.recentById(db.read, row.tableId)
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
  const cursorOf = readTogether((keys) => findCursors(db.read, keys))
  const findTable = async (state: SenderState): Promise<LoaderTable> => {
    const row = await cursorOf(feedKey(state))
    const table = row === undefined ? undefined : await tableOf(row)
    if (table === undefined) throw feedUnknown(state)
    return table
  }
  const taking = createTaking(context)
  return {
    open: createOpening(context),
    async check(state) {
      requireEpoch(state, await cursorOf(feedKey(state)))
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
