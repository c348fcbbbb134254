import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import Database from 'better-sqlite3'

/**
 * A file of SQLite that takes a row a commit, each on disk before the next: the least that a durable row costs.
 *
 * @returns { insert(body), close() }; closing removes the file
 */
export function openBareSqlite() {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  const db = new Database(path.join(dir, 'bare.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT)')
  const insert = db.prepare('INSERT INTO row (body) VALUES (?)')
  return {
    insert: (body) => insert.run(body),
    close() {
      db.close()
      rmSync(dir, { recursive: true })
    },
  }
}
