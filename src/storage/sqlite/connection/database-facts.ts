import { type Db, identifier } from './database.js'
import { openPlain } from './snapshot.js'

/** What can be said of a database file without knowing what its tables mean. */
export interface DatabaseFacts {
  schemaVersion: number
  /** rows of every table, SQLite's own ones left out */
  rows: Record<string, number>
}

/** Counts the rows of a database file; it is opened for reading alone and left as it is. */
export function readDatabaseFacts(file: string): DatabaseFacts {
  const db = openPlain(file, true)
  try {
    return { schemaVersion: schemaVersionOf(db), rows: countRows(db) }
  } finally {
    db.close()
  }
}

export function schemaVersionOf(db: Db): number {
  return Number(db.pragma('user_version', { simple: true }))
}

/** The tables that an R*Tree keeps its nodes in are counted, the virtual one is not: it would be read through node by node. */
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
 * Looks through a file's structure.
 *
 * @param depth `quick` leaves out what takes longest, comparing indexes with their rows
 * @returns what SQLite found wrong, at most 20 lines
 */
export function checkDatabase(db: Db, depth: 'quick' | 'full'): string[] {
  const rows = db.pragma(depth === 'quick' ? 'quick_check(20)' : 'integrity_check(20)') as object[]
  return rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== 'ok')
}
