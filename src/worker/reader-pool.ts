import { AppError } from '../errors.js'
import type { Log } from '../log.js'
import { createReadJob, type ReadJob } from './read-job.js'
import { createReaderThreads, type ReaderThreads, type SpawnedReader } from './reader-threads.js'

/** Options of one read. */
export interface ReadOptions {
  /** ends the read */
  signal?: AbortSignal
}

/** Answer of a read: whole when it is short, else text that is made while it is taken. */
export interface ReadResult {
  readonly head: unknown
  readonly text: string | AsyncIterableIterator<string>
}

/** Reads that run outside the main thread. */
export interface Readers {
  /**
   * Starts a read, and waits for the first part of its answer.
   *
   * @returns text which ends the read when it is closed by `return()`; its `next` throws what `read` throws
   * @throws AppError of the read; TIME_LIMIT, CANCELLED, BUSY
   */
  read(name: string, payload: unknown, options?: ReadOptions): Promise<ReadResult>
}

/** Threads that read, and the answers that they make. */
export interface ReaderPool extends Readers {
  /** Returns figures for metrics: threads, answers that are made, and reads that wait for their turn. */
  stats(): { threads: number; open: number; waiting: number }
  /** Ends all reads and threads. */
  stop(): Promise<void>
}

/** Settings of a pool of reader threads. */
export interface ReaderPoolOptions {
  spawn(): SpawnedReader
  readonly log: Log
  readonly maxThreads: number
  /** most answers that are made at the same time; each has a connection and a state of the tables */
  readonly maxOpen: number
  /** most reads that wait for one of those; one more is refused with BUSY */
  readonly maxWaiting: number
  /** longest time that a caller waits for parts of its answer, summed; ms */
  readonly timeLimitMs: number
  /** time after which an answer that nobody reads gives way to reads that wait, ms; default 2000 */
  readonly lyingMs?: number
  /** time that a thread has to react to the end of a job, ms; default 2000 */
  readonly graceMs?: number
  /** time without jobs after which a thread ends, ms; default 10,000 */
  readonly idleMs?: number
}

/** Default of `lyingMs`. */
const LYING_MS = 2000

interface Pool {
  readonly options: ReaderPoolOptions
  readonly threads: ReaderThreads
  readonly open: Set<ReadJob>
  readonly waiting: Set<ReadJob>
  looking: NodeJS.Timeout | undefined
}

/**
 * Creates a pool. A thread starts when the others have work, and ends when it has had none for a while. A
 * thread that does not react to the end of a job is ended and replaced: jobs whose callers have no part of
 * their answer yet begin again.
 */
export function createReaderPool(options: ReaderPoolOptions): ReaderPool {
  const threads = createReaderThreads({ ...options, onOver: (job) => giveBack(pool, job) })
  const pool: Pool = { options, threads, open: new Set(), waiting: new Set(), looking: undefined }
  let nextId = 1
  let isStopped = false
  return {
    async read(name, payload, { signal } = {}) {
      if (isStopped || signal?.aborted === true) throw new AppError('CANCELLED')
      if (pool.waiting.size >= options.maxWaiting) throw tooMany(options)
      const call = { name, payload, timeLimitMs: options.timeLimitMs }
      const job = createReadJob(nextId++, call, {
        onTaken: (taken, chars) => threads.take(taken, chars),
        onFailed: (failed) => abandon(pool, failed),
      })
      const onAbort = () => job.fail(new AppError('CANCELLED'))
      signal?.addEventListener('abort', onAbort, { once: true })
      pool.waiting.add(job)
      startWaiting(pool)
      return await resultOf(job, () => signal?.removeEventListener('abort', onAbort))
    },
    stats: () => ({ threads: threads.count(), open: pool.open.size, waiting: pool.waiting.size }),
    async stop() {
      isStopped = true
      clearInterval(pool.looking)
      for (const job of [...pool.waiting, ...pool.open]) job.fail(new AppError('CANCELLED'))
      await threads.stop()
    },
  }
}

/** Waits for the first piece of a job. @param onEnd called once, when nothing more is read of it */
async function resultOf(job: ReadJob, onEnd: () => void): Promise<ReadResult> {
  let isEnded = false
  const end = () => {
    if (!isEnded) onEnd()
    isEnded = true
  }
  const next = async () => {
    try {
      const piece = await job.next()
      if (piece === undefined) end()
      return piece
    } catch (error) {
      end()
      throw error
    }
  }
  const first = await next()
  const head = job.head()
  if (first === undefined) return { head, text: '' }
  if (job.isOver && (await isLast(job))) {
    end()
    return { head, text: first }
  }
  return { head, text: iterate(first, next, () => end(), job) }
}

async function isLast(job: ReadJob): Promise<boolean> {
  return job.idleSinceMs === undefined && (await job.next()) === undefined
}

function iterate(
  first: string,
  next: () => Promise<string | undefined>,
  end: () => void,
  job: ReadJob,
): AsyncIterableIterator<string> {
  let pending: string | undefined = first
  return {
    async next() {
      const value = pending ?? (await next())
      pending = undefined
      return value === undefined ? { done: true, value } : { done: false, value }
    },
    async return() {
      pending = undefined
      end()
      job.fail(new AppError('CANCELLED'))
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Begins the reads that wait as long as there is room. */
function startWaiting(pool: Pool): void {
  const { waiting, open, options, threads } = pool
  const { lyingMs = LYING_MS } = options
  for (const job of waiting) {
    if (open.size >= options.maxOpen) break
    waiting.delete(job)
    open.add(job)
    threads.open(job)
  }
  if (waiting.size > 0) pool.looking ??= setInterval(() => endLying(pool), lyingMs / 8).unref()
  else {
    clearInterval(pool.looking)
    pool.looking = undefined
  }
}

/** Ends the answer that has been lying longest, when reads wait for its place. */
function endLying({ open, options: { lyingMs = LYING_MS } }: Pool): void {
  const since = performance.now() - lyingMs
  let longest: ReadJob | undefined
  for (const job of open) {
    const { idleSinceMs } = job
    if (idleSinceMs === undefined || idleSinceMs > since) continue
    if (longest === undefined || idleSinceMs < (longest.idleSinceMs ?? 0)) longest = job
  }
  const message = `The caller did not read its answer for ${lyingMs} ms while others waited`
  longest?.fail(new AppError('TIME_LIMIT', { limitMs: lyingMs }, { message }))
}

/** Ends the work of a job that failed before its thread reported its end. */
function abandon(pool: Pool, job: ReadJob): void {
  if (pool.waiting.delete(job)) startWaiting(pool)
  else pool.threads.abandon(job)
}

/** A job's thread has nothing more to do for it. */
function giveBack(pool: Pool, job: ReadJob): void {
  pool.open.delete(job)
  startWaiting(pool)
}

function tooMany({ maxWaiting }: ReaderPoolOptions): AppError {
  const message = `Found ${maxWaiting} reads that wait, expected fewer; try again`
  return new AppError('BUSY', { maxPending: maxWaiting, retryAfterS: 1 }, { message })
}
