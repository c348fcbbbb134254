import { joinDays } from '../../exchange/day-sums.js'
import { readSum } from '../../exchange/row-digest.js'
import type { DaySum, TableDigests, TableSums, UncountedTable } from '../../exchange/table-digests.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { WriteLock } from '../../work/write-lock.js'
import { type Db, retryBusy, statement, transaction } from '../connection/database.js'
import { findTableById } from '../tables/catalog.js'
import { beginCounting, countingOf, countRows, isCounted, restartCounting } from '../tables/row-digests.js'
import { findReceivedFeed } from './inbox.js'

interface DigestConnection {
  /** sees committed rows only */
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  readonly lock: WriteLock
}

/** Creates the sums of the tables of `data.db`. */
export function createTableDigests({ reader, writer, lock }: DigestConnection): TableDigests {
  const write = <T>({ tableId }: TableRef, work: (table: LoaderTable) => T): Promise<T | undefined> =>
    lock.run(() =>
      retryBusy(() =>
        transaction(writer, () => {
          const table = findTableById(writer, tableId)
          return table === undefined ? undefined : work(table)
        }),
      ),
    )
  const readOne = <T>(work: () => T): T => reader.transaction(work)()
  return {
    async begin(table) {
      if (!isCounted(reader, table)) await write(table, (found) => beginCounting(writer, found))
    },
    async restart(table) {
      await write(table, (found) => restartCounting(writer, found))
    },
    count: async (table, limit) => (await write(table, (found) => countRows(writer, found, limit))) ?? true,
    read: async (table, origins) => readOne(() => readSums(reader, table, origins)),
    received: async (sender, feed, origins) =>
      readOne(() => {
        const found = findReceivedFeed(reader, sender, feed)
        const sums = found === undefined ? undefined : readSums(reader, found.table, origins)
        return found === undefined || sums === undefined ? undefined : { ...found, ...sums }
      }),
    removed: async (table) => readRemoved(reader, table),
    uncounted: async () => readOne(() => findUncounted(reader)),
  }
}

function readSums(db: Db, table: LoaderTable, origins: readonly string[] | null): TableSums | undefined {
  const state = countingOf(db, table)
  if (state === undefined) return undefined
  const { counted, last, isStale } = state
  const isWanted = origins === null ? '' : 'AND o.node_id IN (SELECT value FROM json_each(@origins))'
  const rows = statement<DayRow>(
    db,
    `SELECT o.node_id AS origin, d.day, d.rows, d.sum, d.removed FROM (
       SELECT origin_id, day, rows, sum, 0 AS removed FROM loader_digest_day WHERE table_id = @tableId
       UNION ALL SELECT origin_id, day, rows, sum, rows FROM loader_removed_day WHERE table_id = @tableId
     ) AS d JOIN row_origin AS o USING (origin_id) WHERE 1 ${isWanted} ORDER BY o.node_id, d.day`,
  ).all({ tableId: table.tableId, origins: JSON.stringify(origins) })
  const days = joinDays(
    rows.map(({ sum, rows: count, ...day }) => ({
      ...day,
      sum: sum === null ? undefined : readSum(count, sum),
    })),
  )
  return { last, isWhole: !isStale && counted === last, days }
}

/** Rows of a day that are there, or that are gone. */
interface DayRow {
  origin: string
  day: number
  rows: number
  /** null for rows that are gone whose digests are not known */
  sum: Uint8Array | null
  removed: number
}

function readRemoved(db: Db, { tableId }: TableRef): Pick<DaySum, 'origin' | 'day' | 'removed'>[] {
  return statement<Pick<DaySum, 'origin' | 'day' | 'removed'>>(
    db,
    `SELECT o.node_id AS origin, day, rows AS removed FROM loader_removed_day JOIN row_origin AS o USING (origin_id)
     WHERE table_id = ? ORDER BY o.node_id, day`,
  ).all(tableId)
}

function findUncounted(db: Db): UncountedTable[] {
  const ids = statement<{ table_id: number }>(db, 'SELECT table_id FROM loader_digest').all()
  return ids.flatMap(({ table_id: tableId }) => {
    const table = findTableById(db, tableId)
    const state = table === undefined ? undefined : countingOf(db, table)
    if (table === undefined || state === undefined) return [] // no test: a dropped table takes its sums along
    const { counted, last, isStale } = state
    if (!isStale && counted === last) return []
    return [{ table, share: isStale ? 0 : counted / last, isStale }]
  })
}
