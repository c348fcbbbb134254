import type { WorkerClient } from '../worker/client.js'

/**
 * A bulk job may hold its thread for the time of one SQL statement, which on a large table and a slow card is minutes. Only
 * after so long it counts as stuck.
 */
const JOB_STUCK_MS = 10 * 60_000

/** Tells whether the worker threads live; the caller's own event loop lives when it asks. */
export function createVitals(
  searcher: Pick<WorkerClient, 'isAlive'>,
  jobs: Pick<WorkerClient, 'isAlive'>,
  nowMs: () => number = () => performance.now(),
): (limitMs: number) => Promise<boolean> {
  let silentSinceMs: number | undefined
  return async (limitMs) => {
    const askedAtMs = nowMs()
    const [searches, answers] = await Promise.all([searcher.isAlive(limitMs), jobs.isAlive(limitMs)])
    silentSinceMs = answers ? undefined : (silentSinceMs ?? askedAtMs)
    return searches && (silentSinceMs === undefined || nowMs() - silentSinceMs < JOB_STUCK_MS)
  }
}
