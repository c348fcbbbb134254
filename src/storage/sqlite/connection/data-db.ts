import { existsSync } from 'node:fs'
import { createWriteLock, type WriteLock } from '../../work/write-lock.js'
import { DATA_MIGRATIONS } from './data-migrations.js'
import { type Db, openDatabase, statement } from './database.js'
import { backupBeforeMigration } from './migration-backup.js'
import { probeWrite } from './probe-write.js'
import { markMadeFirst, refuseLoss } from './refuse-loss.js'
import { addSqlFunctions, guardStatements } from './sql-functions.js'
import { limitValues } from './value-limit.js'

/** `data.db` as opened by one thread. */
export interface DataDb {
  /** sees committed rows only; never used for writing */
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  /** taken by every writer of this process, on any thread */
  readonly lock: WriteLock
  /** Reads a page of the file, past every cache. @throws Error when the database cannot be read */
  check(): Promise<void>
  /** Commits a page as it is. @throws Error when the database cannot be written */
  probeWrite(): Promise<void>
  close(): void
}

interface DataDbOptions {
  /** page cache of a connection, KiB */
  cacheKib?: number
  /** creates a missing database also where one was lost: the operator has decided so */
  acceptsLoss?: boolean
  /** most bytes of the values of a row that is written or read (`limits.valueBytes`); absent for no limit */
  valueBytes?: number
}

/**
 * Opens `data.db` for a thread that reads and writes. There are two connections, so that readers do not see a
 * long transaction, which lets the event loop turn between its slices, before its commit. A database in
 * memory has a single connection.
 *
 * @throws Error in one line when the database was lost, see `refuseLoss`
 */
export function openDataDb(file: string, options: DataDbOptions = {}): DataDb {
  if (options.acceptsLoss !== true) refuseLoss(file, 'data.db')
  const isNew = !existsSync(file)
  const writer = openDatabase(file, DATA_MIGRATIONS, {
    ...options,
    canShrink: true,
    beforeMigrate: backupBeforeMigration,
  })
  addSqlFunctions(writer)
  if (options.valueBytes !== undefined) limitValues(writer, options.valueBytes)
  markMadeFirst(writer, file, isNew)
  const { valueBytes } = options
  const reader =
    file === ':memory:' ? writer : openDataReader(file, valueBytes === undefined ? {} : { valueBytes })
  return {
    reader,
    writer,
    lock: createWriteLock(),
    async check() {
      statement(reader, 'SELECT count(*) FROM sqlite_schema').get()
    },
    probeWrite: async () => probeWrite(writer),
    close() {
      if (reader !== writer) reader.close()
      writer.close()
    },
  }
}

/** Opens `data.db` read-only. The file must exist with its schema up to date. */
export function openDataReader(file: string, options: DataDbOptions = {}): Db {
  const db = openDatabase(file, DATA_MIGRATIONS, { ...options, readonly: true })
  addSqlFunctions(db)
  if (options.valueBytes !== undefined) limitValues(db, options.valueBytes)
  return db
}

/** A connection for reads of one state each. */
export interface SnapshotReader {
  readonly db: Db
  /**
   * The first statement after it fixes the state that all statements see until `end`.
   *
   * @param throwIfEnded called at each row whose condition is tested; its error ends the statement
   */
  begin(throwIfEnded: () => void): void
  end(): void
  close(): void
}

/** Opens `data.db` for a thread that only reads. The file must exist with its schema up to date. */
export function openSnapshotReader(file: string, options: DataDbOptions = {}): SnapshotReader {
  const db = openDataReader(file, options)
  return {
    db,
    begin(throwIfEnded) {
      guardStatements(db, throwIfEnded)
      db.exec('BEGIN')
    },
    end() {
      guardStatements(db, undefined)
      db.exec('COMMIT')
    },
    close: () => db.close(),
  }
}

/**
 * Pages of the log before a checkpoint: 32 MiB, so that a page that changes often is written to the file less
 * often.
 */
const BULK_CHECKPOINT_PAGES = 8192

/**
 * Page cache of a thread that loads, KiB. Keys in no order touch a page of their index each: a cache of 4 MiB
 * reads most pages again for each batch. The thread ends when it is idle, and gives the memory back.
 */
const BULK_CACHE_KIB = 10 * 1024

/**
 * Opens `data.db` for a thread that only loads records; its caller holds the write lock during each
 * transaction.
 *
 * @param valueBytes as `DataDbOptions.valueBytes`
 */
export function openBulkWriter(file: string, valueBytes: number): Db {
  refuseLoss(file, 'data.db')
  const db = openDatabase(file, DATA_MIGRATIONS, {
    cacheKib: BULK_CACHE_KIB,
    beforeMigrate: backupBeforeMigration,
  })
  db.pragma(`wal_autocheckpoint = ${BULK_CHECKPOINT_PAGES}`)
  addSqlFunctions(db)
  limitValues(db, valueBytes)
  return db
}
