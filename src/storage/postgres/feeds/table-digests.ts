import { type DayPart, joinDays } from '../../exchange/day-sums.js'
import type { DaySum, TableDigests, TableSums, UncountedTable } from '../../exchange/table-digests.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { readSumNumber } from '../tables/digest-sums.js'
import { beginCounting, countingOf, countRows, restartCounting } from '../tables/row-digests.js'
import type { TablesContext } from '../tables/store.js'
import type { CursorRow } from './cursors.js'

/** Creates the sums of the tables of a hub. */
export function createTableDigests({ db, catalog }: TablesContext): TableDigests {
  const write = <T>({ tableId }: TableRef, work: (rows: Rows, table: LoaderTable) => Promise<T>) =>
    db.write(async (rows) => {
      const table = await catalog.findById(rows, tableId)
      return table === undefined ? undefined : await work(rows, table)
    })
  return {
    async begin(table) {
      if ((await countingOf(db.read, table)) === undefined) await write(table, beginCounting)
    },
    async restart(table) {
      await write(table, restartCounting)
    },
    count: async (table, limit) =>
      (await write(table, (rows, found) => countRows(rows, found, limit))) ?? true,
    async read({ tableId }, origins) {
      const found =
        origins === null
          ? await db.read.all<SumRow>(READ.all, tableId)
          : await db.read.all<SumRow>(READ.some, tableId, origins)
      return sumsOf(found)
    },
    async received(sender, feed, origins) {
      const found =
        origins === null
          ? await db.read.all<SumRow & CursorRow>(RECEIVED.all, sender, feed)
          : await db.read.all<SumRow & CursorRow>(RECEIVED.some, sender, feed, origins)
      const [first] = found
      const table = first === undefined ? undefined : await catalog.findById(db.read, first.tableId)
      const sums = sumsOf(found)
      if (first === undefined || table === undefined || sums === undefined) return undefined
      const { senderTable, epoch, digest, cursor } = first
      return { sender, feed, senderTable, epoch, digest, cursor, table, ...sums }
    },
    removed: ({ tableId }) => db.read.all<Pick<DaySum, 'origin' | 'day' | 'removed'>>(REMOVED, tableId),
    async uncounted() {
      const tables = await catalog.list(db.read)
      const found = await Promise.all(tables.map((table) => uncountedOf(db.read, table)))
      return found.filter((one) => one !== undefined)
    },
  }
}

/** A day of a table, with the state of all of its sums. */
interface SumRow {
  counted: number
  last: number
  /** null where no day has rows */
  origin: string | null
  day: number
  rows: number
  /** null for rows that are gone whose digests are not known */
  sum: string | null
  removed: number
}

/** Days of a table, as of the same state as the numbers beside them. @param which condition on the origins */
const days = (
  which: string,
) => `LEFT JOIN LATERAL (SELECT o.node_id AS origin, d.day, d.rows, d.sum, d.removed FROM (
      SELECT origin_id, day, rows, sum, 0::bigint AS removed FROM loader_digest_day
        WHERE table_id = s.table_id AND rows <> 0 ${which}
      UNION ALL SELECT origin_id, day, rows, sum, rows FROM loader_removed_day WHERE table_id = s.table_id ${which}
    ) AS d JOIN row_origin AS o USING (origin_id)) AS d ON true`
/**
 * Condition on the origins that a parameter lists, null for all. Their ids are known before the days are read, so that
 * those are found by the key: a table of a fleet has days of thousands of gateways.
 */
const ofOrigins = (parameter: string | null) =>
  parameter === null
    ? ''
    : `AND origin_id = ANY (ARRAY(SELECT origin_id FROM row_origin WHERE node_id = ANY (${parameter}::text[])))`
const SUMS = 's.counted, s.last_change AS last, d.origin, d.day, d.rows, d.sum, d.removed'
const readSql = (origins: string | null) => `SELECT ${SUMS} FROM loader_state AS s ${days(ofOrigins(origins))}
  WHERE s.table_id = $1 AND s.counted IS NOT NULL ORDER BY d.origin, d.day`
const receivedSql = (
  origins: string | null,
) => `SELECT ${SUMS}, c.sender_table AS "senderTable", c.epoch, c.digest, c.cursor, c.table_id AS "tableId"
  FROM feed_cursor AS c JOIN loader_state AS s USING (table_id) ${days(ofOrigins(origins))}
  WHERE c.sender = $1 AND c.feed = $2 AND s.counted IS NOT NULL ORDER BY d.origin, d.day`
const READ = { all: readSql(null), some: readSql('$2') }
const RECEIVED = { all: receivedSql(null), some: receivedSql('$3') }
const REMOVED = `SELECT o.node_id AS origin, day, rows AS removed
  FROM loader_removed_day JOIN row_origin AS o USING (origin_id) WHERE table_id = $1 ORDER BY o.node_id, day`

/** @returns undefined for a table that is not counted */
function sumsOf(found: readonly SumRow[]): TableSums | undefined {
  const [first] = found
  if (first === undefined) return undefined
  return {
    last: first.last,
    isWhole: first.counted === first.last,
    days: joinDays(found.flatMap(partOf)),
  }
}

function partOf({ origin, day, rows, sum, removed }: SumRow): DayPart[] {
  if (origin === null) return []
  return [{ origin, day, sum: sum === null ? undefined : readSumNumber(rows, sum), removed }]
}

async function uncountedOf(rows: Rows, table: LoaderTable): Promise<UncountedTable | undefined> {
  const state = await countingOf(rows, table)
  if (state === undefined || state.counted === state.last) return undefined
  return { table, share: state.counted / state.last, isStale: false }
}
