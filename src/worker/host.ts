import type { MessagePort } from 'node:worker_threads'
import { AppError } from '../errors.js'
import { CANCEL_ASKED, type FromWorker, type ToWorker } from './protocol.js'
import { createTurns } from './turns.js'
import { toWire } from './wire-error.js'

/** Context of a call in a worker thread. */
export interface Work {
  /**
   * cancel flag: element 0 becomes `CANCEL_ASKED` when the caller has given up; long kernels read it at
   * intervals
   */
  readonly cancel: Int32Array
  /** who asked, the id of a key; empty = the gateway itself */
  readonly owner: string
  /** Waits until the work may go on: work in slices calls it between them, so that others have their turn. */
  nextTurn(): Promise<void>
  /** Sends an event to the caller before the result, for instance progress. */
  emit(event: unknown): void
}

// biome-ignore lint/suspicious/noExplicitAny: each handler knows its own payload; the client's types hold the pair together
export type WorkHandler = (payload: any, work: Work) => unknown

/** Settings of a worker thread. */
interface WorkOptions {
  /**
   * a handler may begin while another one awaits something, when it is its owner's turn; default false: handlers run one
   * after another
   */
  readonly isOverlapping?: boolean
}

/**
 * Answers calls in a worker thread. Handlers run one after another in the order of the calls, an async one to
 * its end, so they share the worker's state without locks.
 */
export function serveWork(
  port: MessagePort,
  handlers: Record<string, WorkHandler>,
  { isOverlapping = false }: WorkOptions = {},
): void {
  const turns = createTurns()
  const inTurn = async (message: Extract<ToWorker, { kind: 'call' }>) => {
    const nextTurn = turns.enter(message.owner)
    if (isOverlapping) await nextTurn()
    await answer(port, handlers, message, nextTurn)
  }
  let last: Promise<void> = Promise.resolve()
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'ping') post(port, { kind: 'pong', id: message.id })
    else if (isOverlapping) void inTurn(message)
    else last = last.then(() => inTurn(message))
  })
  post(port, { kind: 'ready' })
}

/** Results whose buffers move to the caller. */
const movedResults = new WeakSet<Uint8Array>()

/** Marks a result whose buffer moves to the caller instead of being copied. @param bytes all of their buffer */
export function moved(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  movedResults.add(bytes)
  return bytes
}

/** @throws AppError CANCELLED when the cancel flag is set */
export function throwIfCancelled(work: Pick<Work, 'cancel'>): void {
  if (Atomics.load(work.cancel, 0) === CANCEL_ASKED) throw new AppError('CANCELLED')
}

async function answer(
  port: MessagePort,
  handlers: Record<string, WorkHandler>,
  message: Extract<ToWorker, { kind: 'call' }>,
  nextTurn: Work['nextTurn'],
): Promise<void> {
  const { id, name, payload, owner, cancel } = message
  try {
    const handler = handlers[name]
    if (handler === undefined) throw new Error(`the worker has no handler ${name}`)
    throwIfCancelled({ cancel })
    const startedAtMs = performance.now()
    const result = await handler(payload, {
      cancel,
      owner,
      nextTurn,
      emit: (event) => post(port, { kind: 'event', id, event }),
    })
    const isMoved = result instanceof Uint8Array && movedResults.has(result)
    port.postMessage(
      { kind: 'done', id, result, ms: performance.now() - startedAtMs } satisfies FromWorker,
      isMoved ? [result.buffer as ArrayBuffer] : [],
    )
  } catch (error) {
    post(port, { kind: 'failed', id, error: toWire(error) })
  }
}

function post(port: MessagePort, message: FromWorker): void {
  port.postMessage(message)
}
