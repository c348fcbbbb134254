import type { MessagePort, Worker } from 'node:worker_threads'
import { createWorkerClient, type WorkerClient } from '../worker/client.js'
import { createReaderPool, type ReaderPool, type Readers } from '../worker/reader-pool.js'
import { limitWal } from './health/limit-wal.js'
import type { ServicesOptions } from './options.js'
import type { TimedRead } from './workers/reader.js'
import { startWorker, type WorkerRole } from './workers/start.js'

/** Time for a cancelled search to end. It checks its cancel flag every few milliseconds. */
const SEARCH_GRACE_MS = 2000
/** Idle time after which a job worker ends. */
const JOB_IDLE_MS = 30_000
/**
 * Bulk jobs make short-lived objects only: V8's own choice would keep 90 MB for them, which a board cannot
 * spare.
 */
const JOB_YOUNG_MB = 12
/** A reader makes text, which is garbage as soon as it is sent. */
const READER_YOUNG_MB = 4
/**
 * Large rows are strings of many megabytes, which V8 would let lie until they are some hundreds. A reader that
 * needs more than this ends, and the gateway goes on. A row of 8 MB needs up to 80: 500,000 positions, and once
 * more in another reference system.
 */
const READER_OLD_MB = 128
/** Bulk jobs that may wait; they take turns at the write lock anyway. */
const MAX_JOBS = 32

export interface Threads {
  /** maps, overlays and searches; started by the first map or search */
  readonly searcher: WorkerClient
  /** bulk loads and exports; started by the first job */
  readonly jobs: WorkerClient
  /** writes small calls for a crowd of callers; started by the first crowd */
  readonly writers: WorkerClient
  /** reads of tables and datasets; started by the first read that is not small */
  readonly readers: ReaderPool
}

/** Makes the clients of the worker threads. No thread is started before its first call. */
export function createThreads(options: ServicesOptions): Threads {
  const { log } = options
  const worksOnDemand = {
    spawn: () => spawn(options, 'job', { maxYoungGenerationSizeMb: JOB_YOUNG_MB }),
    log,
    idleMs: JOB_IDLE_MS,
  }
  return {
    searcher: createSearcher(options, () => spawn(options, 'search')),
    jobs: createWorkerClient({ ...worksOnDemand, maxPending: MAX_JOBS }),
    // one group of calls at a time
    writers: createWorkerClient({ ...worksOnDemand, maxPending: 1 }),
    readers: createReaders(options),
  }
}

/** Makes the client of the search thread. */
export function createSearcher(
  { config, log }: Pick<ServicesOptions, 'config' | 'log'>,
  spawn: () => Worker,
): WorkerClient {
  return createWorkerClient({ spawn, log, maxPending: config.routing.maxQueue, graceMs: SEARCH_GRACE_MS })
}

/** Makes the pool of reader threads, with the limit of the log that its slow answers may cause. */
function createReaders(options: ServicesOptions): ReaderPool {
  const { config, layout, log } = options
  const { reads } = config
  const readers = createReaderPool({
    spawn: () =>
      spawn(options, 'reader', {
        maxYoungGenerationSizeMb: READER_YOUNG_MB,
        maxOldGenerationSizeMb: READER_OLD_MB,
      }),
    log,
    maxThreads: reads.threads,
    maxOpen: reads.maxOpen,
    maxWaiting: reads.maxQueue,
    timeLimitMs: reads.timeLimitMs,
  })
  const file = `${layout.dataDb}-wal`
  const end = limitWal({ readers, file, maxBytes: reads.walBytes, slowMs: reads.timeLimitMs, log })
  return {
    ...readers,
    async stop() {
      end()
      await readers.stop()
    },
  }
}

/** Returns readers that note the time of each call, which a condition may compare with. @param nowUs µs UTC */
export function timedReaders(readers: Readers, nowUs: () => number): Readers {
  return {
    read: (name, payload, options) =>
      readers.read(name, { payload, nowUs: nowUs() } satisfies TimedRead, options),
  }
}

/**
 * Starts a thread of this program with the settings and the data directory.
 *
 * @param themeRows port at which the thread asks for rows of themes
 */
export function spawn(
  { workerEntry, config, layout, version }: ServicesOptions,
  role: WorkerRole,
  resourceLimits: { maxYoungGenerationSizeMb?: number; maxOldGenerationSizeMb?: number } = {},
  themeRows?: MessagePort,
): Worker {
  return startWorker(workerEntry, role, {
    workerData: { role, config, layout, version, workerEntry, themeRows },
    transferList: themeRows === undefined ? [] : [themeRows],
    name: `fieldgate-${role}`,
    resourceLimits,
  })
}
