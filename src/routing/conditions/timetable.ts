import { type Condition, edgesOfCondition, holdsAt, isTimed } from './condition.js'
import { MINUTES_PER_DAY } from './time-rules.js'

/** A span of time in which the same conditions hold. */
export interface TimeSlot {
  /** milliseconds since 1970, UTC */
  readonly startMs: number
  /** end of the slot, or an instant within it after which the next slot has to be asked for */
  readonly endMs: number
  /** condition → 1 when its times hold; always 1 for conditions without times */
  readonly holds: Uint8Array
}

/** Times at which conditions hold, in one time zone. */
export interface Timetable {
  /** Returns the slot that contains an instant, milliseconds UTC. */
  slotAt(ms: number): TimeSlot
}

const MS_PER_MINUTE = 60_000
const MS_PER_DAY = MINUTES_PER_DAY * MS_PER_MINUTE
/** Most days whose slots are kept. */
const MAX_DAYS = 64

/**
 * Creates the timetable of some conditions. The slots of a day are computed once: some 10 µs for each
 * condition and change. The first slot takes 9 MB of the process for the data of time zones.
 *
 * @param zone IANA time zone; the first slot throws a RangeError for an unknown one
 */
export function createTimetable(zone: string, conditions: readonly Condition[]): Timetable {
  let offsets: ((ms: number) => number) | undefined
  const offsetAt = (ms: number): number => {
    offsets ??= createOffsets(zone)
    return offsets(ms)
  }
  const edges = [...new Set(conditions.flatMap(edgesOfCondition))]
  const days = new Map<number, TimeSlot[]>()
  const holdingAt = (ms: number, offsetMs: number): Uint8Array => {
    const localMinute = Math.floor((ms + offsetMs) / MS_PER_MINUTE)
    const dayNumber = Math.floor(localMinute / MINUTES_PER_DAY)
    const minute = localMinute - dayNumber * MINUTES_PER_DAY
    return Uint8Array.from(conditions, (condition) => (holdsAt(condition, dayNumber, minute) ? 1 : 0))
  }
  const slotsOf = (day: number): TimeSlot[] => {
    const startMs = day * MS_PER_DAY
    const endMs = startMs + MS_PER_DAY
    const shift = findShift(offsetAt, startMs, endMs)
    const starts = startsWithin(startMs, endMs, shift, edges)
    return starts.map((at, i) => {
      const holds = holdingAt(at, at < shift.atMs ? shift.beforeMs : shift.afterMs)
      return { startMs: at, endMs: starts[i + 1] ?? endMs, holds }
    })
  }
  const always = Uint8Array.from(conditions, () => 1)
  const isConstant = !conditions.some(isTimed)
  return {
    slotAt(ms) {
      if (isConstant) return { startMs: ms, endMs: Number.POSITIVE_INFINITY, holds: always }
      const day = Math.floor(ms / MS_PER_DAY)
      let slots = days.get(day)
      if (slots === undefined) {
        if (days.size >= MAX_DAYS) days.clear()
        slots = slotsOf(day)
        days.set(day, slots)
      }
      // slots begin at the beginning of the day, so one contains the instant
      return slots.findLast(({ startMs }) => startMs <= ms)!
    },
  }
}

/** Change of the offset of local time from UTC; without a change both offsets are equal. */
interface Shift {
  readonly atMs: number
  readonly beforeMs: number
  readonly afterMs: number
}

/** Finds the change of the offset within a span of a day, to the minute. */
function findShift(offsetAt: (ms: number) => number, startMs: number, endMs: number): Shift {
  const beforeMs = offsetAt(startMs)
  const afterMs = offsetAt(endMs)
  let low = startMs
  let high = endMs
  while (beforeMs !== afterMs && high - low > MS_PER_MINUTE) {
    const middle = low + Math.floor((high - low) / 2 / MS_PER_MINUTE) * MS_PER_MINUTE
    if (offsetAt(middle) === beforeMs) low = middle
    else high = middle
  }
  return { atMs: high, beforeMs, afterMs }
}

/** Lists the instants of a span at which a condition may change, ascending, its beginning first. */
function startsWithin(startMs: number, endMs: number, shift: Shift, edges: readonly number[]): number[] {
  const starts = new Set([startMs])
  if (shift.atMs < endMs) starts.add(shift.atMs)
  for (const offsetMs of new Set([shift.beforeMs, shift.afterMs])) {
    const firstDay = Math.floor((startMs + offsetMs) / MS_PER_DAY)
    // a day of UTC meets two days of local time
    for (let day = firstDay; day <= firstDay + 1; day++) {
      for (const edge of edges) {
        const ms = day * MS_PER_DAY + edge * MS_PER_MINUTE - offsetMs
        if (ms > startMs && ms < endMs) starts.add(ms)
      }
    }
  }
  return [...starts].sort((a, b) => a - b)
}

/**
 * Returns the offset of a zone's local time from UTC at an instant, milliseconds.
 *
 * @throws RangeError for an unknown zone
 */
function createOffsets(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
    // no test: the format gives each of these parts
    const partOf = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
    const localMs = Date.UTC(
      partOf('year'),
      partOf('month') - 1,
      partOf('day'),
      partOf('hour'),
      partOf('minute'),
      partOf('second'),
    )
    return localMs - Math.floor(ms / 1000) * 1000
  }
}
