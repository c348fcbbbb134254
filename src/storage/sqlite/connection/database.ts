import type Database from 'better-sqlite3'
import { AppError, diskFaultKind, messageOf } from '../../../errors.js'
import { isBusy, isFull, isUnreadable, openFile } from './open-file.js'

export type Db = Database.Database
export type Statement = Database.Statement

/**
 * Steps in the order of their application; append only. Their number is the schema version. A step is an SQL
 * script, or a function where its statements depend on what is stored.
 */
export type Migrations = readonly (string | ((db: Db) => void))[]

interface OpenOptions {
  readonly?: boolean
  /** page cache, KiB; SQLite's default of 16 MB per connection is too much for a board */
  cacheKib?: number
  /** a new file can give pages that hold nothing back to the file system */
  canShrink?: boolean
  /** called before a schema change of a database that had a schema, under its write lock; makes the backup */
  beforeMigrate?: (file: string, from: number) => void
}

/**
 * Opens a database file, or `:memory:`, and brings its schema up to date.
 *
 * WAL with `synchronous=FULL`: an acknowledged commit survives a power cut (NORMAL would lose some). The busy
 * timeout is 0, because SQLite would wait inside the event loop; writers take turns by `createWriteLock`
 * instead.
 *
 * @throws Error naming both versions if a newer Fieldgate wrote the file, and the file if it is not a
 *   database
 */
export function openDatabase(file: string, migrations: Migrations, options: OpenOptions = {}): Db {
  const db = openFile(file, { readonly: options.readonly ?? false })
  db.defaultSafeIntegers(false)
  try {
    return setUp(db, file, migrations, options)
  } catch (error) {
    db.close()
    if (isFull(error))
      throw new Error(`${file} cannot be written: the disk is full, make room on it`, { cause: error })
    if (!isUnreadable(error)) throw error
    const advice =
      diskFaultKind(error) === 'damaged'
        ? ': move the data directory away, restore the newest backup with `fieldgate restore`, and replace the disk'
        : ''
    throw new Error(`${file} cannot be opened (${messageOf(error)})${advice}`, { cause: error })
  }
}

function setUp(db: Db, file: string, migrations: Migrations, options: OpenOptions): Db {
  db.pragma(`cache_size = -${options.cacheKib ?? 4096}`)
  db.pragma('temp_store = MEMORY')
  if (options.readonly === true) return db
  // takes the write lock, and changes nothing once there are pages
  if (options.canShrink === true && db.pragma('page_count', { simple: true }) === 0)
    db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('journal_size_limit = 16777216')
  db.pragma('trusted_schema = OFF')
  migrate(db, file, migrations, options.beforeMigrate)
  return db
}

/** Kept statements per connection, some kilobytes each. A gateway uses a few hundred. */
const MAX_STATEMENTS = 1000

/**
 * Returns the prepared statement of a text: 30 µs the first time, nothing later. The texts should come from a
 * bounded set (one per table and shape); past 1000 the oldest statement is dropped.
 */
export function statement<Row = unknown>(db: Db, sql: string): Database.Statement<unknown[], Row> {
  let kept = statements.get(db)
  if (kept === undefined) {
    kept = new Map()
    statements.set(db, kept)
  }
  let found = kept.get(sql)
  if (found === undefined) {
    found = db.prepare(sql)
    kept.set(sql, found)
    const [oldest] = kept.keys()
    if (kept.size > MAX_STATEMENTS && oldest !== undefined) kept.delete(oldest)
  }
  return found as Database.Statement<unknown[], Row> // the caller knows the columns that its text selects
}

const statements = new WeakMap<Db, Map<string, Statement>>()

/** Returns the number of kept statements, for tests. */
export function keptStatements(db: Db): number {
  return statements.get(db)?.size ?? 0
}

/** Drops the kept statements whose text contains the name of a table, before the table is dropped. */
export function forgetStatements(db: Db, tableName: string): void {
  const kept = statements.get(db)
  if (kept === undefined) return
  for (const sql of kept.keys()) if (sql.includes(tableName)) kept.delete(sql)
}

/**
 * Returns a row that the running transaction has written.
 *
 * @throws Error if there is none, which cannot happen
 */
export function writtenRow<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('a row written in this transaction was not found')
  return row
}

/**
 * Returns the value of a query that has one row whatever is stored, such as a count.
 *
 * @param sql from a bounded set, as for `statement`
 */
export function oneValue<T>(db: Db, sql: string, ...params: unknown[]): T {
  return statement<T>(db, sql)
    .pluck()
    .get(...params) as T // never undefined, see above
}

/**
 * Runs `work` in one immediate transaction. Any error rolls it back.
 *
 * @throws AppError DISK_FULL, and whatever `work` throws
 */
export function transaction<T>(db: Db, work: () => T): T {
  try {
    return db.transaction(work).immediate()
  } catch (error) {
    throw translate(error)
  }
}

/**
 * Runs asynchronous `work` in one immediate transaction. The caller holds the write lock, because nothing
 * else may use the connection meanwhile. Waits while another program writes.
 *
 * @throws AppError DISK_FULL, BUSY, and whatever `work` throws
 */
export async function asyncTransaction<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await retryBusy(() => db.exec('BEGIN IMMEDIATE'))
  try {
    const result = await work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw translate(error)
  }
}

/** Quotes an SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/**
 * Retries `work` while another process, for example a command-line program, holds the write lock of the file.
 * Waits 5 ms, then 20 ms at a time, without blocking the event loop. Longer waits would miss the short gaps
 * between the transactions of a bulk load.
 *
 * @throws AppError BUSY after `limitMs`
 */
export async function retryBusy<T>(work: () => T, limitMs = 30_000): Promise<T> {
  const endAt = performance.now() + limitMs
  for (let waitMs = 5; ; waitMs = Math.min(20, waitMs * 2)) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() > endAt)
        throw new AppError('BUSY', {}, { message: 'Another program holds the database', cause: error })
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

function migrate(
  db: Db,
  file: string,
  migrations: Migrations,
  beforeMigrate: OpenOptions['beforeMigrate'],
): void {
  const from = Number(db.pragma('user_version', { simple: true }))
  if (from > migrations.length) {
    throw new Error(
      `${file} has schema version ${from}, this Fieldgate knows ${migrations.length}: install a newer Fieldgate or restore an older backup`,
    )
  }
  if (from === migrations.length) return
  db.transaction(() => {
    const now = Number(db.pragma('user_version', { simple: true })) // read again under the lock: another process may have migrated meanwhile
    if (now === migrations.length) return // no test: it would have to happen since the line before this transaction
    if (now > 0) beforeMigrate?.(file, now)
    for (const step of migrations.slice(now)) {
      if (typeof step === 'string') db.exec(step)
      else step(db)
    }
    db.pragma(`user_version = ${migrations.length}`)
  }).immediate()
}

/** Returns DISK_FULL for SQLite's error of a full disk, and any other error as it is. */
export function translate(error: unknown): unknown {
  return isFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
}
