import { AppError } from '../errors.js'
import { CANCEL_ASKED } from './protocol.js'
import type { FromReader } from './read-protocol.js'
import { fromWire } from './wire-error.js'

/** Facts of a job for the thread. */
export interface ReadCall {
  readonly name: string
  readonly payload: unknown
  /** who asked for it: a key or an address */
  readonly owner: string
  /** longest time that the caller waits for parts of the answer, summed; ms */
  readonly timeLimitMs: number
}

/** The main thread's end of one answer: its pieces between their arrival and the caller. */
export interface ReadJob {
  readonly id: number
  readonly call: ReadCall
  readonly cancel: Int32Array
  /** true once a part of the answer has come: the job cannot be begun again */
  readonly hasAnswer: boolean
  readonly isOver: boolean
  /** time since which the caller has let text lie, ms; undefined while there is none, or it waits for more */
  readonly idleSinceMs: number | undefined
  /** takes over a message of the thread */
  receive(message: FromReader): void
  /** Returns the next piece; undefined at the end. @throws AppError of the thread, TIME_LIMIT, CANCELLED */
  next(): Promise<string | undefined>
  /** head of the answer, once `next` has returned */
  head(): unknown
  /** ends the job with an error; text that has not been taken is dropped */
  fail(error: unknown): void
}

interface JobHooks {
  /** a piece was passed on: the thread may send as many more characters */
  onTaken(job: ReadJob, chars: number): void
  /** the job failed while its thread may still work on it */
  onFailed(job: ReadJob): void
}

interface Waiter {
  resolve(piece: string | undefined): void
  reject(error: unknown): void
}

/** Creates a job. Its time limit runs while `next` waits. */
export function createReadJob(id: number, call: ReadCall, hooks: JobHooks): ReadJob {
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const pieces: string[] = []
  let [head, failure]: [unknown, { error: unknown } | undefined] = [undefined, undefined]
  let [isEnded, hasAnswer] = [false, false]
  let waiter: Waiter | undefined
  let [leftMs, idleSinceMs]: [number, number | undefined] = [call.timeLimitMs, undefined]

  const take = (piece: string): string => {
    idleSinceMs = pieces.length > 0 ? performance.now() : undefined
    if (!isEnded) hooks.onTaken(job, piece.length)
    return piece
  }
  /** Answers the caller that waits, if something is there for it. */
  const settle = (): void => {
    if (waiter === undefined) return
    const { resolve, reject } = waiter
    if (failure !== undefined) reject(failure.error)
    else if (pieces.length > 0) resolve(take(pieces.shift() as string))
    else if (isEnded) resolve(undefined)
    else return
    waiter = undefined
  }
  const wait = async (): Promise<string | undefined> => {
    const startedMs = performance.now()
    const limit = new AppError('TIME_LIMIT', { limitMs: call.timeLimitMs })
    const timer = setTimeout(() => job.fail(limit), Math.max(0, leftMs))
    try {
      return await new Promise<string | undefined>((resolve, reject) => {
        waiter = { resolve, reject }
      })
    } finally {
      clearTimeout(timer)
      leftMs -= performance.now() - startedMs
    }
  }

  const job: ReadJob = {
    id,
    call,
    cancel,
    get hasAnswer() {
      return hasAnswer
    },
    get isOver() {
      return isEnded || failure !== undefined
    },
    get idleSinceMs() {
      return idleSinceMs
    },
    receive(message) {
      if (failure !== undefined) return
      hasAnswer = true
      head ??= message.head
      if (message.text !== '') pieces.push(message.text)
      isEnded = message.kind === 'end'
      if (message.kind === 'end' && message.error !== null) failure = { error: fromWire(message.error) }
      if (waiter === undefined && pieces.length > 0) idleSinceMs ??= performance.now()
      settle()
    },
    async next() {
      if (failure !== undefined) throw failure.error
      const piece = pieces.shift()
      if (piece !== undefined) return take(piece)
      return isEnded ? undefined : await wait()
    },
    head: () => head,
    fail(error) {
      if (failure !== undefined) return
      failure = { error }
      pieces.length = 0
      Atomics.store(cancel, 0, CANCEL_ASKED)
      settle()
      if (!isEnded) hooks.onFailed(job)
    },
  }
  return job
}
