import type { SlicedTask } from '../routing/search/sliced-task.js'
import { throwIfCancelled, type Work } from '../worker/host.js'

/** Longest time for which a task keeps the event loop, ms; checked after each slice. */
const TURN_MS = 5

/**
 * Runs a task slice by slice and waits for its turn in between, so that other calls are answered.
 *
 * @returns result of the task; its errors are passed on
 * @throws AppError CANCELLED
 */
export async function runSliced<T>(task: SlicedTask<T>, work: Pick<Work, 'cancel' | 'nextTurn'>): Promise<T> {
  let startedMs = performance.now()
  try {
    for (;;) {
      const slice = task.next()
      if (slice.done === true) return slice.value
      if (slice.value !== 'turn' && performance.now() - startedMs < TURN_MS) continue
      await work.nextTurn()
      throwIfCancelled(work)
      startedMs = performance.now()
    }
  } finally {
    // a cancelled task ends what it has begun elsewhere: other threads may work for it
    task.return(undefined as T)
  }
}
