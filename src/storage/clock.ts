/**
 * The wall clock of a device that may have no battery for it: after a power cut it can stand at 1970, or at the time
 * of the last shutdown, until the network tells it better.
 */
export interface TrustedClock {
  /** wall clock, µs since 1970 UTC; readings within one millisecond differ by a microsecond each */
  nowUs(): number
  /**
   * False while the wall clock stands before the latest time known to have passed. Nothing may be expired then,
   * and health says so.
   */
  isTrusted(): boolean
  /** the latest time known to have passed: where a new term begins, so that a clock set right later does not end it at once */
  latestUs(): number
  /** true when the instant has passed beyond doubt; null never passes */
  hasPassed(atUs: number | null): boolean
}

/** Time is not before this was written, whatever the wall clock says. */
export const WRITTEN_AT_US = Date.UTC(2026, 10, 1) * 1000

/** A network clock is set back by less than this in ordinary corrections. */
const TOLERANCE_US = 5_000_000

/**
 * @param recordedUs latest time that an earlier run recorded, 0 when there was none
 * @param wallMs wall clock in ms
 */
export function createClock(recordedUs: number, wallMs: () => number = Date.now): TrustedClock {
  let highestUs = Math.max(recordedUs, WRITTEN_AT_US)
  let lastMs = 0
  let lastUs = 0

  const nowUs = () => {
    const ms = wallMs()
    // 999 readings a millisecond stay apart; the thousandth and later ones share its last microsecond
    lastUs = ms === lastMs ? Math.min(lastUs + 1, ms * 1000 + 999) : ms * 1000
    lastMs = ms
    if (lastUs > highestUs) highestUs = lastUs
    return lastUs
  }
  const isTrusted = () => nowUs() >= highestUs - TOLERANCE_US
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
