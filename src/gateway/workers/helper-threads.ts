import { availableParallelism } from 'node:os'
import type { Config } from '../../config/config.js'
import { createLog } from '../../log.js'
import { createHelpers, type HelperThreads } from '../../route-engine/helpers.js'
import { startWorker } from './start.js'

/** Limits of a thread that makes few objects: what it works on lies in arrays outside of the heap. */
const LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16, stackSizeMb: 1 }

/**
 * Makes the threads that help the search thread with large maps, on the cores that it leaves.
 *
 * @param workerEntry the program's bundle
 * @returns undefined on a device with one core, and where `routing.threads` is 1
 */
export function helperThreads(config: Config, workerEntry: string): HelperThreads | undefined {
  const threads = Math.min(config.routing.threads, availableParallelism()) - 1
  if (threads < 1) return undefined
  return createHelpers({
    threads,
    spawn: () =>
      startWorker(workerEntry, 'help', {
        workerData: { role: 'help', config },
        name: 'fieldgate-help',
        resourceLimits: LIMITS,
      }),
    onFault: (error) =>
      createLog(config.log.level).warn(
        { err: error },
        'a thread that helps with profiles of routes has ended',
      ),
  })
}
