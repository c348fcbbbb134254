import { AppError } from '../../errors.js'

/** Returns a promise if the caller should pause, undefined if it may go on. */
export type Pause = () => Promise<void> | undefined

/** Waits until the next slice of work may begin. */
export type NextTurn = () => Promise<void>

/**
 * Creates a pause that lets the event loop turn after each slice of work.
 *
 * @param sliceMs longest slice
 * @param nextTurn what the pause waits for; default: one turn of the event loop
 * @throws AppError CANCELLED (from the returned function) after `signal` has fired
 */
export function createPause(
  signal: AbortSignal | undefined,
  sliceMs: number,
  nextTurn: NextTurn = turnOfLoop,
): Pause {
  let startedAt = performance.now()
  return () => {
    if (signal?.aborted === true) throw new AppError('CANCELLED')
    if (performance.now() - startedAt < sliceMs) return undefined
    return nextTurn().then(() => {
      startedAt = performance.now()
    })
  }
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
