import { isAppError } from '../../../errors.js'
import { feedUnknown } from '../../exchange/feed-errors.js'
import type { FeedInbox, SenderState } from '../../exchange/feeds.js'
import type { TableRef } from '../../tables.js'
import type { Attempt, Rows } from '../connection/database.js'
import { type GroupOutcome, writeTogether } from '../connection/write-together.js'
import { beginCounting } from '../tables/row-digests.js'
import type { TablesContext } from '../tables/store.js'
import { lockSql } from '../tables/table-state.js'
import { type CursorRow, feedKey, lockCursorsSql, lockedCursors, requireEpoch } from './cursors.js'

/** Most feeds of one transaction. */
const MOST_FEEDS = 100

interface Opening {
  readonly state: SenderState
  readonly table: TableRef
  readonly start: number
  /** last change that the sender has */
  readonly last: number
}

/**
 * Creates the opening of feeds of one process. All gateways open theirs when a link is back; each transaction locks the
 * table, as batches do, so those that come at the same time share one.
 */
export function createOpening({ db, catalog }: Pick<TablesContext, 'db' | 'catalog'>): FeedInbox['open'] {
  const open = writeTogether<Opening, number>({
    most: MOST_FEEDS,
    keyOf: ({ state }) => feedKey(state),
    write: (_lane, openings) =>
      db.write((rows, attempt) => openGroup(rows, { catalog, openings, attempt }), {
        first: lockSql(openings[0]?.table ?? NO_TABLE),
        second: lockCursorsSql(openings.map(({ state }) => state)),
      }),
  })
  return (state, table, { start, last = Number.POSITIVE_INFINITY }) =>
    open(`${table.tableId} ${table.dataName}`, { state, table, start, last })
}

/** No test: a group is never empty. */
const NO_TABLE = { tableId: 0 }

interface OpenGroup {
  readonly catalog: TablesContext['catalog']
  /** of one table */
  readonly openings: readonly Opening[]
  readonly attempt: Attempt
}

/** Writes the cursors of feeds that are new, or begin again, in the transaction that has locked their table. */
async function openGroup(
  rows: Rows,
  { catalog, openings, attempt }: OpenGroup,
): Promise<GroupOutcome<number>[]> {
  const [{ table: asked } = { table: undefined }] = openings
  const found =
    attempt.first === undefined || asked === undefined
      ? undefined
      : await catalog.findById(rows, asked.tableId)
  if (found === undefined || found.dataName !== asked?.dataName)
    return openings.map(({ state }) => ({ fault: feedUnknown(state) }))
  if (attempt.first?.counted === null) await beginCounting(rows, found)
  const cursors = lockedCursors(attempt)
  const changed: CursorRow[] = []
  const outcomes = openings.map((opening): GroupOutcome<number> => {
    const known = cursors.get(feedKey(opening.state))
    try {
      const row = openedRow(opening, known)
      if (row !== known) changed.push(row)
      return { result: row.cursor }
    } catch (error) {
      if (isAppError(error)) return { fault: error }
      throw error
    }
  })
  await writeCursors(rows, changed)
  return outcomes
}

/** Returns the row of a feed that is opened: the known one where nothing changes. @throws AppError STALE_EPOCH */
function openedRow(
  { state, table: { tableId }, start, last }: Opening,
  known: CursorRow | undefined,
): CursorRow {
  requireEpoch(state, known)
  const { sender, feed, senderTable, epoch, digest } = state
  const isSameData = known?.senderTable === senderTable && known.tableId === tableId
  const isKnown = isSameData && known.epoch === epoch && known.cursor <= last
  if (isKnown && known.digest === digest) return known
  return { sender, feed, senderTable, epoch, digest, tableId, cursor: isKnown ? known.cursor : start }
}

const OPEN = `INSERT INTO feed_cursor (sender, feed, sender_table, epoch, digest, cursor, table_id)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
  ON CONFLICT (sender, feed) DO UPDATE SET sender_table = excluded.sender_table, epoch = excluded.epoch,
    digest = excluded.digest, cursor = excluded.cursor, table_id = excluded.table_id`

async function writeCursors(rows: Rows, changed: readonly CursorRow[]): Promise<void> {
  if (changed.length === 0) return
  await rows.run(
    OPEN,
    ...[changed.map(({ sender }) => sender), changed.map(({ feed }) => feed)],
    ...[changed.map(({ senderTable }) => senderTable), changed.map(({ epoch }) => epoch)],
    ...[changed.map(({ digest }) => digest), changed.map(({ cursor }) => cursor)],
    changed.map(({ tableId }) => tableId),
  )
}
