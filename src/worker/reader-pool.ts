import { AppError } from '../errors.js'
import type { Log } from '../log.js'
import { createReadJob, type ReadJob } from './read-job.js'
import { createReaderThreads, type ReaderThreads, type SpawnedReader } from './reader-threads.js'

/** Options of one read. */
export interface ReadOptions {
  /** id of a key, or an address: owners share places, threads and turns, whatever the number of their reads */
  readonly owner: string
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
  read(name: string, payload: unknown, options: ReadOptions): Promise<ReadResult>
}

/** Threads that read, and the answers that they make. */
export interface ReaderPool extends Readers {
  /** Returns figures for metrics: threads, answers that are made, and reads that wait for their turn. */
  stats(): { threads: number; open: number; waiting: number }
  /**
   * Ends the answer that was begun first, if it has been made for a while: it keeps a state of the tables,
   * behind which the log of the database grows.
   *
   * @param minAgeMs time since its begin
   * @param error what its caller receives
   * @returns its age, ms; undefined when there is none that old
   */
  endOldest(minAgeMs: number, error: AppError): number | undefined
  /** Ends all reads and threads. */
  stop(): Promise<void>
}

/** Settings of a pool of reader threads. */
export interface ReaderPoolOptions {
  spawn(): SpawnedReader
  readonly log: Log
  readonly maxThreads: number
  /**
   * most answers that are made at the same time; each has a connection and a state of the tables. One owner
   * has as many as it leaves free
   */
  readonly maxOpen: number
  /** most reads that wait for one of those; one more is refused with BUSY, as is one beyond its owner's share */
  readonly maxWaiting: number
  /** longest time that a caller waits for parts of its answer, summed; ms */
  readonly timeLimitMs: number
  /** time after which an answer that nobody reads gives way to reads that wait, ms; default 2000 */
  readonly lyingMs?: number
  /** time that a thread has to react to the end of a job, ms; default 2000 */
  readonly graceMs?: number
  /** time without jobs after which a thread ends, ms; default 10,000 */
  readonly idleMs?: number
  /** clock of the ages of answers, ms */
  nowMs?(): number
}

/** Default of `lyingMs`. */
const LYING_MS = 2000

interface Pool {
  readonly options: ReaderPoolOptions
  readonly threads: ReaderThreads
  /** job → time of its begin, in this order */
  readonly open: Map<ReadJob, number>
  readonly waiting: Set<ReadJob>
  /** owner with reads → number of the begin of its last one */
  readonly served: Map<string, number>
  begins: number
  looking: NodeJS.Timeout | undefined
}

/**
 * Creates a pool. Of the reads that wait, one of the owner with the fewest open answers begins next; no owner
 * takes all places, nor all threads. A thread starts when the others have work, and ends when it has had none
 * for a while. A thread that does not react to the end of a job is ended and replaced: jobs whose callers have
 * no part of their answer yet begin again.
 */
export function createReaderPool(options: ReaderPoolOptions): ReaderPool {
  const threads = createReaderThreads({ ...options, onOver: (job) => giveBack(pool, job) })
  const pool: Pool = {
    options,
    threads,
    open: new Map(),
    waiting: new Set(),
    served: new Map(),
    begins: 0,
    looking: undefined,
  }
  let nextId = 1
  let isStopped = false
  return {
    async read(name, payload, { owner, signal }) {
      if (isStopped || signal?.aborted === true) throw new AppError('CANCELLED')
      requireRoom(pool, owner)
      const call = { name, payload, owner, timeLimitMs: options.timeLimitMs }
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
    endOldest(minAgeMs, error) {
      const [oldest] = pool.open
      if (oldest === undefined) return undefined
      const [job, beganMs] = oldest
      const ageMs = nowMs(options) - beganMs
      if (ageMs < minAgeMs) return undefined
      job.fail(error)
      return ageMs
    },
    async stop() {
      isStopped = true
      clearInterval(pool.looking)
      for (const job of [...pool.waiting, ...pool.open.keys()]) job.fail(new AppError('CANCELLED'))
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
  for (let job = nextOf(pool); job !== undefined; job = nextOf(pool)) {
    waiting.delete(job)
    pool.served.set(job.call.owner, ++pool.begins)
    open.set(job, nowMs(options))
    threads.open(job)
  }
  if (waiting.size > 0) pool.looking ??= setInterval(() => endLying(pool), lyingMs / 8).unref()
  else {
    clearInterval(pool.looking)
    pool.looking = undefined
  }
}

function nowMs({ nowMs: now = () => performance.now() }: ReaderPoolOptions): number {
  return now()
}

/**
 * Returns the read that begins next: the oldest of the owner with the fewest open answers, or among several of
 * the one whose last turn is longest ago.
 */
function nextOf({ waiting, open, served, options: { maxOpen } }: Pool): ReadJob | undefined {
  let next: { job: ReadJob; mine: number; servedAt: number } | undefined
  for (const job of waiting) {
    const mine = countOf(open.keys(), job.call.owner)
    const servedAt = served.get(job.call.owner) ?? 0
    const isBefore =
      next === undefined || mine < next.mine || (mine === next.mine && servedAt < next.servedAt)
    if (isBefore && hasShare(maxOpen, open.size, mine)) next = { job, mine, servedAt }
  }
  return next?.job
}

/** True when an owner may take one more place: its first, or one of as many as it leaves free. */
function hasShare(total: number, used: number, mine: number): boolean {
  return used < total && (mine === 0 || mine + 1 < total - used)
}

function countOf(jobs: Iterable<ReadJob>, owner: string): number {
  let count = 0
  for (const { call } of jobs) if (call.owner === owner) count++
  return count
}

/**
 * Ends the answer that has been lying longest, when reads wait for its place: reads of the same owner, or of
 * anybody when all places are taken.
 */
function endLying({ open, waiting, options: { lyingMs = LYING_MS, maxOpen } }: Pool): void {
  const since = performance.now() - lyingMs
  const isFull = open.size >= maxOpen
  let longest: ReadJob | undefined
  for (const job of open.keys()) {
    const { idleSinceMs } = job
    if (idleSinceMs === undefined || idleSinceMs > since) continue
    if (!isFull && countOf(waiting, job.call.owner) === 0) continue
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
  const { open, waiting, served } = pool
  const { owner } = job.call
  open.delete(job)
  if (countOf(open.keys(), owner) + countOf(waiting, owner) === 0) served.delete(owner)
  startWaiting(pool)
}

/** @throws AppError BUSY when too many reads wait, or too many of this owner */
function requireRoom({ waiting, options: { maxWaiting } }: Pool, owner: string): void {
  const mine = countOf(waiting, owner)
  if (hasShare(maxWaiting, waiting.size, mine)) return
  const [found, whose] = waiting.size >= maxWaiting ? [waiting.size, ''] : [mine, ' of this key or address']
  const message = `Found ${found} reads${whose} that wait, expected fewer (reads.maxQueue); try again`
  throw new AppError('BUSY', { maxPending: maxWaiting, retryAfterS: 1 }, { message })
}
