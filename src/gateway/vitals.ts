import type { WorkerClient } from '../worker/client.js'

/**
 * Silence after which the job worker counts as stuck. One SQL statement of a bulk job holds the thread, on a
 * large table and a slow card for minutes.
 */
const JOB_STUCK_MS = 10 * 60_000

interface VitalThreads {
  readonly searcher: Pick<WorkerClient, 'isAlive'>
  readonly jobs: Pick<WorkerClient, 'isAlive'>
}

/**
 * Makes the check of the worker threads for the service manager's watchdog: the search worker must answer
 * within the given limit, the job worker within `JOB_STUCK_MS`. That it runs at all shows that the main
 * thread's event loop does.
 */
export function createVitals(
  { searcher, jobs }: VitalThreads,
  nowMs: () => number = () => performance.now(),
): (limitMs: number) => Promise<boolean> {
  let silentSinceMs: number | undefined
  return async (limitMs) => {
    const startedMs = nowMs()
    const [isSearching, isWorking] = await Promise.all([searcher.isAlive(limitMs), jobs.isAlive(limitMs)])
    silentSinceMs = isWorking ? undefined : (silentSinceMs ?? startedMs)
    return isSearching && (silentSinceMs === undefined || nowMs() - silentSinceMs < JOB_STUCK_MS)
  }
}
