import path from 'node:path'
import type { DatabaseFacts, DatabaseName } from '../../maintenance.js'
import { openDataReader } from '../connection/data-db.js'
import { DATA_MIGRATIONS } from '../connection/data-migrations.js'
import { type Db, identifier } from '../connection/database.js'
import { openPlain } from '../connection/snapshot.js'
import { STATE_MIGRATIONS } from '../connection/state-migrations.js'

/** Schema versions that this program writes and reads. */
export const KNOWN_VERSIONS: Readonly<Record<DatabaseName, number>> = {
  'state.db': STATE_MIGRATIONS.length,
  'data.db': DATA_MIGRATIONS.length,
}

/**
 * Opens a database for reading and hands it to `read`; the file is left as it is.
 *
 * @throws Error when it cannot be opened
 */
export function withDatabase<T>(dir: string, name: DatabaseName, read: (db: Db) => T): T {
  const file = path.join(dir, name)
  // indexes of data.db call functions that openDataReader adds; without them they can be neither read nor
  // checked
  const db = name === 'data.db' ? openDataReader(file) : openPlain(file, true)
  try {
    return read(db)
  } finally {
    db.close()
  }
}

/**
 * Counts the rows of a database file, whatever its schema; the file is opened for reading and left as it is.
 */
export function readDatabaseFacts(file: string): DatabaseFacts {
  const db = openPlain(file, true)
  try {
    return { schemaVersion: schemaVersionOf(db), rows: countRows(db) }
  } finally {
    db.close()
  }
}

/** Returns whether a database has a table: those of earlier schemas lack the newer ones. */
export function hasTable(db: Db, name: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined
}

/** Returns the schema version that is stored in a database. */
export function schemaVersionOf(db: Db): number {
  return Number(db.pragma('user_version', { simple: true }))
}

/**
 * Counts the rows of every table. Of an R*Tree the tables that hold its nodes are counted and the virtual
 * table is not: counting it would read the tree node by node.
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
 * Checks the structure of a database.
 *
 * @param depth `quick` leaves out the slowest part, the comparison of indexes with their rows
 * @returns faults that SQLite found, one a line, at most 20
 */
export function checkDatabase(db: Db, depth: 'quick' | 'full'): string[] {
  return db
    .prepare<[], string>(depth === 'quick' ? 'PRAGMA quick_check(20)' : 'PRAGMA integrity_check(20)')
    .pluck()
    .all()
    .filter((line) => line !== 'ok')
}
