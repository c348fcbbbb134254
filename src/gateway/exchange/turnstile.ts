/** Runs one work after the other. */
export type Turnstile = <T>(work: () => Promise<T>) => Promise<T>

/** Creates a turnstile: a work begins when the one before has ended, also with a failure. */
export function createTurnstile(): Turnstile {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work)
    last = next.catch(() => undefined) // a failure concerns its own caller only
    return next
  }
}
