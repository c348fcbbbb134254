import type {
  FeedProgress,
  FeedRecord,
  FeedRows,
  FeedSettings,
  FeedStart,
  SetAsideRow,
} from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import { readStoredText, storedText } from '../connection/any-text.js'
import type { PostgresDb, Rows } from '../connection/database.js'

type JsonName = 'conds' | 'columns' | 'windows' | 'start' | 'progress'
interface FeedRow extends Omit<FeedRecord, JsonName> {
  conds: string | null
  columns: string | null
  windows: string
  start: string
  progress: string
}

const NO_PROGRESS: Omit<FeedProgress, 'cursor' | 'scanned' | 'tableUuid'> = {
  rowsSent: 0,
  bytesSent: 0,
  bytesPerSecond: 0,
  behindSinceUs: null,
  lastError: null,
  stopped: null,
}

const SELECT = `SELECT feed_id AS "feedId", data_name AS "dataName", direction, upstream, conds, columns, priority,
  max_bytes_per_second AS "maxBytesPerSecond", windows, enabled AS "isEnabled", from_text AS "from", start, progress,
  created_at_us AS "createdAtUs" FROM feed`
const BY_ID = `${SELECT} WHERE feed_id = $1`
const INSERT = `INSERT INTO feed (feed_id, data_name, direction, upstream, conds, columns, priority,
  max_bytes_per_second, windows, enabled, from_text, start, progress, created_at_us)
  SELECT $1, $2, $3, name, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM sync_upstream WHERE name = $4
  ON CONFLICT DO NOTHING`
const UPDATE = `UPDATE feed SET conds = $2, priority = $3, max_bytes_per_second = $4, windows = $5, enabled = $6,
  progress = $7 WHERE feed_id = $1`

/** Creates the rows of feeds. */
export function createFeedRows(db: PostgresDb, clock: TrustedClock): FeedRows {
  const change = async (text: string, feedId: string, json: unknown) => {
    await db.write((rows) => rows.run(text, feedId, JSON.stringify(json)))
  }
  return {
    create(feed) {
      const { tableUuid, afterChange } = feed.start
      const progress = { ...NO_PROGRESS, tableUuid, cursor: afterChange, scanned: afterChange }
      const values = [
        ...[feed.feedId, feed.dataName, feed.direction, feed.upstream],
        ...[textOf(feed.conds), textOf(feed.columns)],
        ...[feed.priority, feed.maxBytesPerSecond, JSON.stringify(feed.windows), feed.isEnabled],
        ...[feed.from, JSON.stringify(feed.start), JSON.stringify(progress), clock.nowUs()],
      ]
      return db.write(async (rows, { isRepeat }) => {
        const inserted = await rows.run(INSERT, ...values)
        return inserted === 1 || isRepeat ? await find(rows, feed.feedId) : undefined
      })
    },
    find: (feedId) => find(db.read, feedId),
    list: async () => (await db.read.all<FeedRow>(`${SELECT} ORDER BY created_at_us, feed_id`)).map(toRecord),
    update: (feedId, changed) =>
      db.write(async (rows) => {
        const row = await rows.get<FeedRow>(`${BY_ID} FOR UPDATE`, feedId)
        if (row === undefined) return undefined
        const old = toRecord(row)
        const now: FeedSettings = { ...old, ...changed }
        const progress = { ...old.progress, stopped: null, lastError: null }
        await rows.run(
          UPDATE,
          ...[feedId, textOf(now.conds), now.priority, now.maxBytesPerSecond, JSON.stringify(now.windows)],
          ...[now.isEnabled, JSON.stringify(progress)],
        )
        return await find(rows, feedId)
      }),
    async remove(feedId) {
      const old = await find(db.read, feedId)
      if (old === undefined) return undefined
      const isRemoved = await db.write(async (rows, { isRepeat }) => {
        const removed = await rows.run('DELETE FROM feed WHERE feed_id = $1', feedId)
        return removed > 0 || isRepeat
      })
      // no test: another process would have to remove it since the first line
      return isRemoved ? old : undefined
    },
    noteStart: (feedId, start) => change('UPDATE feed SET start = $2 WHERE feed_id = $1', feedId, start),
    noteProgress: (feedId, progress) =>
      change('UPDATE feed SET progress = $2 WHERE feed_id = $1', feedId, progress),
    ...createAside(db, clock),
  }
}

/** Creates the rows that receivers refused. */
function createAside(
  db: PostgresDb,
  clock: TrustedClock,
): Pick<FeedRows, 'setAside' | 'listSetAside' | 'countSetAside' | 'changesSetAside' | 'forgetAside'> {
  return {
    async setAside(feedId, rows) {
      const [changes, times, keys, reasons] = [
        rows.map((row) => row.change),
        rows.map(() => clock.nowUs()),
        rows.map((row) => storedText(row.rowKey)),
        rows.map((row) => storedText(row.reason)),
      ]
      await db.write(async (write) => {
        // of a removed feed nothing; one that is being removed waits for this
        const known = await write.get('SELECT 1 FROM feed WHERE feed_id = $1 FOR KEY SHARE', feedId)
        if (known !== undefined) await write.run(SET_ASIDE, feedId, changes, keys, reasons, times)
      })
    },
    async listSetAside(feedId, limit) {
      const found = await db.read.all<SetAsideRow>(LIST_ASIDE, feedId, limit)
      return found.map((row) => ({
        ...row,
        rowKey: readStoredText(row.rowKey),
        reason: readStoredText(row.reason),
      }))
    },
    async countSetAside(feedId) {
      const count = 'SELECT count(*) AS n FROM feed_set_aside WHERE feed_id = $1'
      const row = await db.read.get<{ n: number }>(count, feedId)
      // no test: a count is always one row
      return row?.n ?? 0
    },
    async changesSetAside(feedId) {
      const list = 'SELECT change FROM feed_set_aside WHERE feed_id = $1 ORDER BY change'
      return (await db.read.all<{ change: number }>(list, feedId)).map(({ change }) => change)
    },
    async forgetAside(feedId, changes) {
      const forget = 'DELETE FROM feed_set_aside WHERE feed_id = $1 AND change = ANY($2::bigint[])'
      await db.write((rows) => rows.run(forget, feedId, [...changes]))
    },
  }
}

/** The last of several rows with one change counts. */
const SET_ASIDE = `INSERT INTO feed_set_aside (feed_id, change, row_key, reason, at_us)
  SELECT $1, change, row_key, reason, at_us FROM (
    SELECT DISTINCT ON (change) change, row_key, reason, at_us
      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY
        AS r (change, row_key, reason, at_us, place)
      ORDER BY change, place DESC) AS last
  ON CONFLICT (feed_id, change) DO UPDATE SET reason = excluded.reason, at_us = excluded.at_us`
const LIST_ASIDE = `SELECT change, row_key AS "rowKey", reason, at_us AS "atUs" FROM feed_set_aside
  WHERE feed_id = $1 ORDER BY at_us DESC, change DESC LIMIT $2`

async function find(rows: Rows, feedId: string): Promise<FeedRecord | undefined> {
  const row = await rows.get<FeedRow>(BY_ID, feedId)
  return row === undefined ? undefined : toRecord(row)
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** The texts are those that the functions above wrote. */
function toRecord(row: FeedRow): FeedRecord {
  return {
    ...row,
    conds: row.conds === null ? null : (JSON.parse(row.conds) as unknown),
    columns: row.columns === null ? null : (JSON.parse(row.columns) as string[]),
    windows: JSON.parse(row.windows) as string[],
    start: JSON.parse(row.start) as FeedStart,
    progress: JSON.parse(row.progress) as FeedProgress,
  }
}
