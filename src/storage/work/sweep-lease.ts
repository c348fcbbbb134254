/** Gives a lease back. */
type Release = () => Promise<void>

/** Right to remove bytes. */
export interface Removal {
  /**
   * Makes sure that nobody else has got a lease since this one was granted. Call it right before each removal: a
   * program that was frozen for the time of its lease finds out here.
   *
   * @throws AppError BUSY; nothing must be removed then
   */
  confirm(): Promise<void>
  release: Release
}

/**
 * Decides between programs that remove unreferenced bytes and a backup that still needs them.
 *
 * A backup reads the rows first and then, for minutes, the bytes that they refer to. A model deleted
 * meanwhile is gone from the rows of the gateway but not from those of the backup. Whoever removes bytes
 * therefore takes `remove`, which is refused while a backup of this or any other process holds `keep`.
 *
 * A lease ends with the process that holds it, however that ends: no stale lease can be left behind.
 */
export interface SweepLease {
  /** Keeps all bytes in place; waits until a running removal is over. */
  keep(): Promise<Release>
  /** Returns undefined while a backup runs: the bytes are removed by a later sweep. */
  remove(): Promise<Removal | undefined>
}

/** Lease that is always granted, for databases that no other process can open. */
export const FREE_LEASE: SweepLease = {
  keep: async () => async () => undefined,
  remove: async () => ({ confirm: async () => undefined, release: async () => undefined }),
}
