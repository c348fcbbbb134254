/**
 * Messages to a worker thread. A call is one `call`, any number of `event`, and one `done` or `failed`. A
 * `ping` is answered before the calls that wait, which shows that the thread's event loop turns.
 */
export type ToWorker =
  | { kind: 'call'; id: number; name: string; payload: unknown; cancel: Int32Array }
  | { kind: 'ping'; id: number }

/** Messages from a worker thread. */
export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'pong'; id: number }
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; error: WireError }

/** An error between threads: `errorName` is null for errors other than `AppError`. */
export interface WireError {
  errorName: string | null
  message: string
  data: Record<string, unknown>
  stack: string | undefined
  /** code of an error of the system or of SQLite */
  code: string | undefined
}

/** Value of a cancel flag that asks the worker to stop. */
export const CANCEL_ASKED = 1
