import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import { throwIfCancelled, type Work } from '../worker/host.js'
import { runSliced } from './run-sliced.js'

/** Result that callers share: the task that makes it, unless another caller's is running. */
export interface SharedTask {
  /** equal keys mean equal results */
  readonly key: string
  readonly task: SlicedTask<unknown> | undefined
}

/**
 * Runs the task that a caller needs, or waits for that of another caller with the same key. Such a task has turns of its
 * own, so that nobody waits for the other work of who happened to begin it.
 *
 * @param begin returns undefined when nothing is to be made; called again when the other caller's task failed
 * @throws AppError CANCELLED, and what the caller's own task throws
 */
type RunShared = (
  begin: (isRunning: (key: string) => boolean) => SharedTask | undefined,
  work: Pick<Work, 'cancel'>,
) => Promise<void>

/** Creates a runner of tasks in slices, one for each key at a time: ten calls need not do the same work ten times. */
export function createSharedTasks(): RunShared {
  const running = new Map<string, Promise<unknown>>()
  return async (begin, work) => {
    for (;;) {
      const due = begin((key) => running.has(key))
      if (due === undefined) return
      const { key, task } = due
      if (task !== undefined) {
        const mine = runSliced(task, { cancel: work.cancel, nextTurn }).finally(() => running.delete(key))
        running.set(key, mine)
        await mine
        return
      }
      // a failure concerns the other caller, who may have hung up
      const isMade = await Promise.resolve(running.get(key)).then(
        () => true,
        () => false,
      )
      throwIfCancelled(work)
      if (isMade) return
    }
  }
}
