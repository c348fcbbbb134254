import type { Worker } from 'node:worker_threads'
import { createWorkerClient, type WorkerClient } from '../worker/client.js'
import type { ServicesOptions } from './options.js'
import { startWorker, type WorkerRole } from './workers/start.js'

/** Idle time after which the job worker ends. */
const JOB_IDLE_MS = 30_000
/**
 * Bulk jobs make short-lived objects only: V8's own choice would keep 90 MB for them, which a board cannot
 * spare.
 */
const JOB_YOUNG_MB = 12
/** Bulk jobs that may wait; they take turns at the write lock anyway. */
const MAX_JOBS = 32

export interface Threads {
  /** maps, overlays and searches; started by the first map or search */
  readonly searcher: WorkerClient
  /** bulk loads and exports; started by the first job */
  readonly jobs: WorkerClient
}

/** Makes the clients of the worker threads. No thread is started before its first call. */
export function createThreads(options: ServicesOptions): Threads {
  const { config, log } = options
  return {
    searcher: createWorkerClient({
      spawn: () => spawn(options, 'search'),
      log,
      maxPending: config.routing.maxQueue,
    }),
    jobs: createWorkerClient({
      spawn: () => spawn(options, 'job', { maxYoungGenerationSizeMb: JOB_YOUNG_MB }),
      log,
      maxPending: MAX_JOBS,
      idleMs: JOB_IDLE_MS,
    }),
  }
}

/** Starts a thread of this program with the settings and the data directory. */
export function spawn(
  { workerEntry, config, layout }: ServicesOptions,
  role: WorkerRole,
  resourceLimits: { maxYoungGenerationSizeMb?: number } = {},
): Worker {
  return startWorker(workerEntry, role, {
    workerData: { role, config, layout },
    name: `fieldgate-${role}`,
    resourceLimits,
  })
}
