import { addDigest, createRowDigest, type DigestSum, noRows } from '../../exchange/row-digest.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { changedAfterSql } from './changed-sql.js'
import { sqlTypeOf } from './ddl.js'
import { sumNumber } from './digest-sums.js'
import { arrayText, readValues } from './stored-values.js'
import { lockTable } from './table-state.js'
import { SUM_BASE } from './write-sql.js'

/*
 * Sums of the digests of rows by origin and day, in `loader_digest_day`. Rows whose last change is `counted` or an
 * earlier one are in them. Where `counted` is the last change of the table, each write keeps it so. Else a write only
 * takes away the rows that it replaces, and `countRows` goes on.
 */

/** State of the sums of a table. */
export interface Counting {
  readonly counted: number
  /** number of the last change of the table */
  readonly last: number
}

/** Returns the state of the sums of a table; undefined for one that is not counted. */
export async function countingOf(
  rows: Rows,
  { tableId }: Pick<TableRef, 'tableId'>,
): Promise<Counting | undefined> {
  const sql =
    'SELECT counted, last_change AS last FROM loader_state WHERE table_id = $1 AND counted IS NOT NULL'
  return await rows.get<Counting>(sql, tableId)
}

/** Rows that are counted at once when counting begins. */
const FIRST_ROWS = 1000
/** Rows that are read at a time. */
const READ_ROWS = 500

/**
 * Begins to count the rows of a table, unless it is counted. To be run in a transaction.
 *
 * @throws AppError UNKNOWN_TABLE
 */
export async function beginCounting(rows: Rows, table: LoaderTable): Promise<void> {
  const { counted } = await lockTable(rows, table)
  if (counted !== null) return
  await rows.run('UPDATE loader_state SET counted = 0 WHERE table_id = $1', table.tableId)
  await countRows(rows, table, FIRST_ROWS) // a small table needs no more
}

/** Forgets the sums of a table that is counted: its rows are to be counted again. To be run in a transaction. */
export async function restartCounting(rows: Rows, { tableId }: Pick<TableRef, 'tableId'>): Promise<void> {
  const sql = 'UPDATE loader_state SET counted = 0 WHERE table_id = $1 AND counted IS NOT NULL'
  await rows.run(sql, tableId)
  await rows.run('DELETE FROM loader_digest_day WHERE table_id = $1', tableId)
}

/** Forgets the sums of rows that are gone: the digests of rows have changed with their columns. To be run in a transaction. */
export async function forgetRemovedSums(rows: Rows, { tableId }: Pick<TableRef, 'tableId'>): Promise<void> {
  await rows.run('UPDATE loader_removed_day SET sum = NULL WHERE table_id = $1', tableId)
}

/**
 * Counts more rows. To be run in a transaction.
 *
 * @param table with all of its columns
 * @param limit most rows
 * @returns true when none is left, or the table is not counted
 */
export async function countRows(rows: Rows, table: LoaderTable, limit: number): Promise<boolean> {
  const state = await lockTable(rows, table)
  if (state.counted === null) return true
  const types = table.columns.map(sqlTypeOf)
  const digest = createRowDigest(table.columns)
  const sums = new Map<string, { originId: string; day: string; sum: DigestSum }>()
  let counted = state.counted
  let isDone = false
  for (let left = limit; left > 0 && !isDone; left -= READ_ROWS) {
    const most = Math.min(left, READ_ROWS)
    const found = await rows.lists(changedAfterSql(table, 't.origin'), [counted, most], 'kept')
    for (const row of found) {
      const [, originId, day] = row as string[]
      const at = `${originId} ${day}`
      const known = sums.get(at) ?? { originId: String(originId), day: String(day), sum: noRows() }
      sums.set(at, known)
      addDigest(known.sum, digest(readValues(types, row, CHANGED_HEAD)))
    }
    counted = Number(found.at(-1)?.[0] ?? counted)
    isDone = found.length < most
  }
  const all = [...sums.values()]
  await rows.run(
    `INSERT INTO loader_digest_day AS d (table_id, origin_id, day, rows, sum)
     SELECT $1::bigint, * FROM unnest($2::integer[], $3::integer[], $4::bigint[], $5::numeric[])
     ON CONFLICT (table_id, origin_id, day)
       DO UPDATE SET rows = d.rows + excluded.rows, sum = mod(d.sum + excluded.sum, ${SUM_BASE})`,
    table.tableId,
    `{${all.map(({ originId }) => originId).join(',')}}`,
    `{${all.map(({ day }) => day).join(',')}}`,
    arrayText(
      'bigint',
      all.map(({ sum }) => sum.rows),
    ),
    arrayText(
      'bigint',
      all.map(({ sum }) => sumNumber(sum)),
    ),
  )
  const keep = 'UPDATE loader_state SET counted = $2 WHERE table_id = $1'
  await rows.run(keep, table.tableId, isDone ? state.lastChange : counted)
  return isDone
}

/** Values of a row of `changedAfterSql` before those of the columns. */
const CHANGED_HEAD = 5
