import type { Config } from '../../../config/config.js'

/** Most answers that are made at a time, which keeps a process below 256 MB of memory (`npm run bench -- hub-reads`). */
const MOST_OPEN = 8

/** Returns the limits of reads of a process of a hub, which are made in its main thread. */
export function readLimits({ reads }: Pick<Config, 'reads'>): {
  maxOpen: number
  maxWaiting: number
  timeLimitMs: number
} {
  const { maxOpen, maxQueue: maxWaiting, timeLimitMs } = reads
  return { maxOpen: Math.min(maxOpen, MOST_OPEN), maxWaiting, timeLimitMs }
}
