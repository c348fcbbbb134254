import { closeSync, openSync } from 'node:fs'
import { AppError, isAppError } from '../errors.js'
import type { RetentionRule } from '../storage/retention.js'
import type { PutResult, TableRef } from '../storage/tables.js'
import { throwIfCancelled, type Work, type WorkHandler } from '../worker/host.js'
import { type LineBatch, lineOfRecord, readLines } from './ingest/read-lines.js'
import { type ScanLimits, scanBody, scanParamsBody } from './ingest/scan-body.js'
import type { JobStore, PutJob } from './job-store.js'
import { loadJobs } from './load-jobs.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'
import { putJobs } from './put-jobs.js'

/** Most bytes of JSON for a byte of a value: escapes of two bytes as six, base64, and the rest of a record. */
const JSON_FACTOR = 2

/**
 * Returns the jobs of the data loader for the job thread. The caller of those that write holds its turn
 * meanwhile.
 */
export function loaderJobs(store: JobStore): Record<string, WorkHandler> {
  const maxRecordBytes = store.valueBytes * JSON_FACTOR
  return {
    'loader.scan': ({ file, limits }: { file: string; limits: ScanLimits }) =>
      withFile(file, async (handle) => scanBody(handle, { ...limits, maxRecordBytes })),
    'loader.scanParams': ({ file, maxDepth }: { file: string; maxDepth: number }) =>
      withFile(file, async (handle) => scanParamsBody(handle, { maxDepth, maxRecordBytes })),
    'loader.lines': (job: PutJob & { batch: LineBatch }, work) => putLines(store, job, work),
    ...loadJobs(store, maxRecordBytes),
    ...putJobs(store),
    'loader.merge': ({ dataName }: { dataName: string }, work) => mergeAll(store, dataName, work),
    'loader.drop': async (table: TableRef) => {
      await store.tables.drop(table)
      return null
    },
    'loader.retention': async ({ table, rule }: { table: TableRef; rule: RetentionRule | null }) => {
      await store.retention.set(table, rule)
      return null
    },
    'loader.sweep': () => sweepFiles(store),
  }
}

async function put(
  { tables, keyring, files, timeZoneMin }: JobStore,
  { dataName, tableId, ifExists, nowUs }: PutJob,
  records: Iterable<unknown>,
  work: Work,
): Promise<PutResult> {
  return await tables.put({ dataName, tableId }, records, {
    ifExists,
    env: { timeZoneMin, nowUs: BigInt(nowUs), keyring, newPathId },
    putFile: (bytes) => putFile(files, bytes),
    throwIfCancelled: () => throwIfCancelled(work),
  })
}

/** Stores the records of a batch. An error names the line in the batch instead of the index of the record. */
async function putLines(store: JobStore, job: PutJob & { batch: LineBatch }, work: Work): Promise<PutResult> {
  try {
    return await put(store, job, readLines(job.batch), work)
  } catch (error) {
    if (!isAppError(error) || typeof error.data.index !== 'number') throw error
    const { index, ...data } = error.data
    const line = lineOfRecord(job.batch, error.data.index)
    throw new AppError(error.errorName, { ...data, line }, { message: error.message, cause: error.cause })
  } finally {
    job.batch.bytes.buffer.transfer(0) // frees them: V8 would keep several batches, which have grown old
  }
}

/**
 * Does all due merges, each in a short transaction of its own, so that the work can be cancelled between two.
 */
async function mergeAll({ tables }: JobStore, dataName: string, work: Work): Promise<null> {
  do {
    throwIfCancelled(work)
  } while (await tables.mergeIndex(dataName))
  return null
}

/** Files that a sweep removes at any share of the whole. */
const FEW_FILES = 100
/** Share of the files above which those that no row names are kept: the database may not be theirs. */
const MAX_SHARE = 0.5

/**
 * Removes files that no row names; removes none while a backup is being made, and none when most files have no
 * row, unless the operator accepts their loss.
 *
 * @returns numbers of removed files, and of those that were kept although no row names them
 */
export async function sweepFiles(
  { tables, files, lease }: Pick<JobStore, 'tables' | 'files' | 'lease'>,
  acceptsLoss = false,
): Promise<{ removed: number; held: number }> {
  return await tables.withUsedFiles(async (used) => {
    const removal = await lease.remove()
    if (removal === undefined) return { removed: 0, held: 0 }
    try {
      const unnamed: string[] = []
      let total = 0
      for await (const digest of files.list()) {
        total++
        if (!used.has(digest)) unnamed.push(digest)
      }
      if (!acceptsLoss && unnamed.length > Math.max(FEW_FILES, total * MAX_SHARE))
        return { removed: 0, held: unnamed.length }
      for (const digest of unnamed) {
        await removal.confirm()
        await files.remove(digest)
      }
      return { removed: unnamed.length, held: 0 }
    } finally {
      await removal.release()
    }
  })
}

/** Opens a file for `work`. Synchronous reads are fine in a thread that does nothing else. */
async function withFile<T>(file: string, work: (handle: number) => Promise<T>): Promise<T> {
  const handle = openSync(file, 'r')
  try {
    return await work(handle)
  } finally {
    closeSync(handle)
  }
}
