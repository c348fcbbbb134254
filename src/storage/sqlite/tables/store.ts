import { droppedMeanwhile, sizeOfRow } from '../../records/read-records.js'
import type { LoaderTable, TableReader, TableReaderOptions, TableRef, TableStore } from '../../tables.js'
import { createReadAhead } from '../../work/read-ahead.js'
import type { WriteLock } from '../../work/write-lock.js'
import {
  asyncTransaction,
  type Db,
  forgetStatements,
  retryBusy,
  transaction,
} from '../connection/database.js'
import { freeing } from '../connection/reserve.js'
import { dropTable, findTable, listTables, registerTable } from './catalog.js'
import { findFile, usedDigests } from './files.js'
import { createGroupCommit } from './group-commit.js'
import { putRecordsWithin, putRowsWithin, readRows } from './put.js'
import { createTableReader } from './reader.js'
import { MAX_SEGMENT_ROWS, mergeSegments } from './segment-index.js'

/** Connections of one thread to `data.db`. */
interface TableConnection {
  /** sees committed rows only */
  readonly reader: Db
  /** used by the holder of `lock` alone */
  readonly writer: Db
  /** taken for every write */
  readonly lock: WriteLock
}

/** All that the main thread and the command line do with loader tables. */
export interface Tables {
  readonly store: TableStore
  readonly reader: TableReader
}

/** Opens the ports of loader tables over the connections of a thread; the caller closes the connections. */
export function openTables(connection: TableConnection, options: TableReaderOptions): Tables {
  return { store: createTableStore(connection), reader: createTableReader(connection.reader, options) }
}

/** Owner of writes that no caller asked for. */
const GATEWAY = ''

/** Most bytes of rows that are read ahead of their transaction. */
const MAX_STAGED_BYTES = 16 * 1024 * 1024
/** Opens the writing port alone. */
export function createTableStore({ reader, writer, lock }: TableConnection): TableStore {
  const together = createGroupCommit(writer, lock)
  const write = <T>(work: () => Promise<T>) => lock.run(() => asyncTransaction(writer, work))
  return {
    find: async (name) => findTable(reader, name),
    list: async () => listTables(reader),
    register: (definition, nowUs) =>
      lock.run(() => retryBusy(() => transaction(writer, () => registerTable(writer, definition, nowUs)))),
    drop: (table) =>
      lock.run(() =>
        freeing(writer, () =>
          asyncTransaction(writer, async () => dropTable(writer, requireTable(writer, table))),
        ),
      ),
    forget({ tableName }) {
      for (const db of [reader, writer]) forgetStatements(db, tableName)
    },
    put: (table, records, options) =>
      together.run(options.owner ?? GATEWAY, () =>
        putRecordsWithin(writer, requireTable(writer, table), records, options),
      ),
    commitMs: together.commitMs,
    stage(table, records, options) {
      const read = readRows(writer, requireTable(writer, table), records, options)
      const rows = createReadAhead(read, sizeOfRow, MAX_STAGED_BYTES)
      return {
        advance: rows.advance,
        put: () => write(() => putRowsWithin(writer, requireTable(writer, table), rows, options)),
      }
    },
    moveLog() {
      // copies while others write; what is left for the lock of the file are the pages of their commits
      writer.pragma('wal_checkpoint(PASSIVE)')
      writer.pragma('wal_checkpoint(TRUNCATE)')
    },
    mergeIndex: (dataName) =>
      write(async () => {
        const table = findTable(writer, dataName)
        return table !== undefined && mergeSegments(writer, table, MAX_SEGMENT_ROWS)
      }),
    inTurn: (work, owner) => lock.run(work, owner),
    findFile: async (table, place) => findFile(reader, table, place),
    withUsedFiles: (work) => write(() => work(new Set(usedDigests(writer)))),
  }
}

/** Finds a table unless it was dropped, or dropped and registered again, since the caller found it. */
export function requireTable(db: Db, { dataName, tableId }: TableRef): LoaderTable {
  const table = findTable(db, dataName)
  if (table?.tableId === tableId) return table
  throw droppedMeanwhile(dataName)
}
