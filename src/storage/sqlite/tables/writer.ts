import { utcDayOf } from '../../../datetime.js'
import { AppError } from '../../../errors.js'
import { describeFound } from '../../../messages/fault-text.js'
import type { Stored, ValueEnv } from '../../columns/column-type.js'
import { typeOf } from '../../columns/column-types.js'
import type { Column, Counters, LoaderTable, PutOptions } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { bumpDataVersion } from './catalog.js'
import { type ChangeNumbers, createChangeNumbers } from './change-numbers.js'
import { createChangeLog, keepChanges, noteChange } from './changes.js'
import { ROW_CHANGE, ROW_DAY, ROW_ID, ROW_ORIGIN, ROW_SENDER, ROW_VERSION, tableSql } from './ddl.js'
import { addEntry, createEntries, type Entries, isSamePlace } from './entries.js'
import { keepOrigin } from './origins.js'
import { type PlaceRow, placeOf } from './place.js'
import type { CheckedRow } from './record.js'
import { openDigests, type WriterDigests } from './row-digests.js'
import { createNewsTest } from './row-versions.js'
import { addToIndex, MAX_SEGMENT_ROWS } from './segment-index.js'

/** What is known of a row's last write besides its values. */
interface Mark {
  /** UTC day of the write at the origin */
  readonly day: number
  /** null for a row of this gateway */
  readonly version: number | null
  /** node that sent it, an id of `row_origin`; null for a row of this gateway */
  readonly senderId: number | null
}

/** Mark of a row that another node sent. */
export interface SentMark extends Mark {
  /** 0 where it is not known */
  readonly version: number
  readonly senderId: number
}

/** Columns of a mark. */
const MARKS = [ROW_DAY, ROW_VERSION, ROW_SENDER]

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
 * search for the key first would cost every row a walk down the index. Keys are equal as in PostgreSQL, by
 * the collations of the columns.
 */
export function createRowWriter(
  db: Db,
  table: LoaderTable,
  { ifExists, origin = '' }: Pick<PutOptions, 'ifExists' | 'origin'>,
  env: ValueEnv,
): RowWriter {
  const counters = { upload: 0, duplicate: 0, insert: 0, update: 0 }
  const names = table.columns.map(({ name }) => identifier(name))
  const key = [...table.uniqueColumns.map(identifier), ROW_ORIGIN].join(', ')
  const insert = statement(
    db,
    `INSERT INTO ${tableSql(table)} (${[...names, ROW_ORIGIN, ROW_ID, ROW_CHANGE, ...MARKS].join(', ')})
     VALUES (${names.map(() => '?').join(', ')}, ?, ?, ?, ?, ?, ?) ON CONFLICT (${key}) DO NOTHING`,
  )
  const originId = keepOrigin(db, origin)
  const numbers = createChangeNumbers(db, table)
  const digests = openDigests(db, table, originId, numbers.last())
  const override = createOverride(db, table, names, { originId, numbers, digests })
  const isNews = createNewsTest(db, table, originId)
  const changes = createChangeLog()
  let entries = createEntries()
  let movedRows = 0
  const put = (row: CheckedRow, { day, version, senderId }: Mark): boolean => {
    const index = counters.upload++
    const rowId = numbers.nextRow()
    if (insert.run(row.values, originId, rowId, numbers.ofRow(), day, version, senderId).changes === 1) {
      numbers.takeRow()
      counters.insert++
      addEntry(entries, rowId, row.box, row.startUs, row.endUs)
    } else {
      counters.duplicate++
      if (ifExists === 'error') throw recordExists(table, row, index, env)
      if (ifExists === 'skip') return false
      if (version !== null && !isNews({ values: row.values, day, version })) return false
      counters.update++
      if (override(row, { day, version, senderId }, entries)) movedRows++
    }
    digests?.add(row.values, day)
    noteChange(changes, row.startUs)
    noteChange(changes, row.endUs)
    // a call may have more rows than a segment may hold
    if (entries.count === MAX_SEGMENT_ROWS) {
      addToIndex(db, table, entries, 0)
      entries = createEntries(MAX_SEGMENT_ROWS)
    }
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
      return addToIndex(db, table, entries, maxMergeRows)
    },
  }
}

/** Parts of a writer that an override uses. */
interface OverrideParts {
  readonly originId: number
  readonly numbers: ChangeNumbers
  readonly digests: WriterDigests | undefined
}

/**
 * Creates a function that replaces all columns of the row with the same key.
 *
 * @returns true when the row has another box or span than before, and got a new entry
 */
function createOverride(
  db: Db,
  table: LoaderTable,
  names: readonly string[],
  { originId, numbers, digests }: OverrideParts,
): (row: CheckedRow, mark: Mark, entries: Entries) => boolean {
  const keySlots = table.uniqueColumns.map((name) =>
    table.columns.findIndex((column) => column.name === name),
  )
  const isKey = keySlots.map((slot) => `${names[slot]} = ?`).join(' AND ')
  const find = statement<PlaceRow & { id: bigint }>(
    db,
    `SELECT ${ROW_ID} AS id, location, start_datetime, end_datetime FROM ${tableSql(table)}
     WHERE ${isKey} AND ${ROW_ORIGIN} = ?`,
  ).safeIntegers()
  const sets = [...names, ROW_CHANGE, ...MARKS].map((name) => `${name} = ?`).join(', ')
  const update = statement(db, `UPDATE ${tableSql(table)} SET ${sets} WHERE ${ROW_ID} = ?`)
  const places = createEntries(2)
  return (row, { day, version, senderId }, entries) => {
    const old = find.get(
      keySlots.map((slot) => row.values[slot]),
      originId,
    )
    // no test: the insert has just found it
    if (old === undefined) throw new Error(`${table.tableName} has no row with the key that an insert found`)
    digests?.takeAway(old.id)
    update.run(row.values, numbers.takeOverride(), day, version, senderId, old.id)
    const rowId = Number(old.id)
    places.count = 0
    addEntry(places, rowId, ...placeOf(old))
    addEntry(places, rowId, row.box, row.startUs, row.endUs)
    const hasMoved = !isSamePlace(places, 0, places, 1)
    if (hasMoved) addEntry(entries, rowId, row.box, row.startUs, row.endUs)
    return hasMoved
  }
}

/** Makes the error for a key that exists, with the values of the key; of bytes only their number. */
function recordExists(table: LoaderTable, row: CheckedRow, index: number, env: ValueEnv): AppError {
  const { uniqueColumns, columns } = table
  const key = uniqueColumns.map((name) => {
    const slot = columns.findIndex((column) => column.name === name)
    const value = row.values[slot] as Exclude<Stored, null> // nulls differ from each other, so no key with one exists
    if (value instanceof Uint8Array) return `${name} (${value.length} bytes)`
    return `${name} ${describeFound(typeOf((columns[slot] as Column).udtName).print(value, env))}`
  })
  const message = `a record with ${key.join(', ')} already exists`
  return new AppError('RECORD_EXISTS', { index, unique_columns: uniqueColumns }, { message })
}
