import { START } from '../../records/record-plan.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { columnName, periodSql, rowsName } from '../tables/ddl.js'
import type { TablesContext } from '../tables/store.js'
import { lockedState, lockSql } from '../tables/table-state.js'
import { readOldestUs } from './facts.js'

/** Instants that are not worth a look for those of rows that are gone. */
const FEW_INSTANTS = 256
/** Most rows around the time of the oldest one that are looked at. */
const MAX_AROUND = 20_000

/** Rows that were gone when the instants of a table were looked at last. */
export type Pruned = Map<number, number>

/**
 * Removes instants at which no row begins or ends any more, of before the time of the oldest row, so that a table of slots that
 * come and go keeps its log. It looks once after rows have gone. Cost: some milliseconds.
 *
 * @returns false: one call does it
 */
export async function pruneInstants(
  { db, catalog }: Pick<TablesContext, 'db' | 'catalog'>,
  ref: TableRef,
  pruned: Pruned,
): Promise<false> {
  const sql = 'SELECT time_count AS count, gone FROM loader_state WHERE table_id = $1 AND gone > 0'
  const found = await db.read.get<{ count: number; gone: number }>(sql, ref.tableId)
  if (found === undefined || found.count < FEW_INSTANTS || pruned.get(ref.tableId) === found.gone)
    return false
  await db.write(
    async (rows, attempt) => {
      const table = attempt.first === undefined ? undefined : await catalog.findById(rows, ref.tableId)
      if (table !== undefined && lockedState(ref, attempt).timeCount >= FEW_INSTANTS) await prune(rows, table)
    },
    { first: lockSql(ref) },
  )
  pruned.set(ref.tableId, found.gone)
  return false
}

async function prune(rows: Rows, table: LoaderTable): Promise<void> {
  const oldestUs = await readOldestUs(rows, table)
  if (oldestUs === null) return
  // rows that end later may have begun before
  const start = `t.${columnName(START)}`
  const around = `SELECT ${start} FROM ${rowsName(table)} AS t
    WHERE ${periodSql('t.')} && int8range($1::bigint, $1::bigint, '[]') AND ${start} IS NOT NULL
    LIMIT ${MAX_AROUND + 1}`
  const begun = await rows.lists(around, [oldestUs], 'once')
  if (begun.length > MAX_AROUND) return
  const kept = [...new Set(begun.map(([us]) => BigInt(us ?? 0)))]
  await rows.run(
    `WITH pruned AS (DELETE FROM loader_change WHERE table_id = $1 AND at_us < $2::bigint
       AND at_us <> ALL ($3::bigint[]) RETURNING 1)
     UPDATE loader_state SET time_count = time_count - (SELECT count(*) FROM pruned) WHERE table_id = $1`,
    ...[table.tableId, oldestUs, kept],
  )
}
