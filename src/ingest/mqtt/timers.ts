/** Clock and timers, which tests replace. */
export interface Timers {
  /** monotonic, ms */
  nowMs(): number
  /** Calls `work` once after a time. Returns a handle for `clear`. */
  set(work: () => void, ms: number): unknown
  clear(handle: unknown): void
}

/** Clock and timers of the system. */
export const SYSTEM_TIMERS: Timers = {
  nowMs: () => performance.now(),
  set: (work, ms) => setTimeout(work, ms),
  clear: (handle) => clearTimeout(handle as NodeJS.Timeout | undefined), // made by `set`
}
