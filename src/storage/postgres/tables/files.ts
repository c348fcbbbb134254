import type { Column, FilePlace, LoaderTable } from '../../tables.js'
import type { Rows } from '../connection/database.js'
import { columnName, keySql, rowsName } from './ddl.js'

/** Digests that are read at a time. */
const PAGE_ROWS = 10_000
/**
 * Key of the lock between calls that store files, which share it, and the sweep, which removes files that no row
 * names. It ends with the transaction.
 */
const LOCK_KEY = 0x66_69_6c_65 // 'file'

/** Statement with which a call that may store files begins its transaction. */
export const SHARE_FILES = `SELECT pg_advisory_xact_lock_shared(${LOCK_KEY})`
/** Statement with which a sweep begins its transaction. */
export const LOCK_FILES = `SELECT pg_advisory_xact_lock(${LOCK_KEY})`

/** SQL of the rows of a table with a file at a place, which is bound as path id, name and prefix id. */
function atPlace(table: LoaderTable, slot: number): string {
  const file = table.columns[slot]?.file
  const slotOf = (name: string | undefined) => table.columns.findIndex((column) => column.name === name)
  const isText = (name: string | undefined, param: string) => {
    const column = table.columns[slotOf(name)] as Column
    return `${keySql(column, columnName(slotOf(name)))} = ${keySql(column, `${param}::text`)}`
  }
  return `FROM ${rowsName(table)} WHERE ${isText(file?.pathIdColumn, '$1')} AND ${isText(file?.nameColumn, '$2')}
    AND ${columnName(slotOf(file?.prefixIdColumn))} = $3::bigint AND ${columnName(slot)} IS NOT NULL`
}

function fileSlots(table: LoaderTable): number[] {
  return [...table.columns.keys()].filter((slot) => table.columns[slot]?.file !== null)
}

/** Returns the digest of the file that a row stores at a place; that of the newest row when several do. */
export async function findFile(
  rows: Rows,
  table: LoaderTable,
  { pathId, name, prefixId }: FilePlace,
): Promise<string | undefined> {
  if (`${pathId}${name}`.includes('\0')) return undefined // no text of PostgreSQL has it
  for (const slot of fileSlots(table)) {
    const sql = `SELECT ${columnName(slot)} ${atPlace(table, slot)} ORDER BY row_id DESC LIMIT 1`
    const [row] = await rows.lists(sql, [pathId, name, prefixId], 'kept')
    if (row !== undefined) return row[0] ?? undefined
  }
  return undefined
}

/** Returns true when a row stores a file of another digest at a place. */
export async function hasOtherFile(
  rows: Rows,
  table: LoaderTable,
  { pathId, name, prefixId }: FilePlace,
  digest: string,
): Promise<boolean> {
  for (const slot of fileSlots(table)) {
    const sql = `SELECT 1 ${atPlace(table, slot)} AND ${columnName(slot)} <> $4 LIMIT 1`
    if ((await rows.lists(sql, [pathId, name, prefixId, digest], 'kept')).length > 0) return true
  }
  return false
}

/** Returns every digest that a file column of some tables holds. */
export async function usedDigests(rows: Rows, tables: readonly LoaderTable[]): Promise<Set<string>> {
  const used = new Set<string>()
  for (const table of tables)
    for (const slot of fileSlots(table)) {
      const column = columnName(slot)
      const sql = `SELECT row_id, ${column} FROM ${rowsName(table)} WHERE row_id > $1::bigint AND ${column} IS NOT NULL
        ORDER BY row_id LIMIT ${PAGE_ROWS}`
      for (let after = '0'; ; ) {
        const page = await rows.lists(sql, [after], 'once')
        for (const [, digest] of page) if (typeof digest === 'string') used.add(digest)
        const last = page.at(-1)?.[0]
        if (typeof last !== 'string' || page.length < PAGE_ROWS) break
        after = last
      }
    }
  return used
}
