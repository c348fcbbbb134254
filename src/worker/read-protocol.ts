import type { WireError } from './wire-error.js'

/**
 * Messages to a reader thread. A job is one `open`, and a `take` for each piece of its text that was passed
 * on; `stop` ends it, as the cancel flag does between two rows.
 */
export type ToReader =
  | { kind: 'open'; id: number; name: string; payload: unknown; owner: string; cancel: Int32Array }
  | { kind: 'take'; id: number; chars: number }
  | { kind: 'stop'; id: number }

/**
 * Messages from a reader thread: any number of `piece`, then one `end`, which carries the last piece or the
 * error. The first message of a job has its head.
 */
export type FromReader =
  | { kind: 'piece'; id: number; text: string; head: unknown }
  | { kind: 'end'; id: number; text: string; head: unknown; error: WireError | null }

/** Characters that a thread sends of one answer before any of them were taken. */
export const WINDOW_CHARS = 256 * 1024
