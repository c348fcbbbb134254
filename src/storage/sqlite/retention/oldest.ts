import { MIN_US, MINUS_INFINITY_US } from '../../../datetime.js'
import type { AgePlace } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { ROW_CHANGE, ROW_ID, ROW_ORIGIN, tableSql } from '../tables/ddl.js'
import { AGE_TIME } from './age-index.js'

/** A row with its place in the order of ages. */
export interface AgedRow extends AgePlace {
  /** number of its last change */
  readonly change: number
  /** id of `row_origin` */
  readonly originId: number
}

type Found = [rowId: bigint, change: bigint, originId: bigint, atUs: bigint | null]

const SELECTED = `${ROW_ID}, coalesce(${ROW_CHANGE}, ${ROW_ID}), ${ROW_ORIGIN}`

/** Reads rows in the order of their arrival, for tables without an index of ages; their places have no time. */
export function readArrived(db: Db, table: LoaderTable, after: AgePlace | null, limit: number): AgedRow[] {
  const sql = `SELECT ${SELECTED}, NULL FROM ${tableSql(table)} WHERE ${ROW_ID} > ? ORDER BY ${ROW_ID} LIMIT ?`
  return read(db, sql, [after?.rowId ?? 0, limit])
}

/** Reads rows in the order of their age: those without a time first, in the order of their arrival. */
export function readOldest(db: Db, table: LoaderTable, after: AgePlace | null, limit: number): AgedRow[] {
  const isTimed = after !== null && after.atUs !== null
  const timeless = isTimed ? [] : readTimeless(db, table, after?.rowId ?? 0, limit)
  if (timeless.length === limit) return timeless
  const from = isTimed ? after : { atUs: MINUS_INFINITY_US, rowId: 0 }
  const most = { after: from, limit: limit - timeless.length }
  return [...timeless, ...readTimed(db, table, most, MAX_INT64)]
}

/** Reads rows whose time is up to an instant in the order of their age; infinite times are none. */
export function readAged(
  db: Db,
  table: LoaderTable,
  { after, limit }: { after: AgePlace | null; limit: number },
  untilUs: bigint,
): AgedRow[] {
  return readTimed(db, table, { after: after ?? { atUs: MIN_US, rowId: 0 }, limit }, untilUs)
}

const MAX_INT64 = 2n ** 63n - 1n

function readTimeless(db: Db, table: LoaderTable, afterRow: number, limit: number): AgedRow[] {
  const sql = `SELECT ${SELECTED}, NULL FROM ${tableSql(table)} WHERE ${AGE_TIME} IS NULL AND ${ROW_ID} > ?
    ORDER BY ${ROW_ID} LIMIT ?`
  return read(db, sql, [afterRow, limit])
}

function readTimed(
  db: Db,
  table: LoaderTable,
  { after, limit }: { after: AgePlace; limit: number },
  untilUs: bigint,
): AgedRow[] {
  // an OR of both members of the place would be no range of the index
  const sql = `SELECT ${SELECTED}, ${AGE_TIME} FROM ${tableSql(table)}
    WHERE ${AGE_TIME} >= @at AND ${AGE_TIME} <= @until AND (${AGE_TIME} > @at OR ${ROW_ID} > @row)
    ORDER BY ${AGE_TIME}, ${ROW_ID} LIMIT @limit`
  return read(db, sql, [{ at: after.atUs, row: after.rowId, until: untilUs, limit }])
}

function read(db: Db, sql: string, params: readonly unknown[]): AgedRow[] {
  return statement<Found>(db, sql)
    .raw()
    .safeIntegers()
    .all(...params)
    .map(([rowId, change, originId, atUs]) => ({
      ...{ rowId: Number(rowId), change: Number(change), originId: Number(originId) },
      atUs,
    }))
}
