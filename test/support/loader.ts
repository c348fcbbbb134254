import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { type DataLoaderContext, GET_FILE_METHODS, LOADER_METHODS } from '../../src/api/dataloader/index.js'
import { loadConfig } from '../../src/config/config.js'
import { type BlobStore, createBlobStore } from '../../src/files/blob-store.js'
import type { Api, Dispatch } from '../../src/rpc/dispatch.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { type DataDb, openBulkWriter, openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { createSweepLease } from '../../src/storage/sqlite/connection/lease.js'
import { createRetentionStore } from '../../src/storage/sqlite/retention/store.js'
import { createTableStore } from '../../src/storage/sqlite/tables/store.js'
import { createAddColumns } from '../../src/storage/sqlite/versions/table-columns.js'
import { createWriteLock } from '../../src/storage/work/write-lock.js'
import { loaderJobs } from '../../src/tables/jobs.js'
import { createLoader, type Loader } from '../../src/tables/loader.js'
import { createRetention, setRuleByJob } from '../../src/tables/retention.js'
import type { CallOptions, WorkerClient } from '../../src/worker/client.js'
import { adminCaller } from './caller.js'
import { readResult } from './read-stream.js'
import { NOW_US, TIME_ZONE_MIN } from './tables.js'
import { workOf } from './work.js'

/**
 * The data loader over a directory of the test's; bulk jobs run in this thread, on a connection of their own.
 */
export interface TestLoader {
  readonly loader: Loader
  readonly data: DataDb
  readonly files: BlobStore
  readonly jobs: Pick<WorkerClient, 'call'>
  /** names of the jobs so far */
  readonly jobNames: string[]
  readonly tempDir: string
  readonly context: DataLoaderContext
  /** a method's result as a caller sees it */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  call(method: string, params: unknown): Promise<any>
  /** what the transport hands to the dispatcher */
  dispatch(): Dispatch<DataLoaderContext>
  /** every row of every table of data.db, to show that nothing changed */
  dump(): unknown
}

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

export function openTestLoader(t: TestLike, settings: Record<string, unknown> = {}): TestLoader {
  const dir = t.testdir()
  const tempDir = path.join(dir, 'tmp')
  mkdirSync(tempDir)
  const file = path.join(dir, 'data.db')
  const keyring = createKeyring(new Uint8Array(32).fill(9))
  const files = createBlobStore({ dir: path.join(dir, 'files'), tempDir })
  const loaded = loadConfig(null, {}, settings as never)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { config } = loaded
  const { valueBytes } = config.limits
  const data = openDataDb(file, { valueBytes })
  const bulk = openBulkWriter(file, valueBytes)
  const bulkConnection = { reader: bulk, writer: bulk, lock: createWriteLock() }
  const jobNames: string[] = []
  const jobs = inThisThread(
    loaderJobs({
      tables: createTableStore(bulkConnection),
      retention: createRetentionStore(bulkConnection, async () => 0),
      keyring,
      files,
      timeZoneMin: TIME_ZONE_MIN,
      lease: createSweepLease(path.join(dir, 'lease.db')),
      valueBytes,
    }),
    jobNames,
  )
  const tables = createTableStore(data)
  const loader = createLoader({
    tables,
    addColumns: createAddColumns(data),
    jobs,
    writers: jobs,
    loadTurns: createWriteLock(),
    files,
    keyring,
    timeZoneMin: TIME_ZONE_MIN,
    nowUs: () => NOW_US,
    requireSpace: async () => undefined,
    log: { error: (fields: unknown) => console.error(fields) } as never,
  })
  t.teardown(() => {
    bulk.close()
    data.close()
  })
  const { signal } = new AbortController()
  const store = createRetentionStore(data, async () => 0)
  const rules = createRetention({ loader, store, setRule: setRuleByJob(tables, jobs) })
  const context: DataLoaderContext = {
    ...{ loader, config, signal, caller: adminCaller, timeZoneMin: TIME_ZONE_MIN },
    retention: { ...rules, wake: () => undefined, stateOf: () => undefined },
  }
  const methods = new Map([...LOADER_METHODS, ...GET_FILE_METHODS].map((method) => [method.name, method]))
  const api: Api<DataLoaderContext> = { path: '/loader', title: 'Data loader', methods: async () => methods }
  return {
    loader,
    data,
    files,
    jobs,
    jobNames,
    tempDir,
    context,
    async call(method, params) {
      const found = methods.get(method)
      if (found === undefined) throw new Error(`no method ${method}`)
      return (await readResult(await found.call(params, context))).value
    },
    dispatch: () => ({
      api,
      context,
      requestId: randomUUID(),
      maxBatch: config.limits.batch,
      maxDepth: config.limits.jsonDepth,
      discover: async () => ({}),
      pathOf: async () => undefined,
      mayCall: () => true,
      charge: async () => undefined,
      onFault: (_method, error) => console.error(error),
    }),
    dump: () => dumpOf(data),
  }
}

/** Payloads are copied as between threads; a cancel is seen as a worker sees it. */
function inThisThread(handlers: ReturnType<typeof loaderJobs>, names: string[]): Pick<WorkerClient, 'call'> {
  return {
    async call<R>(name: string, payload: unknown, options: CallOptions = {}): Promise<R> {
      names.push(name)
      const handler = handlers[name]
      if (handler === undefined) throw new Error(`no job ${name}`)
      const cancel = new Int32Array(new SharedArrayBuffer(4))
      options.signal?.addEventListener('abort', () => Atomics.store(cancel, 0, 1))
      if (options.signal?.aborted === true) Atomics.store(cancel, 0, 1)
      const emit = (event: unknown) => options.onEvent?.(structuredClone(event))
      return structuredClone(await handler(structuredClone(payload), workOf({ cancel, emit }))) as R
    },
  }
}

function dumpOf({ reader }: DataDb): unknown {
  const names = reader
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .pluck()
    .all() as string[]
  return names.map((name) => [name, reader.prepare(`SELECT * FROM "${name}"`).safeIntegers().all()])
}
