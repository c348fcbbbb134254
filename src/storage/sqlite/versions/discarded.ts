import type { Pause } from '../../work/pause.js'
import type { WriteLock } from '../../work/write-lock.js'
import {
  type Db,
  forgetStatements,
  identifier,
  retryBusy,
  statement,
  transaction,
} from '../connection/database.js'
import { freeing } from '../connection/reserve.js'

/** Conditions under which rows are removed in the background. */
export interface Removal {
  /** the writing connection */
  readonly db: Db
  readonly lock: WriteLock
  /** called between steps; a step holds the write lock for a few milliseconds */
  readonly pause: Pause
}

/**
 * Drops the tables that nothing names any more.
 *
 * @param maxRows larger tables are left: dropping one takes about 0.3 µs per row and cannot be interrupted
 * @returns tables dropped
 */
export async function dropDiscarded(removal: Removal, maxRows: number): Promise<number> {
  const { db } = removal
  const names = statement<string>(db, 'SELECT table_name FROM dropped_table ORDER BY table_name')
    .pluck()
    .all()
  let dropped = 0
  for (const name of names) {
    await removal.pause()
    if (maxRows !== Infinity && isLarger(db, name, maxRows)) continue
    await removalStep(removal, () => {
      db.exec(`DROP TABLE IF EXISTS ${identifier(name)}`)
      statement(db, 'DELETE FROM dropped_table WHERE table_name = ?').run(name)
    })
    forgetStatements(db, identifier(name))
    dropped++
  }
  return dropped
}

/** Runs one step of a removal in a transaction, after a pause. */
export async function removalStep<T>({ db, lock, pause }: Removal, work: () => T): Promise<T> {
  await pause()
  return await lock.run(() => freeing(db, () => retryBusy(() => transaction(db, work))))
}

/** The size of an R*Tree is the number of rows in its list of ids. */
function isLarger(db: Db, name: string, maxRows: number): boolean {
  if (statement(db, 'SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) === undefined) return false
  const virtual = statement(db, "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE VIRTUAL%'")
  const rows = virtual.get(name) === undefined ? name : `${name}_rowid`
  const sql = `SELECT coalesce(max(rowid), 0) > ? FROM ${identifier(rows)}`
  return db.prepare<unknown[], number>(sql).pluck().get(maxRows) === 1
}
