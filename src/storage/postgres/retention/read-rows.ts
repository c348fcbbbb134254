import { MIN_US, MINUS_INFINITY_US } from '../../../datetime.js'
import { type ReadRow, seriesOf, type WantedChanges, type WantedRows } from '../../removal/thin-pass.js'
import type { AgePlace, ThinRule } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import type { Rows, TextRow } from '../connection/database.js'
import { AGE_SQL, CHANGE_SQL, columnName, rowsName, sqlTypeOf } from '../tables/ddl.js'
import { readStored } from '../tables/stored-values.js'

/** A row with its place in the order of ages. */
export interface AgedRow extends AgePlace {
  /** number of its last change */
  readonly change: number
}

const SELECTED = `t.row_id, ${CHANGE_SQL}`
const MAX_INT64 = 2n ** 63n - 1n

/** Reads rows in the order of their arrival, for tables without a rule; their places have no time. */
export function readArrived(
  rows: Rows,
  table: LoaderTable,
  after: AgePlace | null,
  limit: number,
): Promise<AgedRow[]> {
  const sql = `SELECT ${SELECTED}, NULL FROM ${rowsName(table)} AS t WHERE t.row_id > $1::bigint
    ORDER BY t.row_id LIMIT $2::bigint`
  return read(rows, sql, [after?.rowId ?? 0, limit])
}

/** Reads rows in the order of their age: those without a time first, in the order of their arrival. */
export async function readOldest(
  rows: Rows,
  table: LoaderTable,
  after: AgePlace | null,
  limit: number,
): Promise<AgedRow[]> {
  const isTimed = after !== null && after.atUs !== null
  const timeless = isTimed ? [] : await readTimeless(rows, table, after?.rowId ?? 0, limit)
  if (timeless.length === limit) return timeless
  const from = isTimed ? after : { atUs: MINUS_INFINITY_US, rowId: 0 }
  const most = { after: from, limit: limit - timeless.length }
  return [...timeless, ...(await readTimed(rows, table, most, MAX_INT64))]
}

/** Reads rows whose time is up to an instant in the order of their age; infinite times are none. */
export function readAged(
  rows: Rows,
  table: LoaderTable,
  { after, limit }: { after: AgePlace | null; limit: number },
  untilUs: bigint,
): Promise<AgedRow[]> {
  return readTimed(rows, table, { after: after ?? { atUs: MIN_US, rowId: 0 }, limit }, untilUs)
}

function readTimeless(rows: Rows, table: LoaderTable, afterRow: number, limit: number): Promise<AgedRow[]> {
  const sql = `SELECT ${SELECTED}, NULL FROM ${rowsName(table)} AS t
    WHERE ${AGE_SQL} IS NULL AND t.row_id > $1::bigint ORDER BY t.row_id LIMIT $2::bigint`
  return read(rows, sql, [afterRow, limit])
}

function readTimed(
  rows: Rows,
  table: LoaderTable,
  { after, limit }: { after: AgePlace; limit: number },
  untilUs: bigint,
): Promise<AgedRow[]> {
  const sql = `SELECT ${SELECTED}, ${AGE_SQL} FROM ${rowsName(table)} AS t
    WHERE (${AGE_SQL}, t.row_id) > ($1::bigint, $2::bigint) AND ${AGE_SQL} <= $3::bigint
    ORDER BY ${AGE_SQL}, t.row_id LIMIT $4::bigint`
  return read(rows, sql, [after.atUs, after.rowId, untilUs, limit])
}

async function read(
  rows: Rows,
  sql: string,
  params: readonly (number | bigint | null)[],
): Promise<AgedRow[]> {
  const found = await rows.lists(sql, params, 'kept')
  return found.map(([rowId, change, atUs]) => ({
    ...{ rowId: Number(rowId), change: Number(change) },
    atUs: atUs == null ? null : BigInt(atUs),
  }))
}

/** Reads the times of rows that came, changed or were sent after their intervals were looked at. */
export async function readLate(
  rows: Rows,
  table: LoaderTable,
  { after, until, beforeUs }: WantedChanges,
): Promise<bigint[]> {
  const isLate = `${AGE_SQL} >= ${MIN_US} AND ${AGE_SQL} < $3::bigint`
  const part = (number: string, isPut: string) =>
    `SELECT ${AGE_SQL} FROM ${rowsName(table)} AS t
     WHERE ${number} > $1::bigint AND ${number} <= $2::bigint AND ${isPut} AND ${isLate}`
  const sql = `${part('t.row_id', 't.change IS NULL')} UNION ALL ${part('t.change', 't.change IS NOT NULL')}`
  const found = await rows.lists(sql, [after, until, beforeUs], 'kept')
  return found.map(([us]) => BigInt(us ?? 0)) // none is null: it is before an instant
}

/** Reads the rows that a pass of thinning looks at. @param columns those that its action reads */
export async function readThinned(
  rows: Rows,
  table: LoaderTable,
  { rule, columns }: { rule: ThinRule; columns: readonly string[] },
  { atUs, rowId, untilUs, limit }: WantedRows,
): Promise<ReadRow[]> {
  const slots = [...rule.by, ...columns].map((name) => slotOfColumn(table, name))
  const values = slots.map((slot) => `t.${columnName(slot)}`)
  const sql = `SELECT ${[SELECTED, 't.origin', AGE_SQL, ...values].join(', ')} FROM ${rowsName(table)} AS t
    WHERE (${AGE_SQL}, t.row_id) > ($1::bigint, $2::bigint) AND ${AGE_SQL} < $3::bigint
    ORDER BY ${AGE_SQL}, t.row_id LIMIT $4::bigint`
  const found = await rows.lists(sql, [atUs, rowId, untilUs, limit], 'kept')
  return found.map((row) => toReadRow(table, slots, rule.by.length, row))
}

/** Returns the position of a column. @throws Error for a column that the table has not: rules are checked */
export function slotOfColumn({ columns, dataName }: LoaderTable, name: string): number {
  const slot = columns.findIndex((column) => column.name === name)
  if (slot < 0) throw new Error(`the table ${dataName} has no column ${name}`)
  return slot
}

function toReadRow(
  { columns }: LoaderTable,
  slots: readonly number[],
  series: number,
  [id, change, origin, atUs, ...texts]: TextRow,
): ReadRow {
  const values = slots.map((slot, at) => {
    const column = columns[slot]
    return column === undefined ? null : readStored(sqlTypeOf(column), texts[at])
  })
  const key = values.slice(0, series)
  return {
    ...{ rowId: Number(id), change: Number(change), originId: Number(origin), atUs: BigInt(atUs ?? 0) },
    ...{ series: seriesOf(Number(origin), key), key, values: values.slice(series) },
  }
}
