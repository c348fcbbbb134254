import { AppError } from '../../../errors.js'

/** Waits only when there is reason to: undefined means go on. */
export type Pause = () => Promise<void> | undefined

/**
 * Lets the event loop turn when work has gone on for a while.
 *
 * @param sliceMs longest stretch of work
 * @param restMs pause after it, for work that nobody waits for; 0 lets others in and goes on
 * @throws AppError CANCELLED (from the returned function) when `signal` has fired
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
