import { isInfinite } from '../../../datetime.js'
import { END, START } from '../../records/record-plan.js'
import type { LoaderTable, Span } from '../../tables.js'
import type { CellVisitor, TimedCellVisitor } from '../../themes.js'
import type { Rows, Value } from '../connection/database.js'
import { columnName, LOCATION_SQL, rowsName } from '../tables/ddl.js'
import { MAX_TIMES } from '../tables/row-bounds.js'
import { readStored } from '../tables/stored-values.js'
import { TOO_MANY_TIMES } from '../tables/table-state.js'
import { spanSql, sqlColumn } from './query.js'

/** Rows of one statement. */
const PAGE_ROWS = 4096

/**
 * Visits the cells of a theme that are valid at an instant: start ≤ instant < end.
 *
 * @param levelColumn integer column of levels; rows without a level or a geometry are skipped
 * @param instantUs µs UTC
 */
export async function readCells(
  rows: Rows,
  table: LoaderTable,
  levelColumn: string,
  instantUs: bigint,
  visit: CellVisitor,
): Promise<void> {
  const span = { fromUs: instantUs, untilUs: instantUs + 1n }
  const values: Value[] = []
  const where = spanSql(span, (value) => `$${values.push(value)}`)
  await visitCells(rows, table, levelColumn, { where, values }, visit)
}

/**
 * Visits the cells of a theme that are valid at some time of a span.
 *
 * @param levelColumn integer column of levels; rows without a level or a geometry are skipped
 */
export async function readTimedCells(
  rows: Rows,
  table: LoaderTable,
  levelColumn: string,
  span: Span,
  visit: TimedCellVisitor,
): Promise<void> {
  const values: Value[] = []
  const bind = (value: Value) => `$${values.push(value)}`
  // unlike at an instant, a cell that ends where it starts is in no span that starts there
  const where = [...spanSql(span, bind), `(${END_SQL} IS NULL OR ${END_SQL} > ${bind(span.fromUs)}::bigint)`]
  await visitCells(rows, table, levelColumn, { where, values }, visit)
}

const START_SQL = `t.${columnName(START)}`
const END_SQL = `t.${columnName(END)}`

async function visitCells(
  rows: Rows,
  table: LoaderTable,
  levelColumn: string,
  { where, values }: { readonly where: readonly string[]; readonly values: readonly Value[] },
  visit: TimedCellVisitor,
): Promise<void> {
  const level = sqlColumn(table, levelColumn).sql
  const after = `$${values.length + 1}::bigint`
  const sql = `SELECT t.row_id, ${LOCATION_SQL}, ${level}, ${START_SQL}, ${END_SQL} FROM ${rowsName(table)} AS t
    WHERE ${where.join(' AND ')} AND ${LOCATION_SQL} IS NOT NULL AND ${level} IS NOT NULL AND t.row_id > ${after}
    ORDER BY t.row_id LIMIT ${PAGE_ROWS}`
  for (let last = '0'; ; ) {
    const page = await rows.lists(sql, [...values, last], 'once')
    for (const [, wkb, value, startUs, endUs] of page)
      visit(readStored('bytea', wkb) as Uint8Array, Number(value), finite(startUs), finite(endUs))
    const edge = page.at(-1)?.[0]
    if (page.length < PAGE_ROWS || typeof edge !== 'string') return
    last = edge
  }
}

/** An infinite start or end is an open one. */
function finite(text: string | null | undefined): bigint | null {
  const us = readStored('bigint', text) as bigint | null
  return us === null || isInfinite(us) ? null : us
}

/**
 * Returns the instants at which rows of a table begin or end, ascending, µs UTC: between two of them the valid rows
 * are the same. Instants of rows that were overwritten are among them.
 *
 * @returns undefined when there are more than `MAX_TIMES`
 */
export async function changeTimes(rows: Rows, { tableId }: LoaderTable): Promise<bigint[] | undefined> {
  const count = 'SELECT time_count AS count FROM loader_state WHERE table_id = $1'
  const found = await rows.get<{ count: number }>(count, tableId)
  if (found?.count === TOO_MANY_TIMES) return undefined
  const sql = `SELECT at_us FROM loader_change WHERE table_id = $1 ORDER BY at_us LIMIT ${MAX_TIMES}`
  const times = await rows.lists(sql, [tableId], 'kept')
  return times.map(([us]) => BigInt(us ?? 0))
}
