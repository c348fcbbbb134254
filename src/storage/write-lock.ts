/**
 * Serialises the writers of this process: one runs at a time, the others wait without blocking the event
 * loop.
 */
export interface WriteLock {
  run<T>(work: () => T | Promise<T>): Promise<T>
}

/** Creates a lock that serves waiters in the order in which they came. */
export function createWriteLock(): WriteLock {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const mine = last.then(work)
      last = mine.catch(() => undefined) // a failure concerns its own caller only
      return mine
    },
  }
}
