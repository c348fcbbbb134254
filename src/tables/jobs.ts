import { closeSync, openSync } from 'node:fs'
import type { SpooledRecords } from '../api/dataloader/context.js'
import { AppError, isAppError } from '../errors.js'
import type { BlobStore } from '../files/blob-store.js'
import type { Keyring } from '../storage/keyring.js'
import { asyncTransaction, type Db } from '../storage/sqlite/connection/database.js'
import { createSweepLease } from '../storage/sqlite/connection/lease.js'
import { dropTable, findTable } from '../storage/sqlite/tables/catalog.js'
import { usedDigests } from '../storage/sqlite/tables/files.js'
import { putRecords } from '../storage/sqlite/tables/put.js'
import { MAX_SEGMENT_ROWS, mergeSegments } from '../storage/sqlite/tables/segment-index.js'
import type { SweepLease } from '../storage/sweep-lease.js'
import type { IfExists, LoaderTable, PutOptions, PutResult } from '../storage/tables.js'
import { throwIfCancelled, type Work, type WorkHandler } from '../worker/host.js'
import { readElements } from './ingest/read-elements.js'
import { type LineBatch, lineOfRecord, readLines } from './ingest/read-lines.js'
import { type ScanLimits, scanBody, scanParamsBody } from './ingest/scan-body.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'

/** What bulk work needs: a writing connection of its own thread, and where bytes go. */
export interface JobStore {
  readonly db: Db
  readonly keyring: Keyring
  readonly files: Pick<BlobStore, 'stage' | 'list' | 'remove'>
  readonly timeZoneMin: number
  /** `lease.db` of the data directory: what keeps the bytes of a backup that is being made */
  readonly leaseFile: string
}

/** Which table, and how: part of every job that writes rows. */
export interface PutJob {
  dataName: string
  tableId: number
  ifExists: IfExists
  /** time of the call, µs UTC */
  nowUs: number
}

/**
 * The data loader's bulk work, for the job worker. The caller holds the write lock, save for scans.
 */
export function loaderJobs(store: JobStore): Record<string, WorkHandler> {
  return {
    'loader.scan': ({ file, limits }: { file: string; limits: ScanLimits }) =>
      withFile(file, async (handle) => scanBody(handle, limits)),
    'loader.scanParams': ({ file, maxDepth }: { file: string; maxDepth: number }) =>
      withFile(file, async (handle) => scanParamsBody(handle, maxDepth)),
    'loader.records': (job: PutJob & { json: string }, work) =>
      put(store, job, JSON.parse(job.json) as unknown[], work),
    'loader.lines': (job: PutJob & { batch: LineBatch }, work) => putLines(store, job, work),
    'loader.spooled': async (job: PutJob & { spooled: SpooledRecords }, work) => {
      const { file, start, end } = job.spooled
      const result = await withFile(file, (handle) => put(store, job, readElements(handle, start, end), work))
      store.db.pragma('wal_checkpoint(TRUNCATE)') // the log of a large call is as large as the call
      return result
    },
    'loader.merge': ({ dataName }: { dataName: string }, work) => mergeAll(store, dataName, work),
    'loader.drop': (job: { dataName: string; tableId: number }) => drop(store, job),
    'loader.sweep': () => sweepFiles({ ...store, lease: createSweepLease(store.leaseFile) }),
  }
}

async function put(store: JobStore, job: PutJob, records: Iterable<unknown>, work: Work): Promise<PutResult> {
  const table = requireTable(store.db, job)
  const options: PutOptions = {
    ifExists: job.ifExists,
    env: { timeZoneMin: store.timeZoneMin, nowUs: BigInt(job.nowUs), keyring: store.keyring, newPathId },
    putFile: (bytes) => putFile(store.files, bytes),
    maxMergeRows: MAX_SEGMENT_ROWS,
    throwIfCancelled: () => throwIfCancelled(work),
  }
  return await putRecords(store.db, table, records, options)
}

/** A fault names the line of the batch instead of the index of the record. */
async function putLines(store: JobStore, job: PutJob & { batch: LineBatch }, work: Work): Promise<PutResult> {
  try {
    return await put(store, job, readLines(job.batch), work)
  } catch (error) {
    if (!isAppError(error) || typeof error.data.index !== 'number') throw error
    const { index, ...data } = error.data
    const message = error.message.replace(/^record_set\[\d+\](?:, )?(?:: )?/, '')
    throw new AppError(error.errorName, { ...data, line: lineOfRecord(job.batch, index) }, { message })
  }
}

/** Merges are small transactions each, so that they can be given up between two. */
async function mergeAll({ db }: JobStore, dataName: string, work: Work): Promise<null> {
  for (let isDue = true; isDue; ) {
    throwIfCancelled(work)
    isDue = await asyncTransaction(db, async () => {
      const table = findTable(db, dataName)
      return table !== undefined && mergeSegments(db, table, MAX_SEGMENT_ROWS)
    })
  }
  return null
}

async function drop({ db }: JobStore, job: { dataName: string; tableId: number }): Promise<null> {
  return await asyncTransaction(db, async () => {
    dropTable(db, requireTable(db, job))
    return null
  })
}

/** The table of a job, unless it went or was made anew since the call came in. */
function requireTable(db: Db, { dataName, tableId }: { dataName: string; tableId: number }): LoaderTable {
  const table = findTable(db, dataName)
  if (table?.tableId === tableId) return table
  throw new AppError('UNKNOWN_TABLE', { data_name: dataName }, { message: `The table ${dataName} is gone` })
}

/**
 * Removes files that no row names. Files are put within the transaction of their rows, so within this one none is on the
 * way to its row. While a backup is being made nothing goes.
 */
export async function sweepFiles({
  db,
  files,
  lease,
}: Pick<JobStore, 'db' | 'files'> & { lease: Pick<SweepLease, 'remove'> }): Promise<{ removed: number }> {
  return await asyncTransaction(db, async () => {
    const giveBack = await lease.remove()
    if (giveBack === undefined) return { removed: 0 }
    try {
      const used = new Set(usedDigests(db))
      let removed = 0
      for await (const digest of files.list()) {
        if (used.has(digest)) continue
        await files.remove(digest)
        removed++
      }
      return { removed }
    } finally {
      await giveBack()
    }
  })
}

/** Synchronous reads are right in a thread that does nothing else. */
async function withFile<T>(file: string, work: (handle: number) => Promise<T>): Promise<T> {
  const handle = openSync(file, 'r')
  try {
    return await work(handle)
  } finally {
    closeSync(handle)
  }
}
