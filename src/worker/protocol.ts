import type { WireError } from './wire-error.js'

/**
 * Messages to a worker thread. A call is one `call`, any number of `event`, and one `done` or `failed`. A
 * `ping` is answered before the calls that wait, which shows that the thread's event loop turns.
 */
export type ToWorker =
  | { kind: 'call'; id: number; name: string; payload: unknown; owner: string; cancel: Int32Array }
  | { kind: 'ping'; id: number }

/** Messages from a worker thread. `ms` is the time from the start of a handler to its result. */
export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'pong'; id: number }
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'done'; id: number; result: unknown; ms: number }
  | { kind: 'failed'; id: number; error: WireError }

/** Value of a cancel flag that asks the worker to stop. */
export const CANCEL_ASKED = 1
