import { staleEpoch } from '../../exchange/feed-errors.js'
import type { SenderState } from '../../exchange/feeds.js'
import type { Attempt, Rows } from '../connection/database.js'
import { literalOf } from '../connection/literal.js'

/** Row of a feed of another node. */
export interface CursorRow extends SenderState {
  readonly cursor: number
  readonly tableId: number
}

const SELECT = `SELECT sender, feed, sender_table AS "senderTable", epoch, digest, cursor, table_id AS "tableId"
  FROM feed_cursor`

/** Returns the feeds of a node that were opened, in the order of their ids. */
export function cursorsOf(rows: Rows, sender: string): Promise<CursorRow[]> {
  return rows.all<CursorRow>(`${SELECT} WHERE sender = $1 ORDER BY feed`, sender)
}

/**
 * Returns the statement that finds feeds, which stay as they are until the end of the transaction, for
 * `WriteOptions.second`. Its rows are `CursorRow`s.
 */
export function lockCursorsSql(feeds: readonly Pick<SenderState, 'sender' | 'feed'>[]): string {
  const pairs = feeds.map(({ sender, feed }) => `(${literalOf(sender)}, ${literalOf(feed)})`)
  return `${SELECT} AS c WHERE (sender, feed) IN (VALUES ${pairs.join(', ')}) ORDER BY sender, feed FOR UPDATE`
}

/** Returns the statement that moves cursors, without parameters, for `Attempt.endWith`. */
export function moveCursorsSql(moved: readonly CursorRow[]): string {
  const values = moved.map(
    ({ sender, feed, cursor }) => `(${literalOf(sender)}, ${literalOf(feed)}, ${cursor}::bigint)`,
  )
  return `UPDATE feed_cursor AS c SET cursor = m.cursor FROM (VALUES ${values.join(', ')}) AS m (sender, feed, cursor)
    WHERE c.sender = m.sender AND c.feed = m.feed`
}

/** Returns the feeds that `lockCursorsSql` has found, by `feedKey`. */
export function lockedCursors({ second }: Pick<Attempt, 'second'>): Map<string, CursorRow> {
  return byKey(second as unknown as CursorRow[])
}

function byKey(found: readonly CursorRow[]): Map<string, CursorRow> {
  return new Map(found.map((row) => [feedKey(row), row]))
}

/** Name of a feed of another node among all of them. */
export function feedKey({ sender, feed }: Pick<SenderState, 'sender' | 'feed'>): string {
  return `${sender} ${feed}`
}

/** @throws AppError STALE_EPOCH */
export function requireEpoch(state: SenderState, known: CursorRow | undefined): void {
  if (known !== undefined && state.epoch < known.epoch) throw staleEpoch(state, known.epoch)
}

const FIND_ALL = `${SELECT} WHERE (sender, feed) IN (SELECT * FROM unnest($1::text[], $2::text[]))`

/** Finds feeds by their `feedKey`. */
export async function findCursors(
  rows: Rows,
  keys: readonly string[],
): Promise<ReadonlyMap<string, CursorRow>> {
  const parts = keys.map((key) => key.split(' '))
  const found = await rows.all<CursorRow>(
    FIND_ALL,
    parts.map(([sender = '']) => sender),
    parts.map(([, feed = '']) => feed),
  )
  return byKey(found)
}
