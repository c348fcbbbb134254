import type { Stored } from '../../columns/column-type.js'
import { isEqual } from '../../records/is-equal.js'
import { type PlaceRow, placeOf } from '../../records/place.js'
import type { CheckedRow } from '../../records/record.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import type { ChangeNumbers } from './change-numbers.js'
import { ROW_CHANGE, ROW_DAY, ROW_ID, ROW_ORIGIN, ROW_SENDER, ROW_VERSION, tableSql } from './ddl.js'
import { addEntry, createEntries, type Entries, isSamePlace } from './entries.js'
import type { WriterDigests } from './row-digests.js'

/** Facts about a row's last write besides its values. */
export interface Mark {
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
export const MARKS = [ROW_DAY, ROW_VERSION, ROW_SENDER]

/** Parts of a writer that an override uses. */
interface OverrideParts {
  readonly originId: number
  readonly numbers: ChangeNumbers
  readonly digests: WriterDigests | undefined
}

/** A stored row with the key of a new one: its place and key as they are stored. */
interface OldRow extends PlaceRow {
  readonly id: bigint
  readonly [keyColumn: string]: Stored
}

/** Replaces all columns of the row with the same key. */
interface Override {
  /** Returns the stored row with the key of a row; undefined when there is none. */
  find(row: CheckedRow): OldRow | undefined
  /** Returns what `find` does. @throws Error when there is none */
  require(row: CheckedRow): OldRow
  /** @returns true when the row has another box or span than before, and got a new entry */
  replace(old: OldRow, row: CheckedRow, mark: Mark, entries: Entries): boolean
}

/**
 * Creates the overrides of a writer. The caller has begun a transaction.
 *
 * @param names quoted names of the columns
 */
export function createOverride(
  db: Db,
  table: LoaderTable,
  names: readonly string[],
  { originId, numbers, digests }: OverrideParts,
): Override {
  const keySlots = table.uniqueColumns.map((name) =>
    table.columns.findIndex((column) => column.name === name),
  )
  const find = findByKey(db, table, names, keySlots)
  const restSlots = names.map((_, slot) => slot).filter((slot) => !keySlots.includes(slot))
  const updateAll = updateSlots(db, table, names, [...names.keys()])
  // SQLite writes the entry of the key anew when a statement names its columns, also with the same values
  const updateRest = updateSlots(db, table, names, restSlots)
  const hasKeyOf = (old: OldRow, values: readonly Stored[]) =>
    keySlots.every((slot, at) => isEqual(old[`key ${at}`] as Stored, values[slot] as Stored))
  const places = createEntries(2)
  const findRow = ({ values }: CheckedRow) =>
    find.get(
      keySlots.map((slot) => values[slot]),
      originId,
    )
  return {
    find: findRow,
    require(row) {
      const old = findRow(row)
      if (old === undefined)
        // no test: the insert has just found it
        throw new Error(`${table.tableName} has no row with the key that an insert found`)
      return old
    },
    replace(old, row, { day, version, senderId }, entries) {
      const { values } = row
      digests?.takeAway(old.id)
      const change = numbers.takeOverride()
      if (hasKeyOf(old, values))
        updateRest.run(
          restSlots.map((slot) => values[slot]),
          change,
          day,
          version,
          senderId,
          old.id,
        )
      else updateAll.run(values, change, day, version, senderId, old.id)
      const rowId = Number(old.id)
      places.count = 0
      addEntry(places, rowId, ...placeOf(old))
      addEntry(places, rowId, row.box, row.startUs, row.endUs)
      const hasMoved = !isSamePlace(places, 0, places, 1)
      if (hasMoved) addEntry(entries, rowId, row.box, row.startUs, row.endUs)
      return hasMoved
    },
  }
}

/** Prepares the search for the row with a key: its id, place and key. */
function findByKey(db: Db, table: LoaderTable, names: readonly string[], keySlots: readonly number[]) {
  const isKey = keySlots.map((slot) => `${names[slot]} = ?`).join(' AND ')
  const key = keySlots.map((slot, at) => `${names[slot]} AS ${identifier(`key ${at}`)}`)
  return statement<OldRow>(
    db,
    `SELECT ${[`${ROW_ID} AS id, location, start_datetime, end_datetime`, ...key].join(', ')}
     FROM ${tableSql(table)} WHERE ${isKey} AND ${ROW_ORIGIN} = ?`,
  ).safeIntegers()
}

/** Prepares the update of the columns at some positions, and of the number and mark of the change. */
function updateSlots(db: Db, table: LoaderTable, names: readonly string[], slots: readonly number[]) {
  const sets = [...slots.map((slot) => names[slot]), ROW_CHANGE, ...MARKS].map((name) => `${name} = ?`)
  return statement(db, `UPDATE ${tableSql(table)} SET ${sets.join(', ')} WHERE ${ROW_ID} = ?`)
}
