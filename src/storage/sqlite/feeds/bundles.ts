import type {
  BundleContents,
  BundleRows,
  CitationNews,
  FeedGap,
  ModelReceipt,
  RefusedChange,
  StoreWish,
  WrittenBundle,
} from '../../exchange/bundles.js'
import type { TrustedClock } from '../../work/clock.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface WrittenRow {
  seq: number
  bundle_id: string
  node_id: string
  written_at_us: number
  contents: string | null
  acknowledged_at_us: number | null
}

/** Applied bundles of a node that are kept, and told to it. */
const KEPT = 100
/** Written bundles for a node that are kept. */
const KEPT_WRITTEN = 1000
/** Most news of a kind in a bundle. */
const MAX_NEWS = 10_000

/** Creates the bundles of `state.db`. */
export function createBundleRows(state: StateDb, clock: TrustedClock): BundleRows {
  return {
    ...createWritten(state, clock),
    ...createApplied(state, clock),
    ...createNews(state),
    ...createWishes(state),
  }
}

type OfWritten = 'begin' | 'finish' | 'drop' | 'find' | 'newest' | 'unacknowledged' | 'acknowledge'

function createWritten(state: StateDb, clock: TrustedClock): Pick<BundleRows, OfWritten> {
  const { db } = state
  const run = (sql: string, ...values: unknown[]) => statement(db, sql).run(...values)
  const one = (where: string, value: string) => {
    const sql = `SELECT * FROM bundle_written WHERE ${where} ORDER BY seq DESC LIMIT 1`
    const row = statement<WrittenRow>(db, sql).get(value)
    return row === undefined ? undefined : toWritten(row)
  }
  return {
    begin: (nodeId, bundleId) =>
      writeState(state, () => {
        const sql = 'INSERT INTO bundle_written (bundle_id, node_id, written_at_us) VALUES (?, ?, ?)'
        return Number(run(sql, bundleId, nodeId, clock.nowUs()).lastInsertRowid)
      }),
    finish: (seq, contents) =>
      writeState(state, () => {
        run('UPDATE bundle_written SET contents = ? WHERE seq = ?', JSON.stringify(contents), seq)
        const ofNode = '(SELECT node_id FROM bundle_written WHERE seq = ?)'
        run(
          `DELETE FROM bundle_written WHERE node_id = ${ofNode} AND seq <= (SELECT seq FROM bundle_written
             WHERE node_id = ${ofNode} ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_WRITTEN})`,
          ...[seq, seq],
        )
      }),
    drop: (seq) => writeFreeing(state, () => void run('DELETE FROM bundle_written WHERE seq = ?', seq)),
    find: async (bundleId) => one('bundle_id = ?', bundleId),
    newest: async (nodeId) => one('node_id = ? AND contents IS NOT NULL', nodeId),
    unacknowledged: async () =>
      statement<WrittenRow>(
        db,
        'SELECT * FROM bundle_written WHERE acknowledged_at_us IS NULL AND contents IS NOT NULL ORDER BY seq',
      )
        .all()
        .map(toWritten),
    acknowledge: (nodeId, bundleIds) =>
      writeState(state, () => {
        const ids = '(SELECT value FROM json_each(?))'
        const list = JSON.stringify(bundleIds)
        run(
          `UPDATE bundle_written SET acknowledged_at_us = ? WHERE node_id = ? AND bundle_id IN ${ids}
             AND acknowledged_at_us IS NULL`,
          ...[clock.nowUs(), nodeId, list],
        )
        run(
          `DELETE FROM bundle_news WHERE node_id = ? AND first_seq <= (SELECT max(seq) FROM bundle_written
             WHERE node_id = ? AND bundle_id IN ${ids})`,
          ...[nodeId, nodeId, list],
        )
      }),
  }
}

function createApplied(state: StateDb, clock: TrustedClock): Pick<BundleRows, 'noteApplied' | 'isOld'> {
  const { db } = state
  return {
    noteApplied: ({ nodeId, bundleId, epoch, seq }) =>
      writeState(state, () => {
        statement(
          db,
          `INSERT INTO bundle_applied VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET applied_at_us = excluded.applied_at_us`,
        ).run(nodeId, bundleId, epoch, seq, clock.nowUs())
        statement(
          db,
          `DELETE FROM bundle_applied WHERE node_id = ? AND bundle_id NOT IN (SELECT bundle_id
             FROM bundle_applied WHERE node_id = ? ORDER BY epoch DESC, seq DESC LIMIT ${KEPT})`,
        ).run(nodeId, nodeId)
      }),
    isOld: async ({ nodeId, epoch, seq }) => {
      const sql = 'SELECT count(*) FROM bundle_applied WHERE node_id = ? AND (epoch, seq) > (?, ?)'
      return oneValue<number>(db, sql, nodeId, epoch, seq) > 0
    },
  }
}

type OfNews = 'news' | 'noteGap' | 'noteRefused' | 'noteReceipt' | 'noteCitation'

function createNews(state: StateDb): Pick<BundleRows, OfNews> {
  const { db } = state
  const read = <T>(nodeId: string, kind: string) =>
    statement<string>(db, `SELECT news FROM bundle_news WHERE node_id = ? AND kind = ? LIMIT ${MAX_NEWS}`)
      .pluck()
      .all(nodeId, kind)
      .map((text) => JSON.parse(text) as T)
  const write = (nodeId: string, kind: string, about: string, news: object) =>
    statement(
      db,
      `INSERT INTO bundle_news (node_id, kind, about, news) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET news = excluded.news, first_seq = NULL`,
    ).run(nodeId, kind, about, JSON.stringify(news))
  return {
    news: (nodeId, seq) =>
      writeState(state, () => {
        const sql = 'UPDATE bundle_news SET first_seq = ? WHERE node_id = ? AND first_seq IS NULL'
        statement(db, sql).run(seq, nodeId)
        const applied = `SELECT bundle_id FROM bundle_applied WHERE node_id = ? ORDER BY applied_at_us DESC LIMIT ${KEPT}`
        return {
          applied: statement<string>(db, applied).pluck().all(nodeId),
          gaps: read<FeedGap>(nodeId, 'gap'),
          refused: read<RefusedChange>(nodeId, 'refused'),
          receipts: read<ModelReceipt>(nodeId, 'receipt'),
          citations: read<CitationNews>(nodeId, 'citation'),
        }
      }),
    noteGap: (nodeId, feed, gap) =>
      writeState(state, () => {
        const sql = "DELETE FROM bundle_news WHERE node_id = ? AND kind = 'gap' AND about = ?"
        if (gap === null) statement(db, sql).run(nodeId, feed)
        else write(nodeId, 'gap', feed, gap)
      }),
    noteRefused: (nodeId, rows) =>
      writeState(state, () => {
        for (const row of rows) write(nodeId, 'refused', `${row.feed} ${row.change}`, row)
      }),
    noteReceipt: (nodeId, receipt) =>
      writeState(
        state,
        () => void write(nodeId, 'receipt', `${receipt.transfer} ${receipt.modelId}`, receipt),
      ),
    noteCitation: (nodeId, news) =>
      writeState(state, () => void write(nodeId, 'citation', news.longForm, news)),
  }
}

function createWishes(state: StateDb): Pick<BundleRows, 'noteWishes' | 'wishes'> {
  const { db } = state
  const find = (nodeId: string) =>
    statement<string>(db, 'SELECT wishes FROM bundle_wish WHERE node_id = ?').pluck().get(nodeId) ?? '[]'
  return {
    async noteWishes(nodeId, wishes) {
      const text = JSON.stringify(wishes.map(({ store, has }) => ({ store, has })))
      if (text === find(nodeId)) return
      await writeState(state, () => {
        const sql = 'INSERT INTO bundle_wish VALUES (?, ?) ON CONFLICT DO UPDATE SET wishes = excluded.wishes'
        statement(db, sql).run(nodeId, text)
      })
    },
    wishes: async (nodeId) => JSON.parse(find(nodeId)) as StoreWish[],
  }
}

function toWritten(row: WrittenRow): WrittenBundle {
  return {
    seq: row.seq,
    bundleId: row.bundle_id,
    nodeId: row.node_id,
    writtenAtUs: row.written_at_us,
    contents: row.contents === null ? null : (JSON.parse(row.contents) as BundleContents),
    acknowledgedAtUs: row.acknowledged_at_us,
  }
}
