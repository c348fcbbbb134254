import { untilBeatMs } from '../../sync/beat.js'

/** Work that is done again and again, one at a time. */
export interface Ticker {
  /** Does the work soon, once more than was begun. */
  kick(): void
  /** Does the work now and waits for it; one that is being done is waited for first. */
  now(): Promise<void>
  /** Waits for the work that is being done, and does it never again. */
  stop(): Promise<void>
}

/**
 * Starts work that is done now and then every `ms`, at the beat of others of the same period.
 *
 * @param onFault called with what the work throws; the next one is done all the same
 */
export function startTicker(
  work: () => Promise<void>,
  ms: number,
  onFault: (error: unknown) => void,
): Ticker {
  let timer: NodeJS.Timeout | undefined
  let current: Promise<void> = Promise.resolve()
  let isWorking = false
  let isKicked = false
  let isStopped = false
  const schedule = (afterMs: number) => {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(turn, afterMs).unref()
  }
  const turn = () => {
    isWorking = true
    isKicked = false
    current = work()
      .catch(onFault)
      .then(() => {
        isWorking = false
        schedule(isKicked ? 0 : untilBeatMs(ms))
      })
  }
  turn()
  return {
    kick() {
      isKicked = true
      if (!isWorking) schedule(0)
    },
    async now() {
      await current
      clearTimeout(timer)
      if (!isWorking && !isStopped) turn()
      await current
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await current
    },
  }
}
