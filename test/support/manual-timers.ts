import { SYSTEM_TIMERS, type Timers } from '../../src/ingest/mqtt/timers.js'

/** Shortest wait that counts as a limit of a connection or a ping, ms. */
const LIMIT_MS = 10_000

/**
 * Timers of the system whose waits are shorter by a factor. Limits stay as they are: a machine under load keeps
 * none of a fiftieth.
 */
export function quickTimers(factor: number): Timers {
  return {
    ...SYSTEM_TIMERS,
    set: (work, ms) => SYSTEM_TIMERS.set(work, ms < LIMIT_MS ? ms / factor : ms),
  }
}

/** Timers that a test moves on. */
export interface ManualTimers extends Timers {
  /** Runs what is due within a time, in order. Does not wait for promises. */
  advance(ms: number): void
  /** time of the next timer, ms; undefined when none is set */
  next(): number | undefined
}

/** Creates timers whose clock stands still until it is moved. */
export function manualTimers(): ManualTimers {
  let nowMs = 0
  const waiting = new Map<object, { atMs: number; work: () => void }>()
  const first = () => [...waiting].sort(([, a], [, b]) => a.atMs - b.atMs)[0]
  return {
    nowMs: () => nowMs,
    set(work, ms) {
      const handle = {}
      waiting.set(handle, { atMs: nowMs + ms, work })
      return handle
    },
    clear: (handle) => void waiting.delete(handle as object),
    advance(ms) {
      const untilMs = nowMs + ms
      for (let due = first(); due !== undefined && due[1].atMs <= untilMs; due = first()) {
        waiting.delete(due[0])
        nowMs = due[1].atMs
        due[1].work()
      }
      nowMs = untilMs
    },
    next: () => first()?.[1].atMs,
  }
}

/** Waits until a condition holds, a turn of the event loop at a time. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const endMs = performance.now() + 90_000
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`${what} did not come true within 20 s`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
