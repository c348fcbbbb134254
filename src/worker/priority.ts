import os from 'node:os'

/** Part of `node:os` that changes the priority of a thread. */
type Priorities = Pick<typeof os, 'getPriority' | 'setPriority'>

/** Lowest priority of Linux. */
const MAX_NICE = 19

/**
 * Lowers the priority of the calling thread, so that the main thread runs first when both have work. On an
 * idle machine it changes nothing. Does nothing outside Linux, where the call would lower the whole process.
 *
 * @param nice steps below the priority that the thread has: a step is a tenth of the processor less
 * @param onFault receives the reason why the system refuses; the thread works as before then
 * @see setpriority(2), "C library/kernel differences": the nice value belongs to the thread
 */
export function lowerPriority(
  nice: number,
  onFault: (error: unknown) => void,
  { platform, priorities = os }: { platform: NodeJS.Platform; priorities?: Priorities },
): void {
  if (platform !== 'linux' || nice === 0) return
  try {
    // 0 is the calling thread
    priorities.setPriority(0, Math.min(MAX_NICE, priorities.getPriority(0) + nice))
  } catch (error) {
    onFault(error)
  }
}
