import { AppError } from '../errors.js'
import type { Log } from '../log.js'
import type { ReadJob } from './read-job.js'
import type { FromReader, ToReader } from './read-protocol.js'

/** Part of a worker thread that its owner uses. */
export interface SpawnedReader {
  postMessage(message: ToReader): void
  on(event: 'message', listener: (message: FromReader) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'exit', listener: () => void): unknown
  terminate(): Promise<unknown>
}

/** Threads of a pool, and the jobs that run in them. */
export interface ReaderThreads {
  /** Begins a job, in a thread without work if there is one. */
  open(job: ReadJob): void
  /** Lets the thread of a job send as many more characters. */
  take(job: ReadJob, chars: number): void
  /** Ends a job that failed, and its thread when that does not react in time. */
  abandon(job: ReadJob): void
  count(): number
  stop(): Promise<void>
}

interface ThreadsOptions {
  spawn(): SpawnedReader
  readonly log: Log
  readonly maxThreads: number
  /** called when the thread has nothing more to do for a job */
  onOver(job: ReadJob): void
  /** time that a thread has to react to the end of a job, ms */
  readonly graceMs?: number
  /** time without jobs after which a thread ends, ms */
  readonly idleMs?: number
}

/** Time for a thread to react to its cancel flag before it is ended: steps between two checks are shorter. */
const GRACE_MS = 2000
/** A thread costs 10 MB, and 50 ms to start. */
const IDLE_MS = 10_000
/** A job that takes its thread down is begun once more, not for ever. */
const MAX_BEGINS = 2

interface Thread {
  readonly worker: SpawnedReader
  readonly jobs: Map<number, ReadJob>
  /** jobs that were asked to end: id → timer that ends the thread */
  readonly ending: Map<number, NodeJS.Timeout>
  idleTimer: NodeJS.Timeout | undefined
}

interface Threads {
  readonly options: ThreadsOptions
  readonly all: Set<Thread>
  readonly threadOf: Map<ReadJob, Thread>
  /** job → times that it was begun */
  readonly begins: WeakMap<ReadJob, number>
}

/** Creates the threads of a pool; none is started before the first job. */
export function createReaderThreads(options: ThreadsOptions): ReaderThreads {
  const threads: Threads = { options, all: new Set(), threadOf: new Map(), begins: new WeakMap() }
  return {
    open: (job) => begin(threads, job),
    take: (job, chars) => post(threads.threadOf.get(job), { kind: 'take', id: job.id, chars }),
    abandon: (job) => abandon(threads, job),
    count: () => threads.all.size,
    async stop() {
      const ended = [...threads.all]
      threads.all.clear()
      for (const { ending, idleTimer } of ended) {
        clearTimeout(idleTimer)
        for (const timer of ending.values()) clearTimeout(timer)
      }
      await Promise.all(ended.map(({ worker }) => worker.terminate()))
    },
  }
}

function begin(threads: Threads, job: ReadJob): void {
  try {
    const thread = chooseThread(threads, job)
    clearTimeout(thread.idleTimer)
    threads.begins.set(job, (threads.begins.get(job) ?? 0) + 1)
    thread.jobs.set(job.id, job)
    threads.threadOf.set(job, thread)
    const { name, payload, owner } = job.call
    post(thread, { kind: 'open', id: job.id, name, payload, owner, cancel: job.cancel })
  } catch (error) {
    leave(threads, job)
    job.fail(error)
    threads.options.onOver(job)
  }
}

/**
 * Returns the thread with the fewest jobs at work; starts one when all have some. All but one of the threads
 * may be used by the same owner: a long step of its reads cannot delay everybody.
 */
function chooseThread(threads: Threads, { call: { owner } }: ReadJob): Thread {
  const { maxThreads } = threads.options
  const load = ({ jobs, ending }: Thread) =>
    [...jobs.values()].filter((job) => job.idleSinceMs === undefined).length + ending.size * 1000
  const all = [...threads.all].sort((a, b) => load(a) - load(b))
  const mine = all.filter(({ jobs }) => [...jobs.values()].some(({ call }) => call.owner === owner))
  const [ownBest] = mine
  if (ownBest !== undefined && mine.length >= maxThreads - 1) return ownBest
  const [best] = all
  const mayStart = all.length < maxThreads
  return best === undefined || (mayStart && load(best) > 0) ? startThread(threads) : best
}

function startThread(threads: Threads): Thread {
  const { options } = threads
  const thread: Thread = {
    worker: options.spawn(),
    jobs: new Map(),
    ending: new Map(),
    idleTimer: undefined,
  }
  threads.all.add(thread)
  thread.worker.on('message', (message: FromReader) => {
    const job = thread.jobs.get(message.id)
    if (job === undefined) return
    if (message.kind === 'end') leave(threads, job)
    job.receive(message)
    if (message.kind === 'end') options.onOver(job)
  })
  thread.worker.on('error', (error) => options.log.error({ err: error }, 'a reader thread failed'))
  thread.worker.on('exit', () => endThread(threads, thread))
  return thread
}

/** Takes a job from its thread. */
function leave({ options, all, threadOf }: Threads, job: ReadJob): void {
  const thread = threadOf.get(job)
  if (thread === undefined) return
  threadOf.delete(job)
  thread.jobs.delete(job.id)
  clearTimeout(thread.ending.get(job.id))
  thread.ending.delete(job.id)
  if (thread.jobs.size > 0) return
  thread.idleTimer = setTimeout(() => {
    all.delete(thread) // it gets no job while it ends
    void thread.worker.terminate()
  }, options.idleMs ?? IDLE_MS)
  thread.idleTimer.unref()
}

function abandon(threads: Threads, job: ReadJob): void {
  const thread = threads.threadOf.get(job)
  if (thread === undefined || thread.ending.has(job.id)) return
  post(thread, { kind: 'stop', id: job.id })
  const timer = setTimeout(() => {
    threads.options.log.warn({ read: job.call.name }, 'a reader thread did not react and was ended')
    endThread(threads, thread)
    void thread.worker.terminate()
  }, threads.options.graceMs ?? GRACE_MS)
  thread.ending.set(job.id, timer)
}

/** Begins the jobs of a thread that has ended again, elsewhere; those that cannot be fail. */
function endThread(threads: Threads, thread: Thread): void {
  if (!threads.all.delete(thread)) return
  clearTimeout(thread.idleTimer)
  for (const job of [...thread.jobs.values()]) {
    leave(threads, job)
    clearTimeout(thread.idleTimer)
    const isFresh = !job.isOver && !job.hasAnswer && (threads.begins.get(job) ?? 0) < MAX_BEGINS
    if (isFresh) begin(threads, job)
    else {
      const message = 'The thread that made this answer was ended'
      job.fail(new AppError('TIME_LIMIT', {}, { message }))
      threads.options.onOver(job)
    }
  }
}

function post(thread: Thread | undefined, message: ToReader): void {
  thread?.worker.postMessage(message)
}
