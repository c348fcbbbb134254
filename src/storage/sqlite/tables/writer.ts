import { utcDayOf } from '../../../datetime.js'
import type { ValueEnv } from '../../columns/column-type.js'
import { recordExists } from '../../records/read-records.js'
import type { CheckedRow } from '../../records/record.js'
import type { Counters, LoaderTable, PutOptions } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { bumpDataVersion } from './catalog.js'
import { createChangeNumbers } from './change-numbers.js'
import { createChangeLog, keepChanges, noteChange } from './changes.js'
import { ROW_CHANGE, ROW_ID, ROW_ORIGIN, tableSql } from './ddl.js'
import { addEntry, createEntries, giveEntriesBack, takeEntries } from './entries.js'
import { keepOrigin } from './origins.js'
import { createOverride, MARKS, type Mark, type SentMark } from './override.js'
import { openDigests } from './row-digests.js'
import { createNewsTest } from './row-versions.js'
import { addToIndex, MAX_SEGMENT_ROWS } from './segment-index.js'

/** Writer of checked rows. The caller has begun a transaction. */
interface RowWriter {
  readonly counters: Counters
  /**
   * @throws AppError RECORD_EXISTS when `ifExists` is `error`; `data.index` counts the rows of this writer
   * @returns false when the row was skipped, because its key exists
   */
  put(row: CheckedRow): boolean
  /** Puts a row that another node sent, unless it is no news. Returns false then. */
  putSent(row: CheckedRow, from: SentMark): boolean
  /** Updates the spatial index and the version of the table. @returns true when a larger merge is due */
  finish(maxMergeRows: number): boolean
}

/**
 * Creates a writer. One statement inserts a new row and reports an existing key by having changed nothing: a
 * search for the key first would cost every row a walk down the index. After a row that was overwritten the
 * next is searched first, because calls mostly overwrite all of their rows or none. Keys are equal as in
 * PostgreSQL, by the collations of the columns.
 */
export function createRowWriter(
  db: Db,
  table: LoaderTable,
  { ifExists, origin = '' }: Pick<PutOptions, 'ifExists' | 'origin'>,
  env: ValueEnv,
): RowWriter {
  const counters = { upload: 0, duplicate: 0, insert: 0, update: 0 }
  const names = table.columns.map(({ name }) => identifier(name))
  const insert = prepareInsert(db, table, names)
  const originId = keepOrigin(db, origin)
  const numbers = createChangeNumbers(db, table)
  const digests = openDigests(db, table, originId)
  const override = createOverride(db, table, names, { originId, numbers, digests })
  const isNews = createNewsTest(db, table, originId)
  const changes = createChangeLog()
  let entries = takeEntries()
  let movedRows = 0
  let isOverriding = false
  const insertRow = (row: CheckedRow, { day, version, senderId }: Mark): boolean => {
    const rowId = numbers.nextRow()
    const given = [originId, rowId, numbers.ofRow(), day, version, senderId]
    if (insert.run(row.values, ...given).changes === 0) return false
    numbers.takeRow()
    counters.insert++
    addEntry(entries, rowId, row.box, row.startUs, row.endUs)
    return true
  }
  const noteWritten = ({ values, startUs, endUs }: CheckedRow, day: number) => {
    digests?.add(values, day)
    noteChange(changes, startUs)
    noteChange(changes, endUs)
    // a call may have more rows than a segment may hold
    if (entries.count < MAX_SEGMENT_ROWS) return
    addToIndex(db, table, entries, 0)
    entries = createEntries(MAX_SEGMENT_ROWS)
  }
  const put = (row: CheckedRow, mark: Mark): boolean => {
    const { day, version } = mark
    const index = counters.upload++
    const found = isOverriding ? override.find(row) : undefined
    isOverriding = false
    if (found !== undefined || !insertRow(row, mark)) {
      counters.duplicate++
      if (ifExists === 'error') throw recordExists(table, row.values, index, env)
      if (ifExists === 'skip') return false
      if (version !== null && !isNews({ values: row.values, day, version })) return false
      counters.update++
      isOverriding = true
      if (override.replace(found ?? override.require(row), row, mark, entries)) movedRows++
    }
    noteWritten(row, day)
    return true
  }
  const today = utcDayOf(env.nowUs)
  return {
    counters,
    put: (row) => put(row, { day: today, version: null, senderId: null }),
    putSent: put,
    finish(maxMergeRows) {
      if (counters.insert + counters.update === 0) return false
      if (movedRows > 0) {
        const sql = 'UPDATE loader_table SET moved_rows = moved_rows + ? WHERE table_id = ?'
        statement(db, sql).run(movedRows, table.tableId)
      }
      digests?.finish(numbers.last())
      keepChanges(db, table, changes)
      bumpDataVersion(db, table)
      countInserted(db, table, counters.insert)
      const isMergeDue = addToIndex(db, table, entries, maxMergeRows)
      giveEntriesBack(entries)
      return isMergeDue
    },
  }
}

/** Adds new rows to the count of a table with a rule of retention. */
function countInserted(db: Db, { tableId }: LoaderTable, rows: number): void {
  if (rows === 0) return
  statement(db, 'UPDATE loader_retention SET rows = rows + ? WHERE table_id = ?').run(rows, tableId)
}

/** Prepares the insert of a new row, which changes nothing when the key exists. */
function prepareInsert(db: Db, table: LoaderTable, names: readonly string[]) {
  const key = [...table.uniqueColumns.map(identifier), ROW_ORIGIN].join(', ')
  return statement(
    db,
    `INSERT INTO ${tableSql(table)} (${[...names, ROW_ORIGIN, ROW_ID, ROW_CHANGE, ...MARKS].join(', ')})
     VALUES (${names.map(() => '?').join(', ')}, ?, ?, ?, ?, ?, ?) ON CONFLICT (${key}) DO NOTHING`,
  )
}
