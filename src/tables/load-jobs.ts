import { closeSync, openSync } from 'node:fs'
import { parseSafe } from '../json/exact-json.js'
import type { PutResult, StagedRecords } from '../storage/tables.js'
import { throwIfCancelled, type Work, type WorkHandler } from '../worker/host.js'
import { readElements } from './ingest/read-elements.js'
import type { JobStore, PutJob } from './job-store.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'

/** Elements of a JSON array in a file: bytes `start` to `end`, without the brackets. */
export interface SpooledRecords {
  readonly file: string
  readonly start: number
  readonly end: number
}

/** A load: its target, and its records as JSON text or in a file. */
export type LoadJob = PutJob & ({ readonly json: string } | { readonly spooled: SpooledRecords })

/** Step of a load before its transaction. The first one brings the load. */
export interface StageStep {
  /** names the load over its steps */
  readonly id: string
  readonly load?: LoadJob
}

/** Longest step, ms: jobs for which other writers wait come in between. */
const STEP_MS = 20

/** A load between two steps. */
interface Load {
  readonly records: StagedRecords
  /** the step that runs */
  work: Work
  close(): void
}

/**
 * Returns the steps of large loads for the job thread: `loader.stage` reads and checks records until it
 * returns true, `loader.store` stores them and moves the log of the database into its file, and
 * `loader.discard` forgets a load that will not be stored. The caller holds its turn as a writer only during
 * `loader.store`, and only until its event, the result.
 *
 * @param stepMs length of a step of `loader.stage`
 */
export function loadJobs(
  store: JobStore,
  maxRecordBytes: number,
  stepMs = STEP_MS,
): Record<string, WorkHandler> {
  const loads = new Map<string, Load>()
  const end = (id: string) => {
    loads.get(id)?.close()
    loads.delete(id)
  }
  const require = (id: string, work: Work): Load => {
    const load = loads.get(id)
    if (load === undefined) throw new Error('a load was begun in a thread that has ended')
    load.work = work
    return load
  }
  return {
    'loader.stage': ({ id, load }: StageStep, work): boolean => {
      if (load !== undefined) loads.set(id, beginLoad(store, load, work, maxRecordBytes))
      const endsAtMs = performance.now() + stepMs
      return require(id, work).records.advance(() => performance.now() > endsAtMs)
    },
    'loader.store': async ({ id }: { id: string }, work): Promise<null> => {
      try {
        work.emit((await require(id, work).records.put()) satisfies PutResult)
      } finally {
        end(id)
      }
      store.tables.moveLog()
      return null
    },
    'loader.discard': ({ id }: { id: string }): null => {
      end(id)
      return null
    },
  }
}

function beginLoad(store: JobStore, job: LoadJob, begunBy: Work, maxBytes: number): Load {
  const { dataName, tableId, ifExists, nowUs } = job
  const { records, close } = openRecords(job, maxBytes)
  try {
    const staged = store.tables.stage({ dataName, tableId }, records, {
      ifExists,
      env: { timeZoneMin: store.timeZoneMin, nowUs: BigInt(nowUs), keyring: store.keyring, newPathId },
      putFile: (bytes) => putFile(store.files, bytes),
      throwIfCancelled: () => throwIfCancelled(load.work),
    })
    const load: Load = { records: staged, work: begunBy, close }
    return load
  } catch (error) {
    close()
    throw error
  }
}

/** Opens the records of a load. Synchronous reads are fine in a thread that does nothing else. */
function openRecords(job: LoadJob, maxBytes: number): { records: Iterable<unknown>; close(): void } {
  // text that another thread has made of records
  if ('json' in job) return { records: parseSafe(job.json) as unknown[], close: () => undefined }
  const { file, start, end } = job.spooled
  const handle = openSync(file, 'r')
  return { records: readElements(handle, start, end, { maxBytes }), close: () => closeSync(handle) }
}
