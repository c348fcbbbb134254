import { AppError } from '../errors.js'
import type { BlobStore } from '../files/blob-store.js'
import type { Log } from '../log.js'
import type { AddColumns } from '../storage/add-columns.js'
import type { Keyring } from '../storage/keyring.js'
import type {
  Column,
  Counters,
  FilePlace,
  IfExists,
  LoaderTable,
  PutResult,
  TableDefinition,
  TableRef,
  TableStore,
} from '../storage/tables.js'
import type { WriteLock } from '../storage/work/write-lock.js'
import type { WorkerClient } from '../worker/client.js'
import { type CrowdPut, createCrowd } from './crowd.js'
import type { LineBatch } from './ingest/read-lines.js'
import type { PutJob } from './job-store.js'
import { loadByJob } from './load-by-job.js'
import type { SpooledRecords } from './load-jobs.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'

/** Dependencies of a loader. */
interface LoaderDeps {
  readonly tables: TableStore
  readonly addColumns: AddColumns
  /** client of the job thread */
  readonly jobs: Pick<WorkerClient, 'call'>
  /** client of the thread that writes for a crowd of small calls */
  readonly writers: Pick<WorkerClient, 'call'>
  /** turns of what the job thread does for the loader, one load at a time */
  readonly loadTurns: WriteLock
  readonly files: Pick<BlobStore, 'stage' | 'open' | 'stat'>
  readonly keyring: Keyring
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** µs UTC */
  nowUs(): number
  /** @throws AppError DISK_FULL when that many bytes would leave less free space than the reserve */
  requireSpace(bytes: number): Promise<void>
  readonly log: Pick<Log, 'error'>
}

/** Target of a call that stores records. */
export interface PutTarget {
  table: LoaderTable
  ifExists: IfExists
  /** fires when the caller is gone: what has not been committed is rolled back */
  signal?: AbortSignal
  /** key that stores them: owners have turns at the database */
  owner?: string
}

/** A stored file. Its bytes are read when they are needed: it may be larger than memory. */
export interface StoredFile {
  readonly sizeBytes: number
  /** opens the bytes, in pieces. @throws Error when they are missing */
  open(): Promise<AsyncIterable<Uint8Array>>
}

/**
 * Tables and their records, for the methods of the data loader. Writers take turns.
 *
 * Errors of all methods that store records: BAD_RECORD, RECORD_EXISTS, DISK_FULL, BUSY, CANCELLED, and
 * UNKNOWN_TABLE when the table is dropped meanwhile.
 */
export interface Loader {
  /** @throws AppError UNKNOWN_TABLE */
  find(name: string): Promise<LoaderTable>
  /** Returns every table, ordered by `data_name`. */
  list(): Promise<LoaderTable[]>
  /** @throws AppError ALREADY_REGISTERED */
  register(definition: TableDefinition): Promise<LoaderTable>
  /** Adds columns without values. @throws AppError UNKNOWN_TABLE, INVALID_PARAMS for a name that it has */
  addColumns(name: string, columns: readonly Column[]): Promise<LoaderTable>
  /** Stores records in one transaction. `data.index` of an error counts the records from 0. */
  add(target: PutTarget, records: readonly unknown[]): Promise<Counters>
  /**
   * Stores records of a file as `add` does.
   *
   * @throws AppError PARSE_ERROR for an element that is not JSON, too
   */
  addSpooled(target: PutTarget, spooled: SpooledRecords): Promise<Counters>
  /**
   * Stores records of a batch of lines as `add` does; takes over its bytes. `data.line` of an error counts
   * its lines.
   */
  addLines(target: PutTarget, batch: LineBatch): Promise<Counters>
  /** @throws AppError UNKNOWN_TABLE, TABLE_CITED */
  drop(name: string): Promise<LoaderTable>
  /** Finds a stored file; undefined when none is stored at the place. */
  findFile(table: LoaderTable, place: FilePlace): Promise<StoredFile | undefined>
  /** Removes files that no row names. @returns number of removed files */
  sweepFiles(): Promise<number>
}

/**
 * Most records that the main thread stores itself: for fewer the job thread would take longer to start than
 * they take, and a commit of more would block the event loop too long.
 */
const INLINE_RECORDS = 500
/** Most rows that an index merge on the main thread may rewrite: 3 ms. */
const INLINE_MERGE_ROWS = 4096
/** Longest stretch of work on the main thread, ms. */
const SLICE_MS = 5
/** Owner of calls that no key asked for. */
const GATEWAY = ''

/** Creates the loader of the main thread. */
export function createLoader(deps: LoaderDeps): Loader {
  const { tables, jobs, files } = deps
  const mergeLater = createMerger(deps)
  const putSmall = createSmallPuts(deps)
  const find = async (name: string): Promise<LoaderTable> => {
    const table = await tables.find(name)
    if (table === undefined) throw unknownTable(name)
    return table
  }
  return {
    find,
    list: () => tables.list(),
    async register(definition) {
      await deps.requireSpace(0)
      return await tables.register(definition, deps.nowUs())
    },
    async addColumns(name, columns) {
      await deps.requireSpace(0)
      return await deps.addColumns(await find(name), columns)
    },
    async add(target, records) {
      if (records.length > INLINE_RECORDS) {
        const json = JSON.stringify(records)
        return await load(deps, target, { json }, json.length)
      }
      await deps.requireSpace(0)
      const { counters, isMergeDue } = await putSmall(target, records)
      if (isMergeDue) mergeLater(target.table)
      return counters
    },
    addSpooled: (target, spooled) => load(deps, target, { spooled }, spooled.end - spooled.start),
    addLines: (target, batch) => putLines(deps, target, batch),
    async drop(name) {
      const table = await find(name)
      await tables.inTurn(() => jobs.call('loader.drop', refOf(table)))
      tables.forget(table)
      return table
    },
    async findFile(table, place) {
      const digest = await tables.findFile(table, place)
      if (digest === undefined) return undefined
      const { sizeBytes } = (await files.stat(digest)) ?? missing(digest)
      return { sizeBytes, open: async () => (await files.open(digest)) ?? missing(digest) }
    },
    async sweepFiles() {
      return (await tables.inTurn(() => jobs.call<{ removed: number }>('loader.sweep', null))).removed
    },
  }
}

function missing(digest: string): never {
  throw new Error(`a row names the bytes ${digest}, which are not stored`)
}

/** Creates a function that has the job thread merge the index of a table, one merge per table at a time. */
function createMerger({ tables, jobs, log }: LoaderDeps): (table: LoaderTable) => void {
  const merging = new Set<number>()
  return (table) => {
    if (merging.has(table.tableId)) return
    merging.add(table.tableId)
    tables
      .inTurn(() => jobs.call('loader.merge', { dataName: table.dataName }))
      .catch((error: unknown) => log.error({ err: error }, 'a spatial index could not be merged'))
      .finally(() => merging.delete(table.tableId))
  }
}

/** Has the job thread store many records. @param bytes approximate size on disk */
async function load(
  deps: LoaderDeps,
  target: PutTarget,
  records: { readonly json: string } | { readonly spooled: SpooledRecords },
  bytes: number,
): Promise<Counters> {
  await deps.requireSpace(bytes)
  return (await loadByJob(deps, target, { ...putJob(deps, target), ...records })).counters
}

/** Has the job thread store a batch of lines. They are few, so that reading them needs no turn of its own. */
async function putLines(deps: LoaderDeps, target: PutTarget, batch: LineBatch): Promise<Counters> {
  const { owner, signal } = target
  await deps.requireSpace(batch.bytes.length)
  const job = { ...putJob(deps, target), batch }
  const options = { transfer: [batch.bytes.buffer], ...(signal === undefined ? {} : { signal }) }
  const put = () => deps.jobs.call<PutResult>('loader.lines', job, options)
  const { counters } = await deps.loadTurns.run(() => deps.tables.inTurn(put, owner), owner)
  return counters
}

function putJob({ nowUs }: LoaderDeps, { table, ifExists }: PutTarget): PutJob {
  return { ...refOf(table), ifExists, nowUs: nowUs() }
}

/** Small calls under way that are a crowd. */
const CROWD = 32
/** Time after a crowd during which small calls are treated as its members, ms. */
const CROWD_MS = 1000
/** Commit that would hold up everybody on the main thread, as some SD cards do, ms. */
const SLOW_COMMIT_MS = 50
/** Time after a slow commit until the main thread tries again, ms. */
const SLOW_DISK_MS = 60_000

/**
 * Makes a writer of small calls: the main thread stores those of few callers, which costs them least; for many
 * at once, and on a slow disk, a thread does.
 */
function createSmallPuts(
  deps: LoaderDeps,
): (target: PutTarget, records: readonly unknown[]) => Promise<PutResult> {
  const putInCrowd = createCrowd(deps)
  let underWay = 0
  let threadUntilMs = 0
  const useThread = (ms: number) => {
    threadUntilMs = Math.max(threadUntilMs, performance.now() + ms)
  }
  const putHere = async (target: PutTarget, records: readonly unknown[]) => {
    const result = await putInline(deps, target, records)
    if (deps.tables.commitMs() >= SLOW_COMMIT_MS) useThread(SLOW_DISK_MS)
    return result
  }
  return async (target, records) => {
    underWay++
    if (underWay >= CROWD) useThread(CROWD_MS)
    try {
      return performance.now() < threadUntilMs
        ? await putInCrowd(smallPut(deps, target, records))
        : await putHere(target, records)
    } finally {
      underWay--
    }
  }
}

function smallPut(deps: LoaderDeps, target: PutTarget, records: readonly unknown[]): CrowdPut {
  const { owner = GATEWAY, signal } = target
  const json = JSON.stringify(records)
  return { put: { ...putJob(deps, target), json, owner, maxMergeRows: INLINE_MERGE_ROWS }, signal }
}

/** Stores records on the main thread, in slices. */
async function putInline(
  { tables, timeZoneMin, keyring, files, nowUs }: LoaderDeps,
  { table, ifExists, signal, owner }: PutTarget,
  records: readonly unknown[],
): Promise<PutResult> {
  return await tables.put(table, records, {
    ifExists,
    env: { timeZoneMin, nowUs: BigInt(nowUs()), keyring, newPathId },
    putFile: (bytes) => putFile(files, bytes),
    maxMergeRows: INLINE_MERGE_ROWS,
    sliceMs: SLICE_MS,
    ...(owner === undefined ? {} : { owner }),
    throwIfCancelled() {
      if (signal?.aborted === true) throw new AppError('CANCELLED')
    },
  })
}

function refOf({ tableId, dataName }: LoaderTable): TableRef {
  return { tableId, dataName }
}

/** Longest part of a name that an error repeats, characters. */
const MAX_SHOWN = 80
const MAX_SHOWN_IN_DATA = 200

/** Makes the error for a name that no table has. */
export function unknownTable(name: string): AppError {
  const shown = JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name)
  return new AppError(
    'UNKNOWN_TABLE',
    { data_name: name.slice(0, MAX_SHOWN_IN_DATA) },
    { message: `No table has the name ${shown}` },
  )
}
