import type { DataLayout } from '../../files/layout.js'
import type { Maintenance } from '../../storage/maintenance.js'
import { createClock, type TrustedClock } from '../../storage/work/clock.js'

/**
 * The clock as the gateway of a data directory would have it; the directory is not written. Without data, or
 * on a read-only disk, no recorded time is known and the wall clock is trusted.
 */
export async function readClock({ root }: DataLayout, maintenance: Maintenance): Promise<TrustedClock> {
  const { databases, facts } = maintenance
  const isReadable =
    (await databases.list(root)).includes('state.db') && !(await databases.isReadOnlyDisk(root))
  return createClock(isReadable ? await facts.lastSeenUs(root) : 0)
}
