import { availableParallelism } from 'node:os'
import type { Config } from '../../config/config.js'
import { createLog } from '../../log.js'
import { createHelpers } from '../../route-engine/helpers.js'
import type { Helpers } from '../../routing/cch/shared-customise.js'
import { startWorker } from './start.js'

/** Limits of a thread that makes no objects but its messages. */
const LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16, stackSizeMb: 1 }

/**
 * Makes the threads that help the search thread with large maps, on the cores that it leaves.
 *
 * @param workerEntry the program's bundle
 * @returns undefined on a device with one core, and where `routing.threads` is 1
 */
export function helperThreads(config: Config, workerEntry: string): Helpers | undefined {
  const threads = Math.min(config.routing.threads, availableParallelism()) - 1
  if (threads < 1) return undefined
  return createHelpers({
    threads,
    spawn: () =>
      startWorker(workerEntry, 'customise', {
        workerData: { role: 'customise', config },
        name: 'fieldgate-customise',
        resourceLimits: LIMITS,
      }),
    onFault: (error) =>
      createLog(config.log.level).warn(
        { err: error },
        'a thread that helps with profiles of routes has ended',
      ),
  })
}
