import type { SweepLease } from '../storage/sweep-lease.js'
import { FREE_LEASE } from '../storage/sweep-lease.js'

/**
 * Keeps bytes that are in place while their row is still being written from being removed as if nobody named them.
 */
export interface Pins {
  /** waits for a removal of the same bytes that has begun. @returns takes the pin away */
  pin(sha256: string): Promise<() => void>
  /** removes bytes unless they are pinned or named, or a backup is being made. @returns whether they went */
  removeUnnamed(
    sha256: string,
    isNamed: () => Promise<boolean>,
    remove: () => Promise<void>,
  ): Promise<boolean>
  isPinned(sha256: string): boolean
}

/** @param lease what keeps bytes from being removed by, and under the eyes of, other processes */
export function createPins(lease: Pick<SweepLease, 'remove'> = FREE_LEASE): Pins {
  const counts = new Map<string, number>()
  const removals = new Map<string, Promise<boolean>>()
  return {
    async pin(sha256) {
      counts.set(sha256, (counts.get(sha256) ?? 0) + 1)
      await removals.get(sha256)?.catch(() => false) // how it ended is its own caller's affair
      return () => {
        const left = (counts.get(sha256) ?? 1) - 1
        if (left === 0) counts.delete(sha256)
        else counts.set(sha256, left)
      }
    },
    async removeUnnamed(sha256, isNamed, remove) {
      if (counts.has(sha256) || removals.has(sha256)) return false
      const removal = (async () => {
        if ((await isNamed()) || counts.has(sha256)) return false
        const giveBack = await lease.remove()
        if (giveBack === undefined) return false
        try {
          if (await isNamed()) return false // by another process, before the lease was ours
          await remove()
          return true
        } finally {
          await giveBack()
        }
      })()
      removals.set(sha256, removal)
      try {
        return await removal
      } finally {
        removals.delete(sha256)
      }
    },
    isPinned: (sha256) => counts.has(sha256),
  }
}
