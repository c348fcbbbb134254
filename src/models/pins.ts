import { FREE_LEASE, type SweepLease } from '../storage/work/sweep-lease.js'

/**
 * Pins of bytes whose row is still being written. Without one the sweep would remove them, because no row
 * refers to them yet.
 */
export interface Pins {
  /**
   * Pins bytes; waits for a removal of the same bytes that has begun. Returns a function that removes the
   * pin.
   */
  pin(sha256: string): Promise<() => void>
  /**
   * Removes bytes unless they are pinned, a row refers to them, or a backup needs them.
   *
   * @param isNamed reports whether a row refers to the bytes
   * @returns whether the bytes were removed
   */
  removeUnnamed(
    sha256: string,
    isNamed: () => Promise<boolean>,
    remove: () => Promise<void>,
  ): Promise<boolean>
  isPinned(sha256: string): boolean
}

/** Creates the pins of this process. @param lease excludes backups and removals of other processes */
export function createPins(lease: Pick<SweepLease, 'remove'> = FREE_LEASE): Pins {
  /** digest → number of pins */
  const counts = new Map<string, number>()
  const removals = new Map<string, Promise<boolean>>()
  return {
    async pin(sha256) {
      counts.set(sha256, (counts.get(sha256) ?? 0) + 1)
      await removals.get(sha256)?.catch(() => false) // its failure is reported to its own caller
      return () => {
        const left = (counts.get(sha256) ?? 1) - 1
        if (left === 0) counts.delete(sha256)
        else counts.set(sha256, left)
      }
    },
    async removeUnnamed(sha256, isNamed, remove) {
      if (counts.has(sha256) || removals.has(sha256)) return false
      const running = (async () => {
        if ((await isNamed()) || counts.has(sha256)) return false
        const removal = await lease.remove()
        if (removal === undefined) return false
        try {
          if (await isNamed()) return false // another process wrote a row before the lease was granted
          await removal.confirm()
          await remove()
          return true
        } finally {
          await removal.release()
        }
      })()
      removals.set(sha256, running)
      try {
        return await running
      } finally {
        removals.delete(sha256)
      }
    },
    isPinned: (sha256) => counts.has(sha256),
  }
}
