/**
 * Wall clock of a device that may have no battery for it. After a power cut it can show 1970, or the time of
 * the last shutdown, until the network sets it.
 */
export interface TrustedClock {
  /**
   * Returns the wall clock, µs since 1970 UTC. Readings within one millisecond differ by a microsecond each.
   */
  nowUs(): number
  /**
   * Returns false while the wall clock is before the latest time known to have passed, or so far after it that
   * the clock is more likely wrong. Nothing may expire then, and the health report contains it.
   */
  isTrusted(): boolean
  /**
   * Returns the latest time known to have passed. New terms begin there, so that a clock that is set right
   * later does not end them at once.
   */
  latestUs(): number
  /** Reports whether an instant has certainly passed. null never passes. */
  hasPassed(atUs: number | null): boolean
}

/** Time of writing of this program, µs: no reading before it is believed. */
export const WRITTEN_AT_US = Date.UTC(2026, 10, 1) * 1000

const DAY_US = 86_400_000_000

/**
 * Longest time that a device is believed to have been switched off. A clock further ahead of the latest known
 * time is not believed, so that one wrong reading does not become the latest known time for decades.
 */
export const MAX_AHEAD_DAYS = 400
/** The same for a first start, which knows only when this program was written. */
const MAX_AGE_DAYS = 3650

/** Ordinary corrections of a network clock are smaller than this, µs. */
const TOLERANCE_US = 5_000_000

/**
 * Creates a trusted clock.
 *
 * @param recordedUs latest time recorded by an earlier run, 0 for none
 * @param wallMs wall clock in ms
 */
export function createClock(recordedUs: number, wallMs: () => number = Date.now): TrustedClock {
  const isFirst = recordedUs === 0
  let highestUs = Math.max(recordedUs, WRITTEN_AT_US)
  let lastMs = 0
  let lastUs = 0

  let isConfirmed = !isFirst
  const limitUs = () => highestUs + (isConfirmed ? MAX_AHEAD_DAYS : MAX_AGE_DAYS) * DAY_US
  const nowUs = () => {
    const ms = wallMs()
    // the first 999 readings of a millisecond differ; later ones repeat its last microsecond
    lastUs = ms === lastMs ? Math.min(lastUs + 1, ms * 1000 + 999) : ms * 1000
    lastMs = ms
    if (lastUs > highestUs && lastUs <= limitUs()) {
      highestUs = lastUs
      isConfirmed = true
    }
    return lastUs
  }
  const isTrusted = () => {
    const us = nowUs()
    return us >= highestUs - TOLERANCE_US && us <= limitUs()
  }
  return {
    nowUs,
    isTrusted,
    latestUs() {
      nowUs()
      return highestUs
    },
    hasPassed: (atUs) => atUs !== null && isTrusted() && lastUs >= atUs,
  }
}
