import type {
  FeedDirection,
  FeedProgress,
  FeedRecord,
  FeedRows,
  FeedSettings,
  FeedStart,
  SetAsideRow,
} from '../../exchange/feeds.js'
import type { TrustedClock } from '../../work/clock.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface FeedRow {
  feed_id: string
  data_name: string
  direction: FeedDirection
  upstream: string
  conds: string | null
  columns: string | null
  priority: number
  max_bytes_per_second: number
  windows: string
  enabled: number
  from_text: string
  start: string
  progress: string
  created_at_us: number
}

interface AsideRow {
  change: number
  row_key: string
  reason: string
  at_us: number
}

const NO_PROGRESS: Omit<FeedProgress, 'cursor' | 'scanned' | 'tableUuid'> = {
  rowsSent: 0,
  bytesSent: 0,
  bytesPerSecond: 0,
  behindSinceUs: null,
  lastError: null,
  stopped: null,
}

const INSERT = `INSERT INTO feed (feed_id, data_name, direction, upstream, conds, columns, priority,
  max_bytes_per_second, windows, enabled, from_text, start, progress, created_at_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`

/** Creates the rows of feeds of `state.db`. */
export function createFeedRows(state: StateDb, clock: TrustedClock): FeedRows {
  const { db } = state
  const find = (feedId: string) => {
    const row = statement<FeedRow>(db, 'SELECT * FROM feed WHERE feed_id = ?').get(feedId)
    return row === undefined ? undefined : toRecord(row)
  }
  return {
    create: (feed) =>
      writeState(state, () => {
        const hasUpstream = 'SELECT count(*) FROM sync_upstream WHERE name = ?'
        if (oneValue<number>(db, hasUpstream, feed.upstream) === 0) return undefined
        const { tableUuid, afterChange } = feed.start
        const progress = { ...NO_PROGRESS, tableUuid, cursor: afterChange, scanned: afterChange }
        const values = [
          ...[feed.feedId, feed.dataName, feed.direction, feed.upstream],
          ...[textOf(feed.conds), textOf(feed.columns)],
          ...[feed.priority, feed.maxBytesPerSecond, JSON.stringify(feed.windows), feed.isEnabled ? 1 : 0],
          ...[feed.from, JSON.stringify(feed.start), JSON.stringify(progress), clock.nowUs()],
        ]
        return statement(db, INSERT).run(values).changes === 0 ? undefined : find(feed.feedId)
      }),
    find: async (feedId) => find(feedId),
    list: async () =>
      statement<FeedRow>(db, 'SELECT * FROM feed ORDER BY created_at_us, feed_id').all().map(toRecord),
    update: (feedId, change) =>
      writeState(state, () => {
        const old = find(feedId)
        if (old === undefined) return undefined
        const now: FeedSettings = { ...old, ...change }
        const progress = { ...old.progress, stopped: null, lastError: null }
        statement(
          db,
          `UPDATE feed SET conds = ?, priority = ?, max_bytes_per_second = ?, windows = ?, enabled = ?,
           progress = ? WHERE feed_id = ?`,
        ).run(
          ...[textOf(now.conds), now.priority, now.maxBytesPerSecond, JSON.stringify(now.windows)],
          ...[now.isEnabled ? 1 : 0, JSON.stringify(progress), feedId],
        )
        return find(feedId)
      }),
    remove: (feedId) =>
      writeFreeing(state, () => {
        const old = find(feedId)
        statement(db, 'DELETE FROM feed WHERE feed_id = ?').run(feedId)
        return old
      }),
    noteStart: (feedId, start) =>
      writeState(state, () => {
        statement(db, 'UPDATE feed SET start = ? WHERE feed_id = ?').run(JSON.stringify(start), feedId)
      }),
    noteProgress: (feedId, progress) =>
      writeState(state, () => {
        statement(db, 'UPDATE feed SET progress = ? WHERE feed_id = ?').run(JSON.stringify(progress), feedId)
      }),
    ...createAside(state, clock),
  }
}

/** Creates the rows that receivers refused. */
function createAside(
  state: StateDb,
  clock: TrustedClock,
): Pick<FeedRows, 'setAside' | 'listSetAside' | 'countSetAside' | 'changesSetAside' | 'forgetAside'> {
  const { db } = state
  return {
    setAside: (feedId, rows) =>
      writeState(state, () => {
        const insert = statement(
          db,
          `INSERT INTO feed_set_aside (feed_id, change, row_key, reason, at_us)
           SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM feed WHERE feed_id = ?)
           ON CONFLICT DO UPDATE SET reason = excluded.reason, at_us = excluded.at_us`,
        )
        for (const { change, rowKey, reason } of rows)
          insert.run(feedId, change, rowKey, reason, clock.nowUs(), feedId)
      }),
    listSetAside: async (feedId, limit) =>
      statement<AsideRow>(
        db,
        'SELECT * FROM feed_set_aside WHERE feed_id = ? ORDER BY at_us DESC, change DESC LIMIT ?',
      )
        .all(feedId, limit)
        .map(
          (row): SetAsideRow => ({
            change: row.change,
            rowKey: row.row_key,
            reason: row.reason,
            atUs: row.at_us,
          }),
        ),
    countSetAside: async (feedId) =>
      oneValue<number>(db, 'SELECT count(*) FROM feed_set_aside WHERE feed_id = ?', feedId),
    forgetAside: (feedId, changes) =>
      writeState(state, () => {
        const sql =
          'DELETE FROM feed_set_aside WHERE feed_id = ? AND change IN (SELECT value FROM json_each(?))'
        statement(db, sql).run(feedId, JSON.stringify(changes))
      }),
    changesSetAside: async (feedId) =>
      statement<number>(db, 'SELECT change FROM feed_set_aside WHERE feed_id = ?').pluck().all(feedId),
  }
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

function toRecord(row: FeedRow): FeedRecord {
  return {
    feedId: row.feed_id,
    dataName: row.data_name,
    direction: row.direction,
    upstream: row.upstream,
    conds: row.conds === null ? null : (JSON.parse(row.conds) as unknown),
    columns: row.columns === null ? null : (JSON.parse(row.columns) as string[]),
    priority: row.priority,
    maxBytesPerSecond: row.max_bytes_per_second,
    windows: JSON.parse(row.windows) as string[],
    isEnabled: row.enabled === 1,
    from: row.from_text,
    start: JSON.parse(row.start) as FeedStart,
    progress: JSON.parse(row.progress) as FeedProgress,
    createdAtUs: row.created_at_us,
  }
}
