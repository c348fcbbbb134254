import type {
  BundleRows,
  CitationNews,
  FeedGap,
  ModelReceipt,
  RefusedChange,
  StoreWish,
  WrittenBundle,
} from '../../exchange/bundles.js'
import type { TrustedClock } from '../../work/clock.js'
import { storedText } from '../connection/any-text.js'
import type { PostgresDb, Rows, Value } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'

type WrittenRow = Omit<WrittenBundle, 'contents'> & { contents: string | null }

/** Applied bundles of a node that are kept, and told to it. */
const KEPT = 100
/** Written bundles for a node that are kept. */
const KEPT_WRITTEN = 1000
/** Most news of a kind in a bundle. */
const MAX_NEWS = 10_000

/** Creates the bundles. */
export function createBundleRows(db: PostgresDb, clock: TrustedClock): BundleRows {
  return {
    ...createWritten(db, clock),
    ...createApplied(db, clock),
    ...createNews(db),
    ...createWishes(db),
  }
}

const SELECT = `SELECT seq, bundle_id AS "bundleId", node_id AS "nodeId", written_at_us AS "writtenAtUs", contents,
  acknowledged_at_us AS "acknowledgedAtUs" FROM bundle_written`
const OF_NODE = '(SELECT node_id FROM bundle_written WHERE seq = $1)'
const FORGET_WRITTEN = `DELETE FROM bundle_written WHERE node_id = ${OF_NODE} AND seq <= (SELECT seq FROM bundle_written
  WHERE node_id = ${OF_NODE} ORDER BY seq DESC OFFSET ${KEPT_WRITTEN} LIMIT 1)`
const ACKNOWLEDGE = `UPDATE bundle_written SET acknowledged_at_us = $2 WHERE node_id = $1
  AND bundle_id = ANY($3::text[]) AND acknowledged_at_us IS NULL`
const FORGET_NEWS = `DELETE FROM bundle_news WHERE node_id = $1 AND first_seq <= (SELECT max(seq) FROM bundle_written
  WHERE node_id = $1 AND bundle_id = ANY($2::text[]))`

type OfWritten = 'begin' | 'finish' | 'drop' | 'find' | 'newest' | 'unacknowledged' | 'acknowledge'

function createWritten(db: PostgresDb, clock: TrustedClock): Pick<BundleRows, OfWritten> {
  const one = async (where: string, value: string) => {
    const row = await db.read.get<WrittenRow>(`${SELECT} WHERE ${where} ORDER BY seq DESC LIMIT 1`, value)
    return row === undefined ? undefined : toWritten(row)
  }
  return {
    begin: (nodeId, bundleId) =>
      db.write(async (rows, { isRepeat }) => {
        const own = 'SELECT seq FROM bundle_written WHERE bundle_id = $1'
        const made = isRepeat ? await rows.get<{ seq: number }>(own, bundleId) : undefined
        const insert =
          'INSERT INTO bundle_written (bundle_id, node_id, written_at_us) VALUES ($1, $2, $3) RETURNING seq'
        const values = [bundleId, nodeId, clock.nowUs()]
        return writtenRow(made ?? (await rows.get<{ seq: number }>(insert, ...values))).seq
      }),
    async finish(seq, contents) {
      await db.write(async (rows) => {
        const update = 'UPDATE bundle_written SET contents = $2 WHERE seq = $1'
        await rows.run(update, seq, JSON.stringify(contents))
        await rows.run(FORGET_WRITTEN, seq)
      })
    },
    async drop(seq) {
      await db.write((rows) => rows.run('DELETE FROM bundle_written WHERE seq = $1', seq))
    },
    find: (bundleId) => one('bundle_id = $1', bundleId),
    newest: (nodeId) => one('node_id = $1 AND contents IS NOT NULL', nodeId),
    async unacknowledged() {
      const where = 'acknowledged_at_us IS NULL AND contents IS NOT NULL'
      return (await db.read.all<WrittenRow>(`${SELECT} WHERE ${where} ORDER BY seq`)).map(toWritten)
    },
    async acknowledge(nodeId, bundleIds) {
      await db.write(async (rows) => {
        await rows.run(ACKNOWLEDGE, nodeId, clock.nowUs(), [...bundleIds])
        await rows.run(FORGET_NEWS, nodeId, [...bundleIds])
      })
    },
  }
}

const NOTE_APPLIED = `INSERT INTO bundle_applied (node_id, bundle_id, epoch, seq, applied_at_us)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (node_id, bundle_id) DO UPDATE SET applied_at_us = excluded.applied_at_us`
const FORGET_APPLIED = `DELETE FROM bundle_applied WHERE node_id = $1 AND bundle_id NOT IN (SELECT bundle_id
  FROM bundle_applied WHERE node_id = $1 ORDER BY epoch DESC, seq DESC LIMIT ${KEPT})`

function createApplied(db: PostgresDb, clock: TrustedClock): Pick<BundleRows, 'noteApplied' | 'isOld'> {
  return {
    async noteApplied({ nodeId, bundleId, epoch, seq }) {
      await db.write(async (rows) => {
        await rows.run(NOTE_APPLIED, nodeId, bundleId, epoch, seq, clock.nowUs())
        await rows.run(FORGET_APPLIED, nodeId)
      })
    },
    async isOld({ nodeId, epoch, seq }) {
      const later =
        'SELECT 1 FROM bundle_applied WHERE node_id = $1 AND (epoch, seq) > ($2::bigint, $3::bigint) LIMIT 1'
      return (await db.read.get(later, nodeId, epoch, seq)) !== undefined
    },
  }
}

const NOTE_NEWS = `INSERT INTO bundle_news (node_id, kind, about, news)
  SELECT $1, $2, about, news FROM unnest($3::text[], $4::text[]) AS n (about, news)
  ON CONFLICT (node_id, kind, about) DO UPDATE SET news = excluded.news, first_seq = NULL`
const READ_NEWS = `SELECT news FROM bundle_news WHERE node_id = $1 AND kind = $2 ORDER BY about LIMIT ${MAX_NEWS}`
const APPLIED = `SELECT bundle_id AS id FROM bundle_applied WHERE node_id = $1
  ORDER BY applied_at_us DESC, bundle_id LIMIT ${KEPT}`

type OfNews = 'news' | 'noteGap' | 'noteRefused' | 'noteReceipt' | 'noteCitation'

function createNews(db: PostgresDb): Pick<BundleRows, OfNews> {
  const read = async <T>(rows: Rows, nodeId: string, kind: string) =>
    (await rows.all<{ news: string }>(READ_NEWS, nodeId, kind)).map(({ news }) => JSON.parse(news) as T)
  /** @param news by what they are about; the last one counts */
  const note = async (nodeId: string, kind: string, news: ReadonlyMap<string, object>) => {
    const texts: Value[] = [...news.values()].map((one) => JSON.stringify(one))
    await db.write((rows) => rows.run(NOTE_NEWS, nodeId, kind, [...news.keys()].map(storedText), texts))
  }
  return {
    news: (nodeId, seq) =>
      db.write(async (rows) => {
        const carry = 'UPDATE bundle_news SET first_seq = $2 WHERE node_id = $1 AND first_seq IS NULL'
        await rows.run(carry, nodeId, seq)
        return {
          applied: (await rows.all<{ id: string }>(APPLIED, nodeId)).map(({ id }) => id),
          gaps: await read<FeedGap>(rows, nodeId, 'gap'),
          refused: await read<RefusedChange>(rows, nodeId, 'refused'),
          receipts: await read<ModelReceipt>(rows, nodeId, 'receipt'),
          citations: await read<CitationNews>(rows, nodeId, 'citation'),
        }
      }),
    async noteGap(nodeId, feed, gap) {
      if (gap !== null) return await note(nodeId, 'gap', new Map([[feed, gap]]))
      const forget = "DELETE FROM bundle_news WHERE node_id = $1 AND kind = 'gap' AND about = $2"
      await db.write((rows) => rows.run(forget, nodeId, storedText(feed)))
    },
    noteRefused: (nodeId, refused) =>
      note(nodeId, 'refused', new Map(refused.map((row) => [`${row.feed} ${row.change}`, row]))),
    noteReceipt: (nodeId, receipt) =>
      note(nodeId, 'receipt', new Map([[`${receipt.transfer} ${receipt.modelId}`, receipt]])),
    noteCitation: (nodeId, news) => note(nodeId, 'citation', new Map([[news.longForm, news]])),
  }
}

function createWishes(db: PostgresDb): Pick<BundleRows, 'noteWishes' | 'wishes'> {
  const find = async (nodeId: string) => {
    const text = 'SELECT wishes FROM bundle_wish WHERE node_id = $1'
    return (await db.read.get<{ wishes: string }>(text, nodeId))?.wishes ?? '[]'
  }
  return {
    async noteWishes(nodeId, wishes) {
      const text = JSON.stringify(wishes.map(({ store, has }) => ({ store, has })))
      if (text === (await find(nodeId))) return
      const note =
        'INSERT INTO bundle_wish VALUES ($1, $2) ON CONFLICT (node_id) DO UPDATE SET wishes = excluded.wishes'
      await db.write((rows) => rows.run(note, nodeId, text))
    },
    wishes: async (nodeId) => JSON.parse(await find(nodeId)) as StoreWish[], // `noteWishes` wrote it
  }
}

function toWritten(row: WrittenRow): WrittenBundle {
  return { ...row, contents: row.contents === null ? null : JSON.parse(row.contents) } // `finish` wrote it
}
