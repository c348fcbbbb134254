import { type Db, identifier } from './database.js'
import { openPlain } from './snapshot.js'

/** Facts of a database file that do not depend on the meaning of its tables. */
export interface DatabaseFacts {
  schemaVersion: number
  /** table → number of rows, without SQLite's own tables */
  rows: Record<string, number>
}

/** Reads the facts of a database file. Opens it read-only and changes nothing. Cost: a scan of every table. */
export function readDatabaseFacts(file: string): DatabaseFacts {
  const db = openPlain(file, true)
  try {
    return { schemaVersion: schemaVersionOf(db), rows: countRows(db) }
  } finally {
    db.close()
  }
}

/** Returns the schema version that is stored in a database. */
export function schemaVersionOf(db: Db): number {
  return Number(db.pragma('user_version', { simple: true }))
}

/**
 * Counts the rows of every table. Virtual tables are left out: counting an R*Tree reads every node, and its node tables are
 * counted themselves.
 */
export function countRows(db: Db): Record<string, number> {
  const names = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
       AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`,
    )
    .pluck()
    .all()
  const count = (name: string) =>
    db
      .prepare(`SELECT count(*) FROM ${identifier(name)}`)
      .pluck()
      .get()
  return Object.fromEntries(names.map((name) => [name, Number(count(name))]))
}

/**
 * Checks the structure of a database file.
 *
 * @param depth `quick` leaves out the comparison of indexes with their rows, which takes longest
 * @returns faults in SQLite's words, at most 20; empty for a sound file
 */
export function checkDatabase(db: Db, depth: 'quick' | 'full'): string[] {
  return db
    .prepare<[], string>(depth === 'quick' ? 'PRAGMA quick_check(20)' : 'PRAGMA integrity_check(20)')
    .pluck()
    .all()
    .filter((line) => line !== 'ok')
}
