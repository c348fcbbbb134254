/**
 * Messages between the main thread and a worker. One call is one `call`, any number of `event`, and one `done` or `failed`.
 * A `ping` is answered before the calls that wait: it asks whether the thread's event loop turns.
 */
export type ToWorker =
  | { kind: 'call'; id: number; name: string; payload: unknown; cancel: Int32Array }
  | { kind: 'ping'; id: number }

export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'pong'; id: number }
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; error: WireError }

/** An error as it crosses threads: `errorName` null for what is no `AppError`. */
export interface WireError {
  errorName: string | null
  message: string
  data: Record<string, unknown>
  stack: string | undefined
}

/** Value of a cancel flag that asks the work to end. */
export const CANCEL_ASKED = 1
