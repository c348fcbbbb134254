import { AppError, isAppError } from '../../errors.js'
import { faultText, isFault } from '../../geo/fault.js'
import { readGeometry } from '../../storage/columns/byte-types.js'
import { addCounters, NO_RECORDS } from '../../storage/counters.js'
import { type Counters, IF_EXISTS, isPathProperty, type LoaderTable } from '../../storage/tables.js'
import type { ColumnDef } from '../../tables/column-def.js'
import { readDefinition } from '../../tables/record-def.js'
import { createKeyCounter, type KeyCount } from '../../tabular/key-counter.js'
import type { ImportPlan } from '../../tabular/plan.js'
import { type FileRecord, recordOf } from '../../tabular/record.js'
import { oneLine } from '../io.js'
import { group } from '../maps/map-facts.js'
import type { LongWork } from '../with-progress.js'
import type { FeatureSource, SourceRow } from './feature-source.js'
import { MAX_KEYS, type PlannedImport } from './import-plan.js'
import type { TableData } from './table-data.js'

export interface StoreFlags {
  table: string
  ifExists?: string
  ignoreUnknown?: boolean
}

interface ImportWork extends PlannedImport {
  readonly uniqueColumns: readonly string[]
  /** undefined when it is to be created */
  readonly table: LoaderTable | undefined
  readonly flags: StoreFlags
}

/** Stores the records of a file; a table that was created for it is removed when none of them was stored. */
export async function storeFile(
  tables: TableData,
  source: FeatureSource,
  work: ImportWork,
  { progress, signal }: LongWork,
): Promise<{ table: LoaderTable; isNew: boolean; counters: Counters; shared: KeyCount }> {
  const { counts, uniqueColumns, plan } = work
  if (work.table === undefined && work.survey?.rowCount === 0)
    throw new Error(`there is no table ${work.flags.table}, and the file has no record to derive it from`)
  const isNew = work.table === undefined
  const table = work.table ?? (await createTable(tables, work))
  const counter = counts === undefined ? createKeyCounter(uniqueColumns, MAX_KEYS) : undefined
  let counters = NO_RECORDS
  let share = 0
  const onRead = (read: number) => {
    share = read
  }
  try {
    for await (const rows of source.batches(onRead)) {
      if (signal.aborted) throw stopped(counters)
      for (const row of counter === undefined ? [] : rows) counter?.add(fileRecord(row, plan), row.place)
      const records = rows.map((row) => toRecord(table, row, work))
      const batch = { rows, records, places: source.places, before: counters.upload }
      counters = addCounters(counters, await putBatch(tables, table, batch, work.flags))
      progress.show(share, `${group(counters.upload)} records`, counters.upload)
    }
  } catch (error) {
    if (isNew && counters.upload === 0) await tables.store.drop(table)
    throw error
  }
  const shared = counter?.count() ?? counts?.[0]
  // without counts there is a counter
  if (shared === undefined) throw new Error('the keys were not counted')
  return { table, isNew, counters, shared }
}

/** Record of a row as the keys of the file are compared. */
function fileRecord(row: SourceRow, plan: ImportPlan | undefined): FileRecord {
  if (plan !== undefined) return recordOf(plan, row)
  return { type: 'Feature', geometry: row.geometry, properties: { ...row.values } }
}

interface Batch {
  readonly rows: readonly SourceRow[]
  readonly records: readonly unknown[]
  readonly places: FeatureSource['places']
  /** number of records before the batch */
  readonly before: number
}

/** Stores one batch in a transaction; an error names the line or the record of the file. */
async function putBatch(
  { store, putOptions }: TableData,
  table: LoaderTable,
  { rows, records, places, before }: Batch,
  flags: StoreFlags,
): Promise<Counters> {
  const ifExists = IF_EXISTS.find((name) => name === flags.ifExists) ?? 'skip'
  try {
    const { counters } = await store.put(table, records, { ...putOptions, ifExists })
    return counters
  } catch (error) {
    if (!isAppError(error) || typeof error.data.index !== 'number') throw error
    const place = `${places === 'lines' ? 'line' : 'record'} ${rows[error.data.index]?.place ?? '?'}`
    const message = `${place}: ${oneLine(error)}; the ${group(before)} records before its batch are stored`
    throw new Error(message, { cause: error })
  }
}

/**
 * Returns a row as a record: a geometry that is text is parsed, and unknown properties may be left out. A
 * Feature of the file keeps its other members, which storing it checks.
 */
function toRecord(table: LoaderTable, row: SourceRow, { plan, flags }: ImportWork): unknown {
  if (plan === undefined && (typeof row.feature !== 'object' || row.feature === null)) return row.feature
  const feature: object = plan === undefined ? (row.feature as object) : recordOf(plan, row)
  const { geometry, properties }: { geometry?: unknown; properties?: unknown } = feature
  const record = { ...feature, geometry: typeof geometry === 'string' ? geometryOf(geometry) : geometry }
  if (flags.ignoreUnknown !== true || typeof properties !== 'object' || properties === null) return record
  const known = Object.entries(properties).filter(
    ([name]) => (table.columnByName.has(name) && name !== 'location') || isPathProperty(table, name),
  )
  return { ...record, properties: Object.fromEntries(known) }
}

/**
 * Parses a geometry of CSV or GeoPackage. A fault is returned as text, which the check of the record quotes.
 */
function geometryOf(text: string): unknown {
  const geometry = readGeometry(text, undefined)
  return isFault(geometry) ? faultText(geometry) : geometry
}

/** Creates the table with the columns of the plan. */
async function createTable({ store, nowUs }: TableData, work: ImportWork): Promise<LoaderTable> {
  const { uniqueColumns, plan } = work
  const name = work.flags.table
  const defs = (plan?.columns ?? []).map(({ name: column, kind }): [string, ColumnDef] => [
    column,
    { udt_name: kind, is_nullable: !uniqueColumns.includes(column), need_crypto: false },
  ])
  const definition = readDefinition(
    { data_name: name, schema: 'event', record_def: Object.fromEntries(defs), unique_columns: uniqueColumns },
    (def) => ({ def: def as ColumnDef }), // `defs` holds nothing else
  )
  if ('faults' in definition) {
    const list = definition.faults.map(({ path, message }) => `${path.slice(0, 2).join('.')}: ${message}`)
    throw new Error(`the table cannot be created from the file: ${list.slice(0, 5).join('; ')}`)
  }
  const { columns } = definition
  return await store.register({ dataName: name, schema: 'event', columns, uniqueColumns }, nowUs())
}

/** Ctrl-C ends the import between two batches, so all records that were reported are stored. */
function stopped({ upload }: Counters): AppError {
  return new AppError(
    'CANCELLED',
    {},
    { message: `stopped; ${group(upload)} records are stored, the rest is not` },
  )
}
