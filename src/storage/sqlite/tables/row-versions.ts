import type { Stored } from '../../columns/column-type.js'
import { isEqual } from '../../records/is-equal.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { ROW_DAY, ROW_ORIGIN, ROW_VERSION, tableSql } from './ddl.js'

/*
 * Version of a row: a number that grows with each write at its origin, also when the origin was restored from an older
 * backup, or has dropped the table and registered it again. It travels with the row. Where rows come by several ways, as
 * in a circle of nodes, or by a link and a file, each node keeps the newest version, whatever the order in which they
 * arrive; without it two versions would chase each other for ever.
 *
 * At the origin nothing is stored for it: the version is the number of the row's last change, counted from the time at
 * which the table was registered or the data restored, whichever is later. Fewer rows are written than microseconds pass.
 */

/** Returns what is added to a change number of this gateway's rows of a table to make their version. */
export function versionBase(db: Db, { tableId }: Pick<LoaderTable, 'tableId'>): number {
  const sql = `SELECT max(created_at_us, (SELECT max(epoch) FROM feed_epoch)) FROM loader_table WHERE table_id = ?`
  // no test: the caller has just found the table
  return statement<number>(db, sql).pluck().get(tableId) ?? 0
}

/** Row of another node, as far as it is compared. */
export interface SentState {
  readonly values: readonly Stored[]
  readonly day: number
  /** 0 where it is not known */
  readonly version: number
}

/**
 * Creates a test of whether a row that another node sent is no news: an older version than that which is stored, or the
 * same with the same values. Cost: a search of the key.
 *
 * @param originId origin of the rows, an id of `row_origin`
 */
export function createNewsTest(db: Db, table: LoaderTable, originId: number): (row: SentState) => boolean {
  const slots = table.uniqueColumns.map((name) => table.columns.findIndex((column) => column.name === name))
  const isKey = table.uniqueColumns.map((name) => `${identifier(name)} = ?`).join(' AND ')
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const find = statement<[version: bigint, day: bigint, ...values: Stored[]]>(
    db,
    `SELECT coalesce(${ROW_VERSION}, 0), ${ROW_DAY}, ${names} FROM ${tableSql(table)}
     WHERE ${isKey} AND ${ROW_ORIGIN} = ?`,
  )
    .raw()
    .safeIntegers()
  return ({ values, day, version }) => {
    const found = find.get(
      slots.map((slot) => values[slot]),
      originId,
    )
    if (found === undefined) return true
    const [storedVersion, storedDay, ...stored] = found
    if (Number(storedVersion) !== version) return Number(storedVersion) < version
    return Number(storedDay) !== day || !stored.every((value, slot) => isEqual(value, values[slot] as Stored))
  }
}
