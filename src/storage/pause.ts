import { AppError } from '../errors.js'

/** Returns a promise if the caller should pause, undefined if it may go on. */
export type Pause = () => Promise<void> | undefined

/**
 * Creates a pause that lets the event loop turn after each slice of work.
 *
 * @param sliceMs longest slice
 * @param restMs length of the pause, for background work; 0 for one turn of the event loop
 * @throws AppError CANCELLED (from the returned function) after `signal` has fired
 */
export function createPause(signal: AbortSignal | undefined, sliceMs: number, restMs = 0): Pause {
  let startedAt = performance.now()
  return () => {
    if (signal?.aborted === true) throw new AppError('CANCELLED')
    if (performance.now() - startedAt < sliceMs) return undefined
    return new Promise((resolve) => {
      const goOn = () => {
        startedAt = performance.now()
        resolve()
      }
      if (restMs === 0) setImmediate(goOn)
      else setTimeout(goOn, restMs)
    })
  }
}
