import type { Transferable, Worker } from 'node:worker_threads'
import { AppError, isAppError, messageOf } from '../errors.js'
import type { Log } from '../log.js'
import { CANCEL_ASKED, type FromWorker, type ToWorker } from './protocol.js'
import { fromWire } from './wire-error.js'

/** Limits and extras of one call. */
export interface CallOptions {
  /** cancels the call: it is rejected with CANCELLED at once, and the worker's cancel flag is set */
  signal?: AbortSignal
  /** rejects the call with TIME_LIMIT after this time, and sets the cancel flag */
  timeLimitMs?: number
  /** objects of the payload whose memory moves to the worker */
  transfer?: Transferable[]
  onEvent?: (event: unknown) => void
}

/** The main thread's end of a worker thread. */
export interface WorkerClient {
  /** @throws AppError of the handler, BUSY, CANCELLED, TIME_LIMIT; Error when the worker died */
  call<R>(name: string, payload: unknown, options?: CallOptions): Promise<R>
  /** Returns the number of calls that wait or run. */
  pending(): number
  /**
   * Resolves to true when the thread answers within `limitMs`. A thread that is started on demand and does
   * not run counts as alive; one that should be running is started.
   */
  isAlive(limitMs: number): Promise<boolean>
  /** Returns true when the thread was ever started: the first call starts it. */
  wasStarted(): boolean
  /** Ends the thread; its calls are rejected. */
  stop(): Promise<void>
}

/** Settings of a worker client. */
interface WorkerClientOptions {
  /** starts the thread; called at the first call and after the thread has ended */
  spawn: () => Worker
  log: Log
  /** most calls that wait or run; one more is rejected with BUSY */
  maxPending: number
  /** time without calls after which the thread is ended, ms; undefined = never */
  idleMs?: number
}

interface Pending {
  /** ends the call */
  settle(outcome: { result: unknown } | { error: unknown }): void
  onEvent: ((event: unknown) => void) | undefined
}

interface Thread {
  worker: Worker
  pending: Map<number, Pending>
  pings: Map<number, (isAlive: boolean) => void>
  idleTimer: NodeJS.Timeout | undefined
}

/** Creates a client that starts its thread on demand, and again after the thread has ended. */
export function createWorkerClient(options: WorkerClientOptions): WorkerClient {
  let thread: Thread | undefined
  let nextId = 1
  let isStopped = false
  let wasStarted = false

  const running = (): Thread => {
    wasStarted = true
    thread ??= startThread(options, (gone) => {
      if (thread === gone) thread = undefined
    })
    return thread
  }

  return {
    call<R>(name: string, payload: unknown, callOptions: CallOptions = {}): Promise<R> {
      if (isStopped || callOptions.signal?.aborted === true) return Promise.reject(new AppError('CANCELLED'))
      const target = running()
      if (target.pending.size >= options.maxPending) {
        return Promise.reject(new AppError('BUSY', { maxPending: options.maxPending, retryAfterS: 1 }))
      }
      return start<R>(target, { id: nextId++, name, payload }, callOptions, options)
    },
    pending: () => thread?.pending.size ?? 0,
    wasStarted: () => wasStarted,
    async isAlive(limitMs) {
      if (isStopped) return false
      if (thread === undefined && (options.idleMs !== undefined || !wasStarted)) return true
      return await ping(running(), nextId++, limitMs)
    },
    async stop() {
      isStopped = true
      await thread?.worker.terminate()
    },
  }
}

function start<R>(
  thread: Thread,
  { id, name, payload }: Pick<Extract<ToWorker, { kind: 'call' }>, 'id' | 'name' | 'payload'>,
  options: CallOptions,
  { idleMs, log }: Pick<WorkerClientOptions, 'idleMs' | 'log'>,
): Promise<R> {
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  clearTimeout(thread.idleTimer)
  return new Promise<R>((resolve, reject) => {
    let isAbandoned = false
    const abandon = (error: AppError) => {
      isAbandoned = true
      Atomics.store(cancel, 0, CANCEL_ASKED)
      reject(error) // the worker's answer arrives later and only frees the entry
    }
    const onAbort = () => abandon(new AppError('CANCELLED'))
    const limit = options.timeLimitMs
    const timer =
      limit === undefined
        ? undefined
        : setTimeout(() => abandon(new AppError('TIME_LIMIT', { limitMs: limit })), limit)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    thread.pending.set(id, {
      onEvent: options.onEvent,
      settle(outcome) {
        clearTimeout(timer)
        options.signal?.removeEventListener('abort', onAbort)
        thread.pending.delete(id)
        armIdleTimer(thread, idleMs)
        if (isAbandoned)
          log.debug(
            { work: name, outcome: outcomeName(outcome) },
            'a call ended after its caller had given up',
          )
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.result as R)
      },
    })
    const message: ToWorker = { kind: 'call', id, name, payload, cancel }
    thread.worker.postMessage(message, options.transfer ?? [])
  })
}

/** Returns `done` or the name of the error: CANCELLED when the thread saw the cancel flag. */
function outcomeName(outcome: { result: unknown } | { error: unknown }): string {
  if (!('error' in outcome)) return 'done'
  return isAppError(outcome.error) ? outcome.error.errorName : messageOf(outcome.error)
}

function ping(thread: Thread, id: number, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isAlive: boolean) => {
      clearTimeout(timer)
      thread.pings.delete(id)
      resolve(isAlive)
    }
    const timer = setTimeout(() => settle(false), limitMs)
    thread.pings.set(id, settle)
    thread.worker.postMessage({ kind: 'ping', id } satisfies ToWorker)
  })
}

function startThread(options: WorkerClientOptions, onGone: (thread: Thread) => void): Thread {
  const thread: Thread = {
    worker: options.spawn(),
    pending: new Map(),
    pings: new Map(),
    idleTimer: undefined,
  }
  const { worker, pending, pings } = thread
  worker.on('message', (message: FromWorker) => {
    if (message.kind === 'ready') return
    if (message.kind === 'pong') return pings.get(message.id)?.(true)
    const call = pending.get(message.id)
    if (message.kind === 'event') call?.onEvent?.(message.event)
    else if (message.kind === 'done') call?.settle({ result: message.result })
    else call?.settle({ error: fromWire(message.error) })
  })
  worker.on('error', (error) => {
    options.log.error({ err: error }, 'worker thread failed')
    fail(thread, error)
  })
  worker.on('exit', (code) => {
    clearTimeout(thread.idleTimer)
    onGone(thread)
    fail(thread, new Error(`the worker thread ended with code ${code}`))
  })
  return thread
}

function fail(thread: Thread, error: Error): void {
  for (const call of [...thread.pending.values()]) call.settle({ error })
  for (const settle of [...thread.pings.values()]) settle(false)
}

function armIdleTimer(thread: Thread, idleMs: number | undefined): void {
  if (idleMs === undefined || thread.pending.size > 0) return
  thread.idleTimer = setTimeout(() => void thread.worker.terminate(), idleMs)
  thread.idleTimer.unref()
}
