import type { SpooledRecords } from '../api/dataloader/context.js'
import { AppError } from '../errors.js'
import type { BlobStore } from '../files/blob-store.js'
import { readBlob } from '../files/read-blob.js'
import type { Log } from '../log.js'
import type { Keyring } from '../storage/keyring.js'
import type { DataDb } from '../storage/sqlite/connection/data-db.js'
import { forgetStatements, retryBusy, transaction } from '../storage/sqlite/connection/database.js'
import { findTable, listTables, registerTable } from '../storage/sqlite/tables/catalog.js'
import { findFile } from '../storage/sqlite/tables/files.js'
import { putRecords } from '../storage/sqlite/tables/put.js'
import type { Counters, IfExists, LoaderTable, PutResult, TableDefinition } from '../storage/tables.js'
import type { WorkerClient } from '../worker/client.js'
import type { LineBatch } from './ingest/read-lines.js'
import type { PutJob } from './jobs.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'

export interface LoaderDeps {
  readonly data: DataDb
  /** the job worker's end */
  readonly jobs: Pick<WorkerClient, 'call'>
  readonly files: Pick<BlobStore, 'stage' | 'open'>
  readonly keyring: Keyring
  readonly timeZoneMin: number
  /** µs UTC */
  nowUs(): number
  /** @throws AppError DISK_FULL when so many bytes would leave less than the reserve */
  requireSpace(bytes: number): Promise<void>
  readonly log: Pick<Log, 'error'>
}

export interface FilePlace {
  prefixId: number
  pathId: string
  name: string
}

/** Where records go, and how. */
export interface PutTarget {
  table: LoaderTable
  ifExists: IfExists
  /** fires when the caller is gone: what has not been committed is given up */
  signal?: AbortSignal
}

/**
 * Tables and their records, for the methods of the data loader. What writes waits its turn for data.db.
 *
 * Errors of all that store records: BAD_RECORD, RECORD_EXISTS, DISK_FULL, UNKNOWN_TABLE when the table went meanwhile,
 * BUSY, CANCELLED.
 */
export interface Loader {
  /** @throws AppError UNKNOWN_TABLE */
  find(name: string): LoaderTable
  list(): LoaderTable[]
  /** @throws AppError ALREADY_REGISTERED */
  register(definition: TableDefinition): Promise<LoaderTable>
  add(target: PutTarget, records: readonly unknown[]): Promise<Counters>
  addSpooled(target: PutTarget, spooled: SpooledRecords): Promise<Counters>
  /** takes over the batch's bytes */
  addLines(target: PutTarget, batch: LineBatch): Promise<Counters>
  /** @throws AppError UNKNOWN_TABLE, TABLE_CITED */
  drop(name: string): Promise<LoaderTable>
  readFile(table: LoaderTable, place: FilePlace): Promise<Uint8Array | undefined>
  /** removes files that no row names any more. @returns how many went */
  sweepFiles(): Promise<number>
}

/**
 * Up to so many records are stored by the main thread, for the job worker would take longer to start than they take; a
 * commit of more would stop the event loop too long.
 */
const INLINE_RECORDS = 500
/** Rows that a merge of the spatial index may rewrite on the main thread: 3 ms. */
const INLINE_MERGE_ROWS = 4096
const SLICE_MS = 5

export function createLoader(deps: LoaderDeps): Loader {
  const { data, jobs, files } = deps
  const mergeLater = createMerger(deps)
  const find = (name: string): LoaderTable => {
    const table = findTable(data.reader, name)
    if (table === undefined) throw unknownTable(name)
    return table
  }
  return {
    find,
    list: () => listTables(data.reader),
    async register(definition) {
      await deps.requireSpace(0)
      return await data.lock.run(() =>
        retryBusy(() => transaction(data.writer, () => registerTable(data.writer, definition, deps.nowUs()))),
      )
    },
    async add(target, records) {
      if (records.length > INLINE_RECORDS) {
        const json = JSON.stringify(records)
        return await runPut(deps, 'loader.records', target, { json }, json.length)
      }
      await deps.requireSpace(0)
      const { counters, isMergeDue } = await data.lock.run(() => putInline(deps, target, records))
      if (isMergeDue) mergeLater(target.table)
      return counters
    },
    addSpooled: (target, spooled) =>
      runPut(deps, 'loader.spooled', target, { spooled }, spooled.end - spooled.start),
    addLines: (target, batch) =>
      runPut(deps, 'loader.lines', target, { batch }, batch.bytes.length, [
        batch.bytes.buffer as ArrayBuffer,
      ]),
    async drop(name) {
      const table = find(name)
      const job = { dataName: table.dataName, tableId: table.tableId }
      await data.lock.run(() => jobs.call('loader.drop', job))
      for (const db of [data.reader, data.writer]) forgetStatements(db, table.tableName)
      return table
    },
    async readFile(table, place) {
      const digest = findFile(data.reader, table, place)
      return digest === undefined ? undefined : await readBlob(files, digest)
    },
    async sweepFiles() {
      return (await data.lock.run(() => jobs.call<{ removed: number }>('loader.sweep', null))).removed
    },
  }
}

/** Has the job worker merge a table's spatial index, once at a time. Nobody waits for it. */
function createMerger({ data, jobs, log }: LoaderDeps): (table: LoaderTable) => void {
  const merging = new Set<number>()
  return (table) => {
    if (merging.has(table.tableId)) return
    merging.add(table.tableId)
    data.lock
      .run(() => jobs.call('loader.merge', { dataName: table.dataName }))
      .catch((error: unknown) => log.error({ err: error }, 'a spatial index could not be merged'))
      .finally(() => merging.delete(table.tableId))
  }
}

/** Has the job worker store records. @param bytes about what they take on disk */
async function runPut(
  { data, jobs, nowUs, requireSpace }: LoaderDeps,
  name: string,
  { table, ifExists, signal }: PutTarget,
  what: object,
  bytes: number,
  transfer: ArrayBuffer[] = [],
): Promise<Counters> {
  await requireSpace(bytes)
  const job: PutJob = { dataName: table.dataName, tableId: table.tableId, ifExists, nowUs: nowUs() }
  const options = signal === undefined ? { transfer } : { signal, transfer }
  const { counters } = await data.lock.run(() => jobs.call<PutResult>(name, { ...job, ...what }, options))
  return counters
}

/** On the main thread, in slices, through the connection that no reader uses. */
async function putInline(
  deps: LoaderDeps,
  { table, ifExists, signal }: PutTarget,
  records: readonly unknown[],
): Promise<PutResult> {
  const { data, timeZoneMin, keyring, files, nowUs } = deps
  if (findTable(data.writer, table.dataName)?.tableId !== table.tableId) throw unknownTable(table.dataName)
  return await putRecords(data.writer, table, records, {
    ifExists,
    env: { timeZoneMin, nowUs: BigInt(nowUs()), keyring, newPathId },
    putFile: (bytes) => putFile(files, bytes),
    maxMergeRows: INLINE_MERGE_ROWS,
    sliceMs: SLICE_MS,
    throwIfCancelled() {
      if (signal?.aborted === true) throw new AppError('CANCELLED')
    },
  })
}

export function unknownTable(name: string): AppError {
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
  return new AppError(
    'UNKNOWN_TABLE',
    { data_name: name.slice(0, 200) },
    { message: `No table is named ${shown}` },
  )
}
