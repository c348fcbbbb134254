import type { Transferable, Worker } from 'node:worker_threads'
import { AppError, isAppError, messageOf } from '../errors.js'
import type { Log } from '../log.js'
import { CANCEL_ASKED, type FromWorker, type ToWorker } from './protocol.js'
import { fromWire } from './wire-error.js'

/** Limits and extras of one call. */
export interface CallOptions {
  /** who asked, the id of a key: owners have turns in the thread; the gateway itself when absent */
  owner?: string
  /** cancels the call: it is rejected with CANCELLED at once, and the worker's cancel flag is set */
  signal?: AbortSignal
  /** rejects the call with TIME_LIMIT after this time, and sets the cancel flag */
  timeLimitMs?: number
  /** objects of the payload whose memory moves to the worker */
  transfer?: Transferable[]
  onEvent?: (event: unknown) => void
  /** receives the time of the work in the thread, without the wait for its turn, ms; not after an error */
  onTime?: (ms: number) => void
  /** the work may hold the thread for long, so the thread is not ended meanwhile */
  mayHoldThread?: boolean
}

/** The main thread's end of a worker thread. */
export interface WorkerClient {
  /** @throws AppError of the handler, BUSY, CANCELLED (also when the client was stopped), TIME_LIMIT; Error when the worker died */
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
  /** Ends the thread; its calls are rejected with CANCELLED. */
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
  /**
   * time that the thread has to answer a ping after a call was abandoned, ms; after that it is ended, and the
   * other calls begin again. Only for calls that change nothing; undefined = never
   */
  graceMs?: number
}

/** State of a client. */
interface Client {
  readonly options: WorkerClientOptions
  nextId(): number
  /** Returns the thread; starts it if need be. */
  running(): Thread
  /** Forgets a thread, so that the next call starts another. Returns false when it was forgotten before. */
  replace(thread: Thread): boolean
}

/** A call that waits or runs. */
interface Pending {
  readonly message: Extract<ToWorker, { kind: 'call' }>
  readonly transfer: Transferable[]
  thread: Thread
  /** the caller has given up: what the thread still answers is dropped */
  isAbandoned: boolean
  readonly isLimited: boolean
  readonly mayHoldThread: boolean
  /** sent again to another thread */
  isRepeated: boolean
  /** ends the call */
  settle(outcome: { result: unknown } | { error: unknown }): void
  onEvent: ((event: unknown) => void) | undefined
  onTime: ((ms: number) => void) | undefined
}

interface Thread {
  worker: Worker
  pending: Map<number, Pending>
  pings: Map<number, (isAlive: boolean) => void>
  idleTimer: NodeJS.Timeout | undefined
  /** it has started: before that it loads what it needs */
  isReady: boolean
  /** a ping is under way that decides whether the thread is ended */
  isWatched: boolean
}

/** Creates a client that starts its thread on demand, and again after the thread has ended. */
export function createWorkerClient(options: WorkerClientOptions): WorkerClient {
  let thread: Thread | undefined
  let nextId = 1
  let isStopped = false
  let wasStarted = false

  const running = (): Thread => {
    wasStarted = true
    thread ??= startThread(options, (gone, code) => {
      if (thread === gone) thread = undefined
      return isStopped ? new AppError('CANCELLED') : new Error(`the worker thread ended with code ${code}`)
    })
    return thread
  }
  const client: Client = {
    options,
    nextId: () => nextId++,
    running,
    replace(gone) {
      if (thread !== gone || isStopped) return false
      thread = undefined
      return true
    },
  }

  return {
    call<R>(name: string, payload: unknown, callOptions: CallOptions = {}): Promise<R> {
      if (isStopped || callOptions.signal?.aborted === true) return Promise.reject(new AppError('CANCELLED'))
      const target = running()
      if (target.pending.size >= options.maxPending) {
        return Promise.reject(new AppError('BUSY', { maxPending: options.maxPending, retryAfterS: 1 }))
      }
      return start<R>(client, { id: nextId++, name, payload }, callOptions)
    },
    pending: () => thread?.pending.size ?? 0,
    wasStarted: () => wasStarted,
    async isAlive(limitMs) {
      if (isStopped) return false
      if (thread === undefined && (options.idleMs !== undefined || !wasStarted)) return true
      const target = running()
      // a thread that is busy with a call which ends at its limit is ended with it, so it is not stuck
      const calls = [...target.pending.values()]
      const isSupervised =
        options.graceMs !== undefined &&
        calls.some(({ isLimited }) => isLimited) &&
        !calls.some(({ mayHoldThread }) => mayHoldThread)
      return (await ping(target, nextId++, limitMs)) || isSupervised
    },
    async stop() {
      isStopped = true
      await thread?.worker.terminate()
    },
  }
}

function start<R>(
  client: Client,
  { id, name, payload }: Pick<Extract<ToWorker, { kind: 'call' }>, 'id' | 'name' | 'payload'>,
  options: CallOptions,
): Promise<R> {
  const { log } = client.options
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  return new Promise<R>((resolve, reject) => {
    const abandon = (error: AppError) => {
      call.isAbandoned = true
      Atomics.store(cancel, 0, CANCEL_ASKED)
      reject(error) // the worker's answer arrives later and only frees the entry
      void endIfStuck(client, call.thread)
    }
    const onAbort = () => abandon(new AppError('CANCELLED'))
    const limit = options.timeLimitMs
    const timer =
      limit === undefined
        ? undefined
        : setTimeout(() => abandon(new AppError('TIME_LIMIT', { limitMs: limit })), limit)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    const call: Pending = {
      message: { kind: 'call', id, name, payload, owner: options.owner ?? '', cancel },
      transfer: options.transfer ?? [],
      thread: client.running(),
      isAbandoned: false,
      isLimited: limit !== undefined,
      mayHoldThread: options.mayHoldThread === true,
      isRepeated: false,
      onEvent: options.onEvent,
      onTime: options.onTime,
      settle(outcome) {
        clearTimeout(timer)
        options.signal?.removeEventListener('abort', onAbort)
        call.thread.pending.delete(id)
        armIdleTimer(call.thread, client.options.idleMs)
        if (call.isAbandoned)
          log.debug(
            { work: name, outcome: outcomeName(outcome) },
            'a call ended after its caller had given up',
          )
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.result as R)
      },
    }
    send(call, call.thread)
  })
}

function send(call: Pending, thread: Thread): void {
  call.thread = thread
  clearTimeout(thread.idleTimer)
  thread.pending.set(call.message.id, call)
  thread.worker.postMessage(call.message, call.transfer)
}

/**
 * Ends the thread of an abandoned call when its event loop does not turn: it does not see the cancel flag. Its
 * other calls are sent to the thread that replaces it, once; they only read.
 */
async function endIfStuck(client: Client, thread: Thread): Promise<void> {
  const { graceMs, log } = client.options
  if (graceMs === undefined || thread.isWatched || !thread.isReady) return
  if ([...thread.pending.values()].some(({ mayHoldThread }) => mayHoldThread)) return
  thread.isWatched = true
  const isAlive = await ping(thread, client.nextId(), graceMs)
  thread.isWatched = false
  if (isAlive || !client.replace(thread)) return
  log.warn(
    { calls: [...thread.pending.values()].map((call) => call.message.name) },
    'a stuck thread was ended',
  )
  const calls = [...thread.pending.values()]
  thread.pending.clear()
  void thread.worker.terminate()
  for (const call of calls) {
    if (call.isAbandoned || call.isRepeated || call.transfer.length > 0) {
      call.settle({ error: new AppError('TIME_LIMIT', {}, { message: 'The thread of this call was ended' }) })
    } else {
      call.isRepeated = true
      send(call, client.running())
    }
  }
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

/** @param onGone returns the error of the calls that the thread leaves behind */
function startThread(options: WorkerClientOptions, onGone: (thread: Thread, code: number) => Error): Thread {
  const thread: Thread = {
    worker: options.spawn(),
    pending: new Map(),
    pings: new Map(),
    idleTimer: undefined,
    isReady: false,
    isWatched: false,
  }
  const { worker, pending, pings } = thread
  worker.on('message', (message: FromWorker) => {
    if (message.kind === 'ready') {
      thread.isReady = true
      return
    }
    if (message.kind === 'pong') return pings.get(message.id)?.(true)
    const call = pending.get(message.id)
    if (message.kind === 'event') call?.onEvent?.(message.event)
    else if (message.kind === 'done') {
      call?.onTime?.(message.ms)
      call?.settle({ result: message.result })
    } else call?.settle({ error: fromWire(message.error) })
  })
  worker.on('error', (error) => {
    options.log.error({ err: error }, 'worker thread failed')
    fail(thread, error)
  })
  worker.on('exit', (code) => {
    clearTimeout(thread.idleTimer)
    fail(thread, onGone(thread, code))
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
