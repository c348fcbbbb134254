import type { Config } from '../../config/config.js'
import { createLog } from '../../log.js'
import { lowerPriority } from '../../worker/priority.js'

/**
 * Priority of threads below the main thread, in steps of `nice`: at 5 a thread that competes with the main
 * thread for one core gets a quarter of it, at 10 a tenth. The job thread keeps its priority, because callers
 * wait for the write lock that it holds.
 */
export const NICE = { reader: 5, search: 5, help: 5, backup: 10 } as const

/** Lets the main thread run before this one, as far as the system allows. Cost: two system calls. */
export function yieldToMain(role: keyof typeof NICE, { log }: Pick<Config, 'log'>): void {
  const onFault = (error: unknown) =>
    createLog(log.level).warn({ role, err: error }, 'the priority of a thread cannot be lowered')
  lowerPriority(NICE[role], onFault, { platform: process.platform })
}
