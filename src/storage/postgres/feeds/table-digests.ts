import type { TableDigests, TableSums, UncountedTable } from '../../exchange/table-digests.js'
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
      return sumsOf(await db.read.all<SumRow>(READ, tableId, origins))
    },
    async received(sender, feed, origins) {
      const found = await db.read.all<SumRow & CursorRow>(RECEIVED, sender, feed, origins)
      const [first] = found
      const table = first === undefined ? undefined : await catalog.findById(db.read, first.tableId)
      const sums = sumsOf(found)
      if (first === undefined || table === undefined || sums === undefined) return undefined
      const { senderTable, epoch, digest, cursor } = first
      return { sender, feed, senderTable, epoch, digest, cursor, table, ...sums }
    },
    removed: async () => [], // no row of a hub goes by retention
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
  sum: string
}

/** Days of the origins that are asked for, as of the same state as the numbers beside them. */
const days = (origins: string) => `LEFT JOIN (SELECT d.table_id, o.node_id AS origin, d.day, d.rows, d.sum
    FROM loader_digest_day AS d JOIN row_origin AS o USING (origin_id)
    WHERE d.rows <> 0 AND (${origins}::text[] IS NULL OR o.node_id = ANY (${origins}::text[]))) AS d USING (table_id)`
const SUMS = 's.counted, s.last_change AS last, d.origin, d.day, d.rows, d.sum'
const READ = `SELECT ${SUMS} FROM loader_state AS s ${days('$2')}
  WHERE s.table_id = $1 AND s.counted IS NOT NULL ORDER BY d.origin, d.day`
const RECEIVED = `SELECT ${SUMS}, c.sender_table AS "senderTable", c.epoch, c.digest, c.cursor, c.table_id AS "tableId"
  FROM feed_cursor AS c JOIN loader_state AS s USING (table_id) ${days('$3')}
  WHERE c.sender = $1 AND c.feed = $2 AND s.counted IS NOT NULL ORDER BY d.origin, d.day`

/** @returns undefined for a table that is not counted */
function sumsOf(found: readonly SumRow[]): TableSums | undefined {
  const [first] = found
  if (first === undefined) return undefined
  return {
    last: first.last,
    isWhole: first.counted === first.last,
    days: found.flatMap(({ origin, day, rows, sum }) =>
      origin === null ? [] : [{ origin, day, sum: readSumNumber(rows, sum), removed: 0 }],
    ),
  }
}

async function uncountedOf(rows: Rows, table: LoaderTable): Promise<UncountedTable | undefined> {
  const state = await countingOf(rows, table)
  if (state === undefined || state.counted === state.last) return undefined
  return { table, share: state.counted / state.last, isStale: false }
}
