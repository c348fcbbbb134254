import type { WorkerClient } from '../../worker/client.js'

/**
 * Silence after which a worker that writes counts as stuck. One SQL statement of a bulk job holds the thread, on a
 * large table and a slow card for minutes.
 */
const JOB_STUCK_MS = 10 * 60_000

interface VitalThreads {
  readonly searcher: Pick<WorkerClient, 'isAlive'>
  readonly jobs: Pick<WorkerClient, 'isAlive'>
  readonly writers: Pick<WorkerClient, 'isAlive'>
}

/**
 * Makes the check of the worker threads for the service manager's watchdog: the search worker must answer
 * within the given limit, those that write within `JOB_STUCK_MS`. That it runs at all shows that the main
 * thread's event loop does.
 */
export function createVitals(
  { searcher, jobs, writers }: VitalThreads,
  nowMs: () => number = () => performance.now(),
): (limitMs: number) => Promise<boolean> {
  let silentSinceMs: number | undefined
  return async (limitMs) => {
    const startedMs = nowMs()
    const threads = [searcher, jobs, writers]
    const [isSearching, ...areWorking] = await Promise.all(threads.map((thread) => thread.isAlive(limitMs)))
    silentSinceMs = areWorking.every(Boolean) ? undefined : (silentSinceMs ?? startedMs)
    return isSearching === true && (silentSinceMs === undefined || nowMs() - silentSinceMs < JOB_STUCK_MS)
  }
}
