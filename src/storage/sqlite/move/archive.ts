import { rmSync } from 'node:fs'
import { type Db, identifier, statement } from '../connection/database.js'
import { openFile } from '../connection/open-file.js'
import { findTableById } from '../tables/catalog.js'
import { dropTableSql } from '../tables/ddl.js'
import { usedDigests } from '../tables/files.js'

/** Tables of `data.db` with rows of loader tables, which go with a table that no citation names. */
const OF_TABLES = [
  ...['loader_segment', 'loader_change', 'loader_digest_day', 'loader_digest', 'loader_retention'],
  ...['loader_removed_day', 'feed_cursor'],
]

/** Content of an archive. */
export interface Archive {
  readonly datasets: number
  readonly citations: number
  /** digests of the files that cited rows name */
  readonly files: readonly string[]
}

/**
 * Writes the datasets and citations of a `data.db` to a new file, with the loader tables that citations name and their
 * former rows. It is a `data.db` of its own, which is only read.
 *
 * @returns undefined where there are none; no file is written then
 */
export function writeArchive(dataDb: string, file: string): Archive | undefined {
  rmSync(file, { force: true })
  const source = openFile(dataDb, { readonly: true, fileMustExist: true })
  try {
    if (countOf(source, 'dataset') + countOf(source, 'citation') === 0) return undefined
    source.prepare('VACUUM INTO ?').run(file)
  } finally {
    source.close()
  }
  const db = openFile(file)
  try {
    db.transaction(() => dropUncited(db))()
    db.exec('VACUUM')
    return {
      datasets: Number(statement(db, 'SELECT count(*) FROM dataset WHERE copy_of IS NULL').pluck().get()),
      citations: countOf(db, 'citation'),
      files: [...new Set(usedDigests(db))].sort(),
    }
  } finally {
    db.close()
  }
}

/** Returns the digests of the files that the rows of an archive name. */
export function filesOfArchive(file: string): string[] {
  const db = openFile(file, { readonly: true, fileMustExist: true })
  try {
    return [...new Set(usedDigests(db))].sort()
  } finally {
    db.close()
  }
}

function countOf(db: Db, table: string): number {
  return Number(
    statement(db, `SELECT count(*) FROM ${identifier(table)}`)
      .pluck()
      .get(),
  )
}

/** Removes the loader tables that no citation names. */
function dropUncited(db: Db): void {
  const sql = `SELECT table_id FROM loader_table WHERE table_id NOT IN
    (SELECT loader_table_id FROM versioned_table WHERE loader_table_id IS NOT NULL)`
  for (const tableId of statement<number>(db, sql).pluck().all()) {
    const table = findTableById(db, tableId)
    if (table === undefined) continue // no test: it was just listed
    for (const drop of dropTableSql(table)) db.exec(drop)
    for (const name of OF_TABLES)
      db.prepare(`DELETE FROM ${identifier(name)} WHERE table_id = ?`).run(tableId)
    db.prepare('DELETE FROM loader_table WHERE table_id = ?').run(tableId)
  }
}
