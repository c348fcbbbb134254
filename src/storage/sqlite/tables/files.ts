import type { FilePlace, LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { listTables } from './catalog.js'
import { ROW_ID, tableSql } from './ddl.js'
import { findHistory } from './history.js'

/** Digests that are read at a time. */
const PAGE_ROWS = 1000

/** Returns the digest of the file that a row stores at a place; that of the newest row when several do. */
export function findFile(db: Db, table: LoaderTable, place: FilePlace): string | undefined {
  for (const { name, file } of table.columns) {
    if (file === null) continue
    const sql = `SELECT ${identifier(name)} FROM ${tableSql(table)} WHERE ${identifier(file.pathIdColumn)} = ?
      AND ${identifier(file.nameColumn)} = ? AND ${identifier(file.prefixIdColumn)} = ? AND ${identifier(name)} IS NOT NULL
      ORDER BY ${ROW_ID} DESC LIMIT 1`
    const digest = statement<string>(db, sql).pluck().get(place.pathId, place.name, place.prefixId)
    if (digest !== undefined) return digest
  }
  return undefined
}

/** Returns true when a row stores a file of another digest at a place. */
export function hasOtherFile(db: Db, table: LoaderTable, place: FilePlace, digest: string): boolean {
  return table.columns.some(({ name, file }) => {
    if (file === null) return false
    const sql = `SELECT 1 FROM ${tableSql(table)} WHERE ${identifier(file.pathIdColumn)} = ?
      AND ${identifier(file.nameColumn)} = ? AND ${identifier(file.prefixIdColumn)} = ? AND ${identifier(name)} <> ? LIMIT 1`
    return statement(db, sql).get(place.pathId, place.name, place.prefixId, digest) !== undefined
  })
}

/**
 * Yields every digest that a file column holds, in tables and in the former rows that citations see. A digest
 * may occur more than once.
 */
export function* usedDigests(db: Db): Generator<string> {
  for (const table of listTables(db)) {
    const history = findHistory(db, table)
    for (const { name, file } of table.columns) {
      if (file === null) continue
      yield* digestsOf(db, tableSql(table), name)
      if (history !== undefined) yield* digestsOf(db, history, name)
    }
  }
}

/** @param from a quoted table name */
function* digestsOf(db: Db, from: string, column: string): Generator<string> {
  const sqlName = identifier(column)
  const page = db
    .prepare<[bigint, number], { id: bigint; digest: string }>(
      `SELECT rowid AS id, ${sqlName} AS digest FROM ${from} WHERE rowid > ? AND ${sqlName} IS NOT NULL
       ORDER BY rowid LIMIT ?`,
    )
    .safeIntegers()
  for (let afterId = 0n; ; ) {
    const rows = page.all(afterId, PAGE_ROWS)
    for (const row of rows) yield row.digest
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_ROWS) return
    afterId = last.id
  }
}
