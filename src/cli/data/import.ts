import { AppError, isAppError } from '../../errors.js'
import { faultText, isFault } from '../../geo/fault.js'
import { readGeometry } from '../../storage/columns/byte-types.js'
import { addCounters, NO_RECORDS } from '../../storage/counters.js'
import {
  type Counters,
  IF_EXISTS,
  type IfExists,
  isPathProperty,
  type LoaderTable,
} from '../../storage/tables.js'
import type { ColumnDef } from '../../tables/column-def.js'
import { readDefinition } from '../../tables/record-def.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { type LongWork, withProgress } from '../with-progress.js'
import type { FeatureSource, PlaceColumns } from './feature-source.js'
import { createFileKeys, exampleText } from './file-keys.js'
import { inferColumns } from './infer.js'
import { openFeatures } from './source.js'
import { type TableData, withTableData } from './table-data.js'

export interface ImportFlags extends GlobalOptions, PlaceColumns {
  table: string
  unique?: string
  ifExists?: string
  ignoreUnknown?: boolean
}

/**
 * Runs `data import`. Batches of some thousand records are stored in a transaction each, so that a gateway
 * that runs beside it can write in between.
 */
export async function runDataImport(
  file: string,
  flags: ImportFlags,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const ifExists = IF_EXISTS.find((name) => name === (flags.ifExists ?? 'skip'))
  if (ifExists === undefined)
    throw usageError(`--if-exists: found ${flags.ifExists}, expected ${IF_EXISTS.join(', ')}`)
  const source = await open(file, flags)
  const startedAt = performance.now()
  const importRecords = ({ progress, signal }: LongWork) =>
    withTableData(flags, deps, async (tables) => {
      let table = await tables.store.find(flags.table)
      const isNew = table === undefined
      if (table !== undefined) requireKey(table, flags)
      let counters = NO_RECORDS
      const keys = createFileKeys()
      for await (const batch of batchesOf(source, file)) {
        if (signal.aborted) throw stopped(counters)
        // before the table is made: one with a wrong key would stay
        const uniqueColumns = table?.uniqueColumns ?? keyOfNew(flags)
        keys.add(uniqueColumns, batch)
        if (flags.ifExists === undefined && keys.count() > 0)
          throw sharedKeys(uniqueColumns, keys, counters.upload)
        table ??= await createTable(tables, flags, batch)
        const records = recordsOf(table, batch, flags)
        counters = addCounters(counters, await putBatch(tables, table, records, ifExists, counters.upload))
        progress.show(source.fraction(), `${group(counters.upload)} records`, counters.upload)
      }
      if (table === undefined)
        throw new Error(`there is no table ${flags.table}, and the file has no record to derive it from`)
      return { table, isNew, counters, keys }
    })
  const result = await withProgress(io, deps, importRecords).finally(() => source.close())
  report(io, flags, result, (performance.now() - startedAt) / 1000)
}

async function open(file: string, flags: ImportFlags): Promise<FeatureSource> {
  try {
    return await openFeatures(file, flags)
  } catch (error) {
    throw fileFault(error, file)
  }
}

/** Reads batches; errors of reading the file name the file. */
async function* batchesOf(source: FeatureSource, file: string): AsyncGenerator<unknown[]> {
  try {
    yield* source.batches()
  } catch (error) {
    throw fileFault(error, file)
  }
}

/**
 * Stores one batch in a transaction.
 *
 * @param before number of records before the batch, so that an error names the record as it is counted in the
 *   file
 */
async function putBatch(
  { store, putOptions }: TableData,
  table: LoaderTable,
  records: readonly unknown[],
  ifExists: IfExists,
  before: number,
): Promise<Counters> {
  try {
    const { counters } = await store.put(table, records, { ...putOptions, ifExists })
    return counters
  } catch (error) {
    if (!isAppError(error) || typeof error.data.index !== 'number') throw error
    const record = before + error.data.index + 1
    const message = `record ${record}: ${oneLine(error)}; the ${group(before)} records before its batch are stored`
    throw new Error(message, { cause: error })
  }
}

function recordsOf(table: LoaderTable, batch: readonly unknown[], { ignoreUnknown }: ImportFlags): unknown[] {
  return batch.map((feature) => toRecord(table, feature, ignoreUnknown === true))
}

/**
 * Returns the feature as a record: a geometry that is text is parsed, and unknown properties may be left out.
 */
function toRecord(table: LoaderTable, feature: unknown, ignoresUnknown: boolean): unknown {
  if (typeof feature !== 'object' || feature === null) return feature
  const { geometry, properties }: { geometry?: unknown; properties?: unknown } = feature
  const record = { ...feature, geometry: typeof geometry === 'string' ? geometryOf(geometry) : geometry }
  if (!ignoresUnknown || typeof properties !== 'object' || properties === null) return record
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

/** Refuses a key that the table does not have: it would be ignored. */
function requireKey({ uniqueColumns }: LoaderTable, { table: name, unique }: ImportFlags): void {
  if (unique === undefined) return
  const [found, expected] = [columnsOf(unique), uniqueColumns].map((names) => [...names].sort().join(', '))
  if (found !== expected)
    throw usageError(
      `--unique: found ${found}, expected ${expected}, which is the key of the table ${name}; to choose another key, name another table`,
    )
}

/** Returns the key of a table that is to be created. */
function keyOfNew({ table: name, unique }: ImportFlags): string[] {
  if (unique !== undefined) return columnsOf(unique)
  throw new Error(
    `there is no table ${name}: register it, or name its key with --unique to create it from the file`,
  )
}

function columnsOf(unique: string): string[] {
  return unique.split(',').map((column) => column.trim())
}

/** Creates the table with columns derived from the first records, when the key is named. */
async function createTable(
  { store, nowUs }: TableData,
  flags: ImportFlags,
  batch: readonly unknown[],
): Promise<LoaderTable> {
  const name = flags.table
  const uniqueColumns = keyOfNew(flags)
  const defs = inferColumns(batch, uniqueColumns)
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

function report(
  io: CliIo,
  flags: ImportFlags,
  {
    table,
    isNew,
    counters,
    keys,
  }: { table: LoaderTable; isNew: boolean; counters: Counters; keys: ReturnType<typeof createFileKeys> },
  seconds: number,
): void {
  const { upload, duplicate, insert, update } = counters
  if (keys.count() > 0)
    io.stderr.write(
      `fieldgate: warning: ${group(keys.count())} records share their key with an earlier record of the file: ${exampleText(keys.examples())}\n`,
    )
  if (flags.json === true) {
    const facts = { upload, duplicate, duplicateInFile: keys.count(), insert, update, seconds }
    printJson(io, { table: table.dataName, made: isNew, ...facts })
    return
  }
  const skipped = upload - insert - update
  io.stdout.write(
    `${table.dataName}${isNew ? ' (created)' : ''}: ${group(insert)} records inserted, ${group(update)} overwritten, ` +
      `${group(skipped)} skipped, in ${seconds.toFixed(1)} s\n`,
  )
}

/** Error for keys that records of the file share, which a wrong key column makes many of. */
function sharedKeys(
  uniqueColumns: readonly string[],
  keys: ReturnType<typeof createFileKeys>,
  stored: number,
): Error {
  const columns = uniqueColumns.join(', ')
  return new Error(
    `records of the file share the key (${columns}): ${exampleText(keys.examples())}; correct the file, choose another key, or decide with --if-exists skip or override; the ${group(stored)} records before their batch are stored`,
  )
}

/** Ctrl-C ends the import between two batches, so all records that were reported are stored. */
function stopped({ upload }: Counters): AppError {
  return new AppError(
    'CANCELLED',
    {},
    { message: `stopped; ${group(upload)} records are stored, the rest is not` },
  )
}
