import { addCounters, NO_ROWS } from '../../api/dataloader/counters.js'
import { IfExistsOption } from '../../api/dataloader/schema.js'
import { AppError, isAppError } from '../../errors.js'
import { faultText, isFault } from '../../geo/fault.js'
import { readGeometry } from '../../storage/columns/column-types-bytes.js'
import { retryBusy, transaction } from '../../storage/sqlite/connection/database.js'
import { findTable, registerTable } from '../../storage/sqlite/tables/catalog.js'
import { putRecords } from '../../storage/sqlite/tables/put.js'
import { isRelativePathKey } from '../../storage/sqlite/tables/record-files.js'
import type { Counters, LoaderTable } from '../../storage/tables.js'
import { readDefinition } from '../../tables/record-def.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { createProgress } from '../progress.js'
import type { FeatureSource, PlaceColumns } from './feature-source.js'
import { inferRecordDef } from './infer.js'
import { openFeatures } from './source.js'
import { type TableData, withTableData } from './table-data.js'

export interface ImportFlags extends GlobalOptions, PlaceColumns {
  table: string
  unique?: string
  ifExists: string
  ignoreUnknown?: boolean
}

/** `data import`: batches of some thousand records, each a transaction, so that a gateway beside it has its turns. */
export async function runDataImport(
  file: string,
  flags: ImportFlags,
  io: CliIo,
  deps: CliDeps,
): Promise<void> {
  const ifExists = IfExistsOption.safeParse(flags.ifExists)
  if (!ifExists.success)
    throw usageError(
      `--if-exists: found ${flags.ifExists}, expected ${IfExistsOption.unwrap().options.join(', ')}`,
    )
  const source = await open(file, flags)
  const progress = createProgress(io.stderr)
  const stop = new AbortController()
  const stopListening = deps.onSignal('SIGINT', () => stop.abort())
  const startedAt = performance.now()
  try {
    const result = await withTableData(flags, deps, async (tables) => {
      let table = findTable(tables.data.writer, flags.table)
      const isNew = table === undefined
      let counters = NO_ROWS
      for await (const batch of batchesOf(source, file)) {
        if (stop.signal.aborted) throw stopped(counters)
        table ??= await makeTable(tables, flags, batch)
        counters = addCounters(counters, await putBatch(tables, table, batch, flags, ifExists.data, counters))
        progress.show(source.fraction(), `${group(counters.upload)} records`)
      }
      if (table === undefined)
        throw new Error(`there is no table ${flags.table}, and the file has no record to make it by`)
      return { table, isNew, counters }
    })
    progress.clear()
    report(io, flags, result, (performance.now() - startedAt) / 1000)
  } finally {
    progress.clear()
    stopListening()
    source.close()
  }
}

async function open(file: string, flags: ImportFlags): Promise<FeatureSource> {
  try {
    return await openFeatures(file, flags)
  } catch (error) {
    throw fileFault(error, file)
  }
}

/** Faults of the file come with its name; those of the table, which are thrown where the batches go, pass by. */
async function* batchesOf(source: FeatureSource, file: string): AsyncGenerator<unknown[]> {
  try {
    yield* source.batches()
  } catch (error) {
    throw fileFault(error, file)
  }
}

/** One transaction. A fault names the record as it is counted in the file. */
async function putBatch(
  { data, putOptions }: TableData,
  table: LoaderTable,
  batch: readonly unknown[],
  flags: ImportFlags,
  ifExists: 'override' | 'skip' | 'error',
  before: Counters,
): Promise<Counters> {
  const records = batch.map((feature) => toRecord(table, feature, flags.ignoreUnknown === true))
  try {
    const { counters } = await putRecords(data.writer, table, records, { ...putOptions, ifExists })
    return counters
  } catch (error) {
    if (!isAppError(error) || typeof error.data.index !== 'number') throw error
    const record = before.upload + error.data.index + 1
    const reason = oneLine(error).replace(/^record_set\[\d+\](?:, |: )?/, '')
    const message = `record ${record}: ${reason}; the ${group(before.upload)} records before its batch are stored`
    throw new Error(message, { cause: error })
  }
}

/** The feature as `add_record` takes it: places that are text become geometries, what has no column may be left out. */
function toRecord(table: LoaderTable, feature: unknown, ignoresUnknown: boolean): unknown {
  if (typeof feature !== 'object' || feature === null) return feature
  const { geometry, properties } = feature as {
    geometry?: unknown
    properties?: Record<string, unknown> | null
  }
  const record = { ...feature, geometry: typeof geometry === 'string' ? geometryOf(geometry) : geometry }
  if (!ignoresUnknown || typeof properties !== 'object' || properties === null) return record
  const known = Object.entries(properties).filter(
    ([name]) => (table.columnByName.has(name) && name !== 'location') || isRelativePathKey(table, name),
  )
  return { ...record, properties: Object.fromEntries(known) }
}

/** CSV and GeoPackage bring their places as text. */
function geometryOf(text: string): unknown {
  const geometry = readGeometry(text, undefined)
  // a place that cannot be read is told of as what it is; the check of the record refuses any text
  return isFault(geometry) ? faultText(geometry) : geometry
}

/** Makes the table by the first records, when the key was named. */
async function makeTable(
  { data, nowUs }: TableData,
  { table: name, unique }: ImportFlags,
  batch: readonly unknown[],
): Promise<LoaderTable> {
  if (unique === undefined)
    throw new Error(
      `there is no table ${name}: register it, or name its key with --unique and it is made by the file`,
    )
  const uniqueColumns = unique.split(',').map((column) => column.trim())
  const input = {
    data_name: name,
    schema: 'event',
    record_def: inferRecordDef(batch, uniqueColumns),
    unique_columns: uniqueColumns,
  }
  const definition = readDefinition(input)
  if ('faults' in definition) {
    const list = definition.faults.map(({ path, message }) => `${path.slice(0, 2).join('.')}: ${message}`)
    throw new Error(`the table cannot be made by the file: ${list.slice(0, 5).join('; ')}`)
  }
  const { columns } = definition
  return await retryBusy(() =>
    transaction(data.writer, () =>
      registerTable(data.writer, { dataName: name, schema: 'event', columns, uniqueColumns }, nowUs()),
    ),
  )
}

function report(
  io: CliIo,
  flags: ImportFlags,
  { table, isNew, counters }: { table: LoaderTable; isNew: boolean; counters: Counters },
  seconds: number,
): void {
  const { upload, duplicate, insert, update } = counters
  if (flags.json === true) {
    printJson(io, { table: table.dataName, made: isNew, upload, duplicate, insert, update, seconds })
    return
  }
  const skipped = upload - insert - update
  io.stdout.write(
    `${table.dataName}${isNew ? ', which was made' : ''}: ${group(insert)} records inserted, ${group(update)} overwritten, ` +
      `${group(skipped)} skipped, in ${seconds.toFixed(1)} s\n`,
  )
}

/** Ctrl-C ends it between two batches, so what was told as put is put. */
function stopped({ upload }: Counters): AppError {
  return new AppError(
    'CANCELLED',
    {},
    { message: `stopped; ${group(upload)} records were put, the rest was not` },
  )
}
