import type { Stored, ValueEnv } from '../../columns/column-type.js'
import type { OnConflict } from '../../datasets/datasets.js'
import type { Pause } from '../../work/pause.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { valueLimitOf } from '../connection/value-limit.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, versionNames } from '../tables/version-names.js'
import { beginTransaction } from '../versions/transactions.js'
import type { VersionedTable } from '../versions/versioned-table.js'
import type { FoundDataset } from './catalog.js'
import { type SpatialSql, spatialSlots, spatialSql } from './ddl.js'
import { keyExists, readDatasetRecord, storedBox } from './record.js'

interface PutDatasetOptions {
  onConflict: OnConflict
  env: ValueEnv
  /** time of the transaction in the order of commits, µs UTC */
  nowUs: number
  /** called between records */
  pause: Pause
}

/**
 * Writes records. To be called within a transaction.
 *
 * A record that equals its row leaves the row's version as it is, so that putting the same file again takes
 * no storage; it counts as written.
 *
 * @returns records written; with `nothing`, records whose key existed do not count
 * @throws AppError BAD_RECORD, RECORD_EXISTS
 */
export async function putDatasetRecords(
  db: Db,
  { info, table }: FoundDataset,
  records: readonly (readonly unknown[])[],
  options: PutDatasetOptions,
): Promise<number> {
  if (records.length === 0) return 0
  const nextRowId = statement<number>(db, 'SELECT next_row_id FROM dataset WHERE dataset_id = ?').pluck()
  const writer = createDatasetWriter(db, table, {
    tx: beginTransaction(db, options.nowUs),
    rowId: nextRowId.get(info.datasetId) as number,
    onConflict: options.onConflict,
  })
  const maxBytes = valueLimitOf(db)
  let written = 0
  for (const [index, record] of records.entries()) {
    if (writer.put(readDatasetRecord(table, record, index, options.env, maxBytes), index)) written++
    const pausing = options.pause()
    if (pausing !== undefined) await pausing
  }
  const sql = 'UPDATE dataset SET next_row_id = ?, last_tx = ? WHERE dataset_id = ?'
  statement(db, sql).run(writer.nextRowId(), writer.tx, info.datasetId)
  return written
}

/**
 * Writes rows that are checked, each as a new one. To be called within a transaction.
 *
 * @param rows stored values in the order of the columns
 */
export async function putStoredRows(
  db: Db,
  { info, table }: FoundDataset,
  rows: readonly (readonly Stored[])[],
  { nowUs, pause }: Pick<PutDatasetOptions, 'nowUs' | 'pause'>,
): Promise<void> {
  const nextRowId = statement<number>(db, 'SELECT next_row_id FROM dataset WHERE dataset_id = ?').pluck()
  const tx = beginTransaction(db, nowUs)
  const rowId = nextRowId.get(info.datasetId) as number
  const writer = createDatasetWriter(db, table, { tx, rowId, onConflict: 'error' })
  for (const [index, values] of rows.entries()) {
    writer.put(values, index)
    const pausing = pause()
    if (pausing !== undefined) await pausing
  }
  const sql = 'UPDATE dataset SET next_row_id = ?, last_tx = ? WHERE dataset_id = ?'
  statement(db, sql).run(writer.nextRowId(), tx, info.datasetId)
}

interface DatasetWriter {
  readonly tx: number
  nextRowId(): number
  /** @returns false when the record was skipped */
  put(values: readonly Stored[], index: number): boolean
}

interface WriterState {
  /** number of this transaction */
  readonly tx: number
  /** id of the next new row */
  rowId: number
  readonly onConflict: OnConflict
}

function createDatasetWriter(db: Db, table: VersionedTable, state: WriterState): DatasetWriter {
  const { current } = versionNames(table)
  const names = table.columns.map(({ name }) => identifier(name))
  const marks = [...names, ROW_ID, FROM_TX].map(() => '?').join(', ')
  const insert = statement(
    db,
    `INSERT INTO ${current} (${[...names, ROW_ID, FROM_TX].join(', ')}) VALUES (${marks})`,
  )
  const find = createFind(db, table)
  const places = createPlaces(db, table)
  const update = createUpdate(db, table, state.tx, places)
  return {
    tx: state.tx,
    nextRowId: () => state.rowId,
    put(values, index) {
      const old = find?.(values)
      if (old === undefined) {
        const rowId = state.rowId++
        insert.run(...values, rowId, state.tx)
        for (const place of places) place.add(rowId, values)
        return true
      }
      if (state.onConflict === 'error') throw keyExists(table, values, index)
      if (state.onConflict === 'nothing') return false
      update(old, values)
      return true
    },
  }
}

/** Current row: its id, then its geometry columns. */
type OldRow = [rowId: number, ...geometries: (Uint8Array | null)[]]

/**
 * Returns a function that finds the current row with the key of a record; undefined for a table without a
 * key.
 */
function createFind(
  db: Db,
  table: VersionedTable,
): ((values: readonly Stored[]) => OldRow | undefined) | undefined {
  if (table.keyColumns.length === 0) return undefined
  const { current } = versionNames(table)
  const keySlots = table.keyColumns.map((key) => table.columns.findIndex(({ name }) => name === key))
  const isKey = table.keyColumns.map((key) => `${identifier(key)} = ?`).join(' AND ')
  const select = [
    ROW_ID,
    ...spatialSlots(table).map((slot) => identifier(table.columns[slot]?.name as string)),
  ]
  const find = statement<OldRow>(db, `SELECT ${select.join(', ')} FROM ${current} WHERE ${isKey}`).raw()
  return (values) => find.get(keySlots.map((slot) => values[slot])) as OldRow | undefined
}

/**
 * Returns a function that overwrites a row with a record of the same key. Key columns are kept: all versions
 * share one key.
 */
function createUpdate(
  db: Db,
  table: VersionedTable,
  tx: number,
  places: readonly Place[],
): (old: OldRow, values: readonly Stored[]) => void {
  const slots = table.columns.flatMap(({ name }, slot) => (table.keyColumns.includes(name) ? [] : [slot]))
  if (slots.length === 0) return () => undefined
  const names = slots.map((slot) => identifier(table.columns[slot]?.name as string))
  const marks = names.map(() => '?').join(', ')
  const update = statement(
    db,
    `UPDATE ${versionNames(table).current} SET ${names.map((name) => `${name} = ?`).join(', ')}, ${FROM_TX} = ?
     WHERE ${ROW_ID} = ? AND (${names.join(', ')}) IS NOT (${marks})`,
  )
  return (old, values) => {
    const [rowId, ...geometries] = old
    const changed = slots.map((slot) => values[slot] as Stored)
    if (update.run(...changed, tx, rowId, ...changed).changes === 0) return
    for (const [at, place] of places.entries()) {
      if (!isSameBytes(geometries[at] ?? null, values[place.slot] as Stored)) place.move(rowId, values)
    }
  }
}

/** Spatial index of one geometry column. */
interface Place {
  readonly slot: number
  add(rowId: number, values: readonly Stored[]): void
  /** called after the row was overwritten: the triggers have filled its history by then */
  move(rowId: number, values: readonly Stored[]): void
}

function createPlaces(db: Db, table: VersionedTable): Place[] {
  return spatialSlots(table).map((slot) => {
    const sql: SpatialSql = spatialSql(table, slot)
    const add = (rowId: number, values: readonly Stored[]) => {
      const box = storedBox(values[slot] as Stored)
      if (box === undefined) return
      const [west, south, east, north] = box
      statement(db, sql.insert).run(rowId, west, east, south, north)
    }
    return {
      slot,
      add,
      move(rowId, values) {
        const ids = JSON.stringify([rowId])
        statement(db, sql.keep).run(ids)
        statement(db, sql.remove).run(ids)
        add(rowId, values)
      },
    }
  })
}

function isSameBytes(a: Uint8Array | null, b: Stored): boolean {
  if (a === null || !(b instanceof Uint8Array)) return a === b
  return a.length === b.length && Buffer.compare(a, b) === 0
}
