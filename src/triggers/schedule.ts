import { Cron } from 'croner'
import { messageOf } from '../errors.js'

/** Times of a cron expression in a time zone, µs UTC, whole seconds. */
export interface Schedule {
  /** Returns the first time after an instant; undefined when there is none. */
  next(afterUs: number): number | undefined
}

/** Times of a schedule that have come. */
export interface DueTimes {
  readonly firstUs: number
  /** the one before the last; `firstUs` where there are one or two */
  readonly beforeLastUs: number
  readonly lastUs: number
  /** number of them; of very many at least this */
  readonly count: number
}

/**
 * Reads a schedule. Where clocks are put back, a time of day comes once, and lists of minutes and intervals run in both passes;
 * where they are put forward, a time of day that is left out runs at the first moment after it.
 *
 * @param expression five fields (minute, hour, day of month, month, day of week), or six with seconds before them
 * @param timeZone IANA name
 */
export function readSchedule(expression: string, timeZone: string): Schedule | { readonly fault: string } {
  try {
    const cron = new Cron(expression, { paused: true, timezone: timeZone, mode: '5-or-6-parts' })
    const next = (afterUs: number) => {
      const found = cron.nextRun(new Date(Math.floor(afterUs / 1000)))
      return found === null ? undefined : found.getTime() * 1000
    }
    // an expression like 30 February never comes
    return next(0) === undefined ? { fault: 'found a time that never comes' } : { next }
  } catch (error) {
    return { fault: messageOf(error) }
  }
}

/** Times that are counted one by one. */
const MAX_WALK = 1000

const SECOND_US = 1_000_000
const DAY_US = 86_400 * SECOND_US
/** Spans in which the last time is looked for, from short to long. */
const SPANS_US = [
  60 * SECOND_US,
  3600 * SECOND_US,
  DAY_US,
  8 * DAY_US,
  63 * DAY_US,
  400 * DAY_US,
  3000 * DAY_US,
]

/** Returns the times after an instant and up to another one; undefined for none. Cost: at most some thousand steps. */
export function dueBetween(schedule: Schedule, afterUs: number, untilUs: number): DueTimes | undefined {
  const firstUs = schedule.next(afterUs)
  if (firstUs === undefined || firstUs > untilUs) return undefined
  let count = 1
  let [beforeLastUs, lastUs] = [firstUs, firstUs]
  for (; count < MAX_WALK; count++) {
    const next = schedule.next(lastUs)
    if (next === undefined || next > untilUs) return { firstUs, beforeLastUs, lastUs, count }
    beforeLastUs = lastUs
    lastUs = next
  }
  return { firstUs, ...lastTwo(schedule, lastUs, untilUs), count }
}

/** Finds the last two times up to an instant, of which there are very many. */
function lastTwo(
  schedule: Schedule,
  afterUs: number,
  untilUs: number,
): { beforeLastUs: number; lastUs: number } {
  const span = SPANS_US.find((us) => {
    const second = schedule.next(schedule.next(untilUs - us) ?? untilUs)
    return second !== undefined && second <= untilUs
  })
  let [beforeLastUs, lastUs] = [afterUs, Math.max(afterUs, untilUs - (span ?? 0))]
  for (
    let next = schedule.next(lastUs);
    next !== undefined && next <= untilUs;
    next = schedule.next(lastUs)
  ) {
    beforeLastUs = lastUs
    lastUs = next
  }
  return { beforeLastUs, lastUs }
}
