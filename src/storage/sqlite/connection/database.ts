import Database from 'better-sqlite3'
import { AppError, messageOf } from '../../../errors.js'
import { nativeBinding } from './native.js'

export type Db = Database.Database
export type Statement = Database.Statement

/** SQL scripts in the order they are applied; the list only ever grows. Its length is the schema version. */
export type Migrations = readonly string[]

export interface OpenOptions {
  readonly?: boolean
  /** page cache in KiB; SQLite's default of 16 MB a connection is too much for a board */
  cacheKib?: number
  /** called before a schema change on a database that already had one, with its write lock held (a backup goes here) */
  beforeMigrate?: (file: string, from: number) => void
}

/**
 * Opens a database file, or `:memory:`, and brings its schema up to date.
 *
 * WAL with `synchronous=FULL`: an acknowledged commit survives a power cut (NORMAL loses some). The busy timeout is
 * 0, because SQLite would sleep inside the event loop; writers take turns by `createWriteLock` instead.
 *
 * @throws Error naming both versions when the file was written by a newer Fieldgate, and the file when it is no database
 */
export function openDatabase(file: string, migrations: Migrations, options: OpenOptions = {}): Db {
  const native = nativeBinding()
  const db = new Database(file, {
    readonly: options.readonly ?? false,
    timeout: 0,
    // the declared type knows only a path; the addon object is documented and the only way inside a bundle
    ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
  })
  db.defaultSafeIntegers(false)
  try {
    return setUp(db, file, migrations, options)
  } catch (error) {
    db.close()
    if (isFull(error))
      throw new Error(`${file} cannot be written: the disk is full, make room on it`, { cause: error })
    if (!isUnreadable(error)) throw error
    throw new Error(`${file} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

function setUp(db: Db, file: string, migrations: Migrations, options: OpenOptions): Db {
  db.pragma(`cache_size = -${options.cacheKib ?? 4096}`)
  db.pragma('temp_store = MEMORY')
  if (options.readonly === true) return db
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('journal_size_limit = 16777216')
  db.pragma('trusted_schema = OFF')
  migrate(db, file, migrations, options.beforeMigrate)
  return db
}

/** Each takes some kilobytes. A gateway uses a few hundred; a client that lists columns in ever other orders would make more. */
const MAX_STATEMENTS = 1000

/**
 * The kept statement for a text: a fresh `prepare` costs 30 µs, a kept one nothing. Texts should come from a bounded set (one per
 * table and shape): past 1000 the oldest goes.
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
  return found as Database.Statement<unknown[], Row>
}

const statements = new WeakMap<Db, Map<string, Statement>>()

/** How many are kept, for tests. */
export function keptStatements(db: Db): number {
  return statements.get(db)?.size ?? 0
}

/** Forgets the kept statements whose text mentions a table that is going away. */
export function forgetStatements(db: Db, tableName: string): void {
  const kept = statements.get(db)
  if (kept === undefined) return
  for (const sql of kept.keys()) if (sql.includes(tableName)) kept.delete(sql)
}

/** Runs `work` in one immediate transaction; anything thrown rolls it back. ENOSPC becomes `DISK_FULL`. */
export function transaction<T>(db: Db, work: () => T): T {
  try {
    return db.transaction(work).immediate()
  } catch (error) {
    throw translate(error)
  }
}

/**
 * The same for work that lets the event loop turn. Nobody else may use the connection meanwhile: whoever calls this
 * holds the write lock. Waits while another program writes.
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

/** A quoted SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Takes turns: at most one writer of this process holds the file's write lock, the others wait without blocking. */
export interface WriteLock {
  run<T>(work: () => T | Promise<T>): Promise<T>
}

/** Waiters are served in the order they came. */
export function createWriteLock(): WriteLock {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const mine = last.then(work)
      last = mine.catch(() => undefined) // the next in line does not care how this one ended
      return mine
    },
  }
}

/**
 * Tries `work` until the file's write lock, held by another process (a command line beside a running gateway), is
 * free: waits 5 ms, then 20 ms at a time, without blocking the event loop. Longer waits would miss the short pauses between
 * the transactions of a bulk load.
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
  const from = db.pragma('user_version', { simple: true }) as number
  if (from > migrations.length) {
    throw new Error(
      `${file} has schema version ${from}, this Fieldgate knows ${migrations.length}: install a newer Fieldgate or restore an older backup`,
    )
  }
  if (from === migrations.length) return
  db.transaction(() => {
    // read again: another process may have been quicker
    const now = db.pragma('user_version', { simple: true }) as number
    if (now === migrations.length) return
    if (now > 0) beforeMigrate?.(file, now)
    for (const sql of migrations.slice(now)) db.exec(sql)
    db.pragma(`user_version = ${migrations.length}`)
  }).immediate()
}

function isUnreadable(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(?:NOTADB|CORRUPT|CANTOPEN|IOERR)/.test(error.code)
}

function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_FULL')
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function translate(error: unknown): unknown {
  return isFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
}
