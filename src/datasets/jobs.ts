import { type CitationSums, findCitationById } from '../storage/sqlite/citations/catalog.js'
import { type ChecksumPass, createChecksumPass } from '../storage/sqlite/citations/checksum.js'
import { asyncTransaction, type Db } from '../storage/sqlite/connection/database.js'
import { deleteRecords, putRecords } from '../storage/sqlite/datasets/rows.js'
import type { BulkWork, DeleteJob, PutJob } from '../storage/sqlite/datasets/store.js'
import type { WorkerClient } from '../worker/client.js'
import { throwIfCancelled, type Work, type WorkHandler } from '../worker/host.js'

/** Bulk loads wait this long at most behind a checksum. */
const STEP_MS = 100

/** What a step of a checksum answers: `gone` when the citation is there no more. */
type StepResult = CitationSums | 'more' | 'gone'

export interface DatasetJobStore {
  /** the writing connection of this thread; its caller holds the write lock */
  readonly db: Db
  /** a connection that sees committed rows only; asked for once */
  openReader(): Db
}

/** The datasets' bulk work, for the job worker. Checksums are made a step at a time, so that writes are let in between. */
export function datasetJobs(store: DatasetJobStore): Record<string, WorkHandler> {
  const { db } = store
  return {
    'dataset.put': (job: PutJob, work) => write(db, work, (pause) => putRecords(db, job, pause)),
    'dataset.delete': (job: DeleteJob, work) => write(db, work, (pause) => deleteRecords(db, job, pause)),
    'dataset.checksum': checksumHandler(store),
  }
}

/** The main thread's way to it. */
export function bulkWorkBy(jobs: Pick<WorkerClient, 'call'>): BulkWork {
  return {
    put: (job, signal) => jobs.call('dataset.put', job, signal === undefined ? {} : { signal }),
    deleteRecords: (job, signal) => jobs.call('dataset.delete', job, signal === undefined ? {} : { signal }),
    async checksum(citationId) {
      for (;;) {
        const result = await jobs.call<StepResult>('dataset.checksum', { citationId })
        if (result === 'gone') return undefined
        if (result !== 'more') return result
      }
    },
  }
}

/** The log is moved into the file here, so that no small commit of the main thread has to do it. */
async function write(db: Db, work: Work, act: (pause: () => undefined) => Promise<number>): Promise<number> {
  const count = await asyncTransaction(db, () =>
    act(() => {
      throwIfCancelled(work)
      return undefined
    }),
  )
  db.pragma('wal_checkpoint(PASSIVE)')
  return count
}

function checksumHandler(store: DatasetJobStore): WorkHandler {
  let reader: Db | undefined
  let current: { citationId: number; pass: ChecksumPass } | undefined
  return async ({ citationId }: { citationId: number }): Promise<StepResult> => {
    reader ??= store.openReader()
    const citation = findCitationById(reader, citationId)
    if (current?.citationId !== citationId || citation === undefined) {
      await current?.pass.abandon()
      current = undefined
    }
    if (citation === undefined) return 'gone'
    current ??= { citationId, pass: createChecksumPass(reader, citation) }
    const sums = await current.pass.step(STEP_MS)
    if (sums === undefined) return 'more'
    current = undefined
    return sums
  }
}
