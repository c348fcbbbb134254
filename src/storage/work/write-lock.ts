import { createOwnerQueue } from '../../owner-queue.js'

/**
 * Serialises the writers of this process: one runs at a time, the others wait without blocking the event
 * loop.
 */
export interface WriteLock {
  /** @param owner of the work: owners have turns; the gateway itself when absent */
  run<T>(work: () => T | Promise<T>, owner?: string): Promise<T>
  /** Calls a listener after each work, also one that failed. Returns a function that ends it. */
  watch(listener: () => void): () => void
  /** Returns for how long the lock was held since it was made, ms. */
  heldMs(): number
}

/** Owner of the work that no caller asked for. */
const GATEWAY = ''

/** Creates a lock. Waiting owners have turns; the work of one is done in the order in which it came. */
export function createWriteLock(): WriteLock {
  const queue = createOwnerQueue<() => Promise<void>>()
  const listeners = new Set<() => void>()
  let heldSinceMs: number | undefined
  let endedMs = 0
  const runAll = async () => {
    if (heldSinceMs !== undefined) return
    heldSinceMs = performance.now()
    for (let next = queue.take(); next !== undefined; next = queue.take()) await next()
    endedMs += performance.now() - heldSinceMs
    heldSinceMs = undefined
  }
  return {
    run: (work, owner = GATEWAY) =>
      new Promise((resolve, reject) => {
        queue.push(owner, async () => {
          try {
            resolve(await work())
          } catch (error) {
            reject(error) // a failure concerns its own caller only
          }
          for (const listener of listeners) listener()
        })
        void Promise.resolve().then(runAll)
      }),
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    heldMs: () => endedMs + (heldSinceMs === undefined ? 0 : performance.now() - heldSinceMs),
  }
}
