import { closeSync, openSync } from 'node:fs'
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3'
import { type Db, openDatabase, retryBusy } from './database.js'
import { backupBeforeMigration } from './migration-backup.js'
import { refuseLoss } from './refuse-loss.js'
import { createReserve, freeing, type Reserve } from './reserve.js'
import { addSqlFunctions } from './sql-functions.js'
import { STATE_MIGRATIONS } from './state-migrations.js'
import { createStateWrites, type StateWrites } from './state-writes.js'

/** An open `state.db`: the connection, and drizzle over the same connection. */
export interface StateDb {
  readonly db: Db
  readonly orm: BetterSQLite3Database
  /** space for deletions on a full disk */
  readonly reserve: Reserve
  readonly writes: StateWrites
}

/**
 * Opens `state.db` with mode 0600 and brings its schema up to date. Tests pass `:memory:`.
 *
 * @param acceptsLoss creates a missing database also where one was lost: the operator has decided so
 * @throws Error in one line when the database was lost, see `refuseLoss`
 */
export async function openStateDb(file: string, acceptsLoss = false): Promise<StateDb> {
  if (!acceptsLoss) refuseLoss(file, 'state.db')
  // SQLite gives its -wal and -shm files the mode of the database file
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600))
  const db = await retryBusy(() =>
    openDatabase(file, STATE_MIGRATIONS, { cacheKib: 1024, beforeMigrate: backupBeforeMigration }),
  )
  addSqlFunctions(db)
  return { db, orm: drizzle(db), reserve: createReserve(file), writes: createStateWrites(db) }
}

/**
 * Runs a small write in a transaction, with those that are asked for at the same time; retries while another
 * program holds the file.
 *
 * @throws what `work` throws; AppError BUSY, DISK_FULL
 */
export function writeState<T>({ writes }: StateDb, work: () => T): Promise<T> {
  return writes.run(work)
}

/**
 * Runs a small write that frees space or takes a right away, also on a full disk.
 *
 * @throws AppError BUSY, DISK_FULL: see `freeing`
 */
export function writeFreeing<T>(state: StateDb, work: () => T): Promise<T> {
  return freeing(state.db, () => writeState(state, work))
}
