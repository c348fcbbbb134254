import { createClock, MAX_AHEAD_DAYS, WRITTEN_AT_US } from '../storage/work/clock.js'
import { type CheckContext, error, type Finding, isoTime, ok } from './finding.js'

/**
 * Compares the wall clock with the latest time that the gateway recorded. While the clock is behind that
 * time, keys, sessions and uploads do not expire.
 */
export async function checkClock({ layout, nowUs, maintenance }: CheckContext): Promise<Finding[]> {
  const seenUs = await maintenance.facts.lastSeenUs(layout.root)
  const now = isoTime(nowUs)
  if (createClock(seenUs, () => nowUs / 1000).isTrusted())
    return [ok(seenUs === 0 ? now : `${now}; the latest recorded time is ${isoTime(seenUs)}`)]
  if (nowUs > Math.max(seenUs, WRITTEN_AT_US))
    return [
      error(
        `the clock shows ${now}, more than ${MAX_AHEAD_DAYS} days after ${isoTime(Math.max(seenUs, WRITTEN_AT_US))}, the latest known time; nothing expires until it is set`,
        'set the clock (`timedatectl set-ntp true`); if it is right, run `fieldgate doctor --reset-clock` and restart the gateway',
      ),
    ]
  if (seenUs <= WRITTEN_AT_US)
    return [
      error(
        `the clock shows ${now}, which is before this program was released (${isoTime(WRITTEN_AT_US)}); nothing expires`,
        'set the clock: `timedatectl set-ntp true`, or `date -s`',
      ),
    ]
  return [
    error(
      `the clock shows ${now}, but ${isoTime(seenUs)} was recorded earlier; nothing expires until that time`,
      'set the clock (`timedatectl set-ntp true`); if the recorded time is wrong, run `fieldgate doctor --reset-clock`',
    ),
  ]
}
