import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Merges signals: one that comes while the work runs has it run once more afterwards, however many there are.
 *
 * @param work must not reject
 * @param pauseMs time between two runs
 */
export function oneAtATime(work: () => Promise<void>, pauseMs: number): () => void {
  let isRunning = false
  let isAsked = false
  const run = async () => {
    isRunning = true
    while (isAsked) {
      isAsked = false
      await work()
      await sleep(pauseMs)
    }
    isRunning = false
  }
  return () => {
    isAsked = true
    if (!isRunning) void run()
  }
}
