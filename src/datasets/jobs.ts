import { parseExact, parseSafe } from '../json/exact-json.js'
import type { ChecksumPass, CitationStore, CitationSums } from '../storage/datasets/citations.js'
import type { DatasetStore, DeleteJob, PutJob } from '../storage/datasets/datasets.js'
import type { WorkerClient } from '../worker/client.js'
import { throwIfCancelled, type Work, type WorkHandler } from '../worker/host.js'

/** Work on datasets that another thread does. */
export interface BulkWork {
  /** The caller holds the write lock. See `DatasetStore.put`. */
  put(job: PutJob, signal?: AbortSignal): Promise<number>
  /** The caller holds the write lock. See `DatasetStore.deleteRecords`. */
  deleteRecords(job: DeleteJob, signal?: AbortSignal): Promise<number>
  /** Computes the sums of a citation; undefined when it was removed. Needs no lock. */
  checksum(citationId: number): Promise<CitationSums | undefined>
}

/** Longest step of a checksum: bulk loads wait at most this long behind it. */
const STEP_MS = 100

/** A job with JSON text for one member: a number that is kept as text cannot be cloned into a thread. */
type AsText<Job, Member extends keyof Job> = Omit<Job, Member> & {
  readonly json: undefined extends Job[Member] ? string | null : string
}

/** Result of one step of a checksum; `gone` when the citation was removed. */
type StepResult = CitationSums | 'more' | 'gone'

/** Ports of the job thread. */
interface DatasetJobStores {
  /** over the writing connection of this thread; the caller of a job holds the write lock */
  readonly rows: Pick<DatasetStore, 'put' | 'deleteRecords'>
  /** called once, at the first checksum */
  openCitations(): Pick<CitationStore, 'findById' | 'openChecksum'>
}

/**
 * Returns the handlers of the job thread. A checksum is computed step by step, so that writes run in between.
 */
export function datasetJobs(stores: DatasetJobStores): Record<string, WorkHandler> {
  const { rows } = stores
  return {
    'dataset.put': ({ json, ...job }: AsText<PutJob, 'records'>, work) =>
      rows.put({ ...job, records: parseExact(json) as PutJob['records'] }, checkOnly(work)),
    'dataset.delete': ({ json, ...job }: AsText<DeleteJob, 'condition'>, work) =>
      rows.deleteRecords({ ...job, condition: json === null ? undefined : parseSafe(json) }, checkOnly(work)),
    'dataset.checksum': checksumHandler(stores),
  }
}

/** Returns the client of these handlers, for the main thread. */
export function bulkWorkBy(jobs: Pick<WorkerClient, 'call'>): BulkWork {
  return {
    put({ records, ...job }, signal) {
      const payload: AsText<PutJob, 'records'> = { ...job, json: JSON.stringify(records) }
      return jobs.call('dataset.put', payload, signal === undefined ? {} : { signal })
    },
    deleteRecords({ condition, ...job }, signal) {
      const json = condition === undefined ? null : JSON.stringify(condition)
      const payload: AsText<DeleteJob, 'condition'> = { ...job, json }
      return jobs.call('dataset.delete', payload, signal === undefined ? {} : { signal })
    },
    async checksum(citationId) {
      for (;;) {
        const result = await jobs.call<StepResult>('dataset.checksum', { citationId })
        if (result === 'gone') return undefined
        if (result !== 'more') return result
      }
    },
  }
}

/** A pause that only checks for cancellation: no other work waits for this thread. */
function checkOnly(work: Work): () => undefined {
  return () => {
    throwIfCancelled(work)
    return undefined
  }
}

function checksumHandler({ openCitations }: DatasetJobStores): WorkHandler {
  let citations: ReturnType<DatasetJobStores['openCitations']> | undefined
  let current: { citationId: number; pass: ChecksumPass } | undefined
  return async ({ citationId }: { citationId: number }): Promise<StepResult> => {
    citations ??= openCitations()
    const isGone = (await citations.findById(citationId)) === undefined
    if (current !== undefined && (current.citationId !== citationId || isGone)) {
      await current.pass.abandon()
      current = undefined
    }
    const pass = isGone ? undefined : (current?.pass ?? (await citations.openChecksum(citationId)))
    if (pass === undefined) return 'gone'
    current = { citationId, pass }
    const sums = await pass.step(STEP_MS)
    if (sums === undefined) return 'more'
    current = undefined
    return sums
  }
}
