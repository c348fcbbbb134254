import { DATA_MIGRATIONS } from './data-migrations.js'
import { createWriteLock, type Db, openDatabase, type WriteLock } from './database.js'
import { backupBeforeMigration } from './migration-backup.js'
import { addSqlFunctions } from './sql-functions.js'

/** data.db as one thread holds it. */
export interface DataDb {
  /** sees committed rows only; nothing is written through it */
  readonly reader: Db
  /** for one writer at a time: whoever holds `lock` */
  readonly writer: Db
  /** taken by every writer of this process, on whatever thread its work is done */
  readonly lock: WriteLock
  close(): void
}

export interface DataDbOptions {
  /** page cache of the writer, KiB */
  cacheKib?: number
}

/**
 * Opens data.db for a thread that reads and writes. Two connections, so that a long transaction, which lets the event
 * loop turn between its slices, is not seen by readers before it is committed. In memory there can be only one.
 */
export function openDataDb(file: string, options: DataDbOptions = {}): DataDb {
  const writer = openDatabase(file, DATA_MIGRATIONS, { ...options, beforeMigrate: backupBeforeMigration })
  addSqlFunctions(writer)
  const reader = file === ':memory:' ? writer : openDataReader(file)
  return {
    reader,
    writer,
    lock: createWriteLock(),
    close() {
      if (reader !== writer) reader.close()
      writer.close()
    },
  }
}

/** Opens data.db for reading alone; the file must be there, with its schema up to date. */
export function openDataReader(file: string): Db {
  const db = openDatabase(file, DATA_MIGRATIONS, { readonly: true })
  addSqlFunctions(db)
  return db
}

/** Pages of the log before they are moved into the file: 32 MiB, so that a page that changes often is moved less often. */
const BULK_CHECKPOINT_PAGES = 8192

/** Opens data.db for a thread that does nothing but load; its caller holds the write lock for each transaction. */
export function openBulkWriter(file: string): Db {
  const db = openDatabase(file, DATA_MIGRATIONS, { beforeMigrate: backupBeforeMigration })
  db.pragma(`wal_autocheckpoint = ${BULK_CHECKPOINT_PAGES}`)
  addSqlFunctions(db)
  return db
}
