import type { FeedResend, FeedResends } from '../../exchange/feed-resends.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

interface ResendRow {
  feed_id: string
  asked_at_us: number
  from_day: number
  to_day: number
  row_count: number
  sent: number
  after_row: number
}

/** Creates the requests to send rows again of `state.db`. */
export function createFeedResends(state: StateDb, clock: TrustedClock): FeedResends {
  const { db } = state
  const find = (feedId: string) => {
    const row = statement<ResendRow>(db, 'SELECT * FROM feed_resend WHERE feed_id = ?').get(feedId)
    return row === undefined ? undefined : toResend(row)
  }
  return {
    ask: ({ feedId, fromDay, toDay, rows }) =>
      writeState(state, () => {
        const known = find(feedId)
        const askedAtUs = Math.max(clock.nowUs(), (known?.askedAtUs ?? 0) + 1)
        statement(
          db,
          `INSERT INTO feed_resend (feed_id, asked_at_us, from_day, to_day, row_count, sent, after_row)
           VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO UPDATE SET asked_at_us = excluded.asked_at_us, sent = 0,
             from_day = min(from_day, excluded.from_day), to_day = max(to_day, excluded.to_day),
             row_count = excluded.row_count, after_row = 0`,
        ).run(feedId, askedAtUs, fromDay, toDay, rows)
        return writtenRow(find(feedId))
      }),
    find: async (feedId) => find(feedId),
    note: ({ feedId, askedAtUs, sent, afterRow }) =>
      writeState(state, () => {
        const sql = 'UPDATE feed_resend SET sent = ?, after_row = ? WHERE feed_id = ? AND asked_at_us = ?'
        statement(db, sql).run(sent, afterRow, feedId, askedAtUs)
      }),
    end: ({ feedId, askedAtUs }) =>
      writeState(state, () => {
        const sql = 'DELETE FROM feed_resend WHERE feed_id = ? AND asked_at_us = ?'
        statement(db, sql).run(feedId, askedAtUs)
      }),
  }
}

function toResend(row: ResendRow): FeedResend {
  const { feed_id: feedId, asked_at_us: askedAtUs, from_day: fromDay, to_day: toDay } = row
  return { feedId, askedAtUs, fromDay, toDay, rows: row.row_count, sent: row.sent, afterRow: row.after_row }
}
