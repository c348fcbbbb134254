import type { FeedResend, FeedResends } from '../../exchange/feed-resends.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

const FIND = `SELECT feed_id AS "feedId", asked_at_us AS "askedAtUs", from_day AS "fromDay", to_day AS "toDay",
  row_count AS rows, sent, after_row AS "afterRow" FROM feed_resend WHERE feed_id = $1`
const ASK = `INSERT INTO feed_resend AS r (feed_id, asked_at_us, from_day, to_day, row_count, sent, after_row)
  VALUES ($1, $2, $3, $4, $5, 0, 0) ON CONFLICT (feed_id) DO UPDATE SET asked_at_us = excluded.asked_at_us, sent = 0,
    from_day = least(r.from_day, excluded.from_day), to_day = greatest(r.to_day, excluded.to_day),
    row_count = excluded.row_count, after_row = 0`

/** Creates the requests to send rows again. */
export function createFeedResends(db: PostgresDb, clock: TrustedClock): FeedResends {
  const find = (rows: Rows, feedId: string) => rows.get<FeedResend>(FIND, feedId)
  return {
    ask({ feedId, fromDay, toDay, rows: count }) {
      let askedAtUs = 0 // of the last attempt, by which a repeat knows its own request
      return db.write(async (rows) => {
        const known = await rows.get<FeedResend>(`${FIND} FOR UPDATE`, feedId)
        if (known !== undefined && known.askedAtUs === askedAtUs) return known
        askedAtUs = Math.max(clock.nowUs(), (known?.askedAtUs ?? 0) + 1)
        await rows.run(ASK, feedId, askedAtUs, fromDay, toDay, count)
        return writtenRow(await find(rows, feedId))
      })
    },
    find: (feedId) => find(db.read, feedId),
    async note({ feedId, askedAtUs, sent, afterRow }) {
      const note = 'UPDATE feed_resend SET sent = $3, after_row = $4 WHERE feed_id = $1 AND asked_at_us = $2'
      await db.write((rows) => rows.run(note, feedId, askedAtUs, sent, afterRow))
    },
    async end({ feedId, askedAtUs }) {
      const end = 'DELETE FROM feed_resend WHERE feed_id = $1 AND asked_at_us = $2'
      await db.write((rows) => rows.run(end, feedId, askedAtUs))
    },
  }
}
