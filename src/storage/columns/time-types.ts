import {
  civilFromDays,
  formatDatetimeShort,
  formatOffset,
  INFINITY_US,
  isInfinite,
  MAX_US,
  MIN_US,
  parseDatetime,
  parseInfinity,
  parseOffset,
  withoutOffset,
} from '../../datetime.js'
import { describeFound } from '../../messages/fault-text.js'
import { type ColumnType, quoteDefault, type Stored, type ValueEnv, type ValueFault } from './column-type.js'
import { parseClock, parseTimestamp, splitDate, splitZone } from './postgres-time.js'

/**
 * Types of dates and times, year 1 to 9999, with `infinity` and `-infinity` for instants and dates.
 *
 * Instants and local timestamps are stored as integer microseconds; dates and times of day as text that
 * sorts, the infinities included. As in PostgreSQL, types without a time zone accept an offset and ignore it.
 * The forms are those of `parseDatetime` and of `postgres-time.ts`.
 */
export const TIME_TYPES = {
  timestamptz: timestamptzType(),
  timestamp: timestampType(),
  date: dateType(),
  time: timeType(),
  timetz: timetzType(),
}

const US_PER_MIN = 60_000_000
const US_PER_DAY = 1440 * US_PER_MIN

/** More than the number of different offsets: they are at most 18 hours, in minutes. */
const ZONE_STEPS = 4096

/**
 * Returns a number that sorts as `timetz` does in PostgreSQL: by the instant in UTC, then by offset from east
 * to west.
 */
export function timetzSortKey(text: string): number {
  const zoneMin = parseOffset(text.slice(-6)) ?? 0 // no test: both parts of stored text are valid
  const us = parseClock(text.slice(0, -6)) ?? 0
  return (us - zoneMin * US_PER_MIN) * ZONE_STEPS + (ZONE_STEPS / 2 - zoneMin)
}

/** The type of instants, the only one whose value depends on the offset of its text. */
function timestamptzType(): ColumnType {
  // most rows of a call have the same instants, and start often equals end: the last result is cached
  let last = { text: '', zoneMin: 0, us: 0n }
  const read = (json: unknown, env: ValueEnv): Stored | ValueFault => {
    const text = datetimeTextOf(json)
    if (text === undefined)
      return { found: describeFound(json), expected: 'a datetime like 2025-01-02 03:04:05+09' }
    if (text === last.text && env.timeZoneMin === last.zoneMin) return last.us
    if (isNow(text)) return env.nowUs
    const us = instantUs(text, env.timeZoneMin)
    if (typeof us !== 'bigint') return us
    last = { text, zoneMin: env.timeZoneMin, us }
    return us
  }
  return {
    ...plainTime('timestamp with time zone', 'integer', 'microseconds since 1970 UTC'),
    read: (json, _rules, env) => read(json, env),
    operand: read,
    print: (stored, env) => formatDatetimeShort(stored as bigint, env.timeZoneMin),
  }
}

/** The type of wall-clock times, stored as if they were UTC, so that differences and order are right. */
function timestampType(): ColumnType {
  const read = (json: unknown, env: ValueEnv): Stored | ValueFault => {
    const text = datetimeTextOf(json)
    if (text === undefined)
      return { found: describeFound(json), expected: 'a datetime like 2025-01-02 03:04:05' }
    if (isNow(text)) return localUs(env)
    return clockUs(text)
  }
  return {
    ...plainTime('timestamp without time zone', 'integer', 'microseconds since 1970-01-01 00:00 local'),
    read: (json, _rules, env) => read(json, env),
    operand: read,
    print: (stored) => withoutOffset(formatDatetimeShort(stored as bigint, 0)),
  }
}

/** The type of dates, stored as text because it sorts and other programs can read it. */
function dateType(): ColumnType {
  const read = (json: unknown, env: ValueEnv): Stored | ValueFault => {
    const fault = {
      found: describeFound(json),
      expected: 'a date like 2025-01-02 that exists, year 0001 to 9999',
    }
    const text = datetimeTextOf(json)
    if (text === undefined) return fault
    if (isNow(text)) return dayText(Math.floor(Number(localUs(env)) / US_PER_DAY))
    const infinity = parseInfinity(text)
    if (infinity !== undefined) return infinity === INFINITY_US ? 'infinity' : '-infinity'
    const date = splitDate(text)
    if (date === undefined) return fault
    const isTimeFine = date.rest === '' || parseClock(splitZone(date.rest).clock) !== undefined
    return isTimeFine ? dayText(date.days) : fault
  }
  return {
    ...plainTime('date', 'text', 'YYYY-MM-DD'),
    read: (json, _rules, env) => read(json, env),
    operand: read,
    print: (stored) => stored,
  }
}

/**
 * The type of times of day, stored with as many digits of the fraction as needed: `10:00:00` sorts before
 * `10:00:00.5`.
 */
function timeType(): ColumnType {
  const read = (json: unknown, env: ValueEnv): Stored | ValueFault => {
    const us =
      typeof json !== 'string'
        ? undefined
        : isNow(json)
          ? inDayUs(localUs(env))
          : timeUs(splitZone(json).clock)
    return us === undefined
      ? { found: describeFound(json), expected: 'a time like 03:04:05.678901' }
      : timeText(us)
  }
  return {
    ...plainTime('time without time zone', 'text', 'HH:MM:SS.ffffff'),
    read: (json, _rules, env) => read(json, env),
    operand: read,
    print: (stored) => stored,
  }
}

/**
 * The type of times of day with an offset, stored with the given offset; they sort by the instant, not as
 * text.
 */
function timetzType(): ColumnType {
  const read = (json: unknown, env: ValueEnv): Stored | ValueFault => {
    const expected = 'a time with offset like 03:04:05.678901+09:00'
    if (typeof json !== 'string') return { found: describeFound(json), expected }
    if (isNow(json)) return timeText(inDayUs(localUs(env))) + formatOffset(env.timeZoneMin)
    const { clock, zoneMin = env.timeZoneMin } = splitZone(json)
    const us = timeUs(clock)
    if (us === undefined) return { found: describeFound(json), expected }
    return timeText(us) + formatOffset(zoneMin)
  }
  return {
    ...plainTime('time with time zone', 'text', 'HH:MM:SS.ffffff+HH:MM'),
    order: 'timetz',
    read: (json, _rules, env) => read(json, env),
    operand: read,
    print: (stored) => stored,
  }
}

/** Returns the members that all types of times share. */
function plainTime(dataType: string, kind: 'integer' | 'text', form: string) {
  return {
    dataType,
    kind,
    form,
    lengthUnit: null,
    order: 'stored' as const,
    renderDefault: (given: string) => (isNow(given) ? 'now()' : quoteDefault(given, dataType)),
  }
}

/**
 * Returns the text of a datetime: a string, or `{ _type: 'datetime', val }` as version 2 of the contract has
 * it.
 */
function datetimeTextOf(json: unknown): string | undefined {
  if (typeof json === 'string') return json
  if (typeof json !== 'object' || json === null) return undefined
  const { _type: type, val } = json as Record<string, unknown>
  return type === 'datetime' && typeof val === 'string' && Object.keys(json).length === 2 ? val : undefined
}

/** True for a default that is the time of the call. */
function isNow(text: string): boolean {
  return /^\s*(?:now\(\)|now|current_timestamp)\s*$/i.test(text)
}

/** Reads an instant. The form of the contract is tried first: it is the common one, and the quickest. */
function instantUs(text: string, timeZoneMin: number): bigint | ValueFault {
  const plain = parseDatetime(text, timeZoneMin)
  if (typeof plain === 'bigint') return plain
  const stamp = parseTimestamp(text)
  const fault = { ...plain, found: describeFound(text) }
  if (stamp === undefined) return fault
  if (isInfinite(stamp.localUs)) return stamp.localUs
  return inRange(stamp.localUs - BigInt((stamp.zoneMin ?? timeZoneMin) * US_PER_MIN)) ?? fault
}

/** Reads a timestamp without a time zone; its offset is ignored. */
function clockUs(text: string): bigint | ValueFault {
  const stamp = parseTimestamp(text)
  const us = stamp === undefined || isInfinite(stamp.localUs) ? stamp?.localUs : inRange(stamp.localUs)
  if (us !== undefined) return us
  const plain = parseDatetime(text, 0) // its reason is the more precise one
  const expected = typeof plain === 'bigint' ? 'a datetime from year 0001 to 9999' : plain.expected
  return { found: describeFound(text), expected }
}

function inRange(us: bigint): bigint | undefined {
  return us >= MIN_US && us <= MAX_US ? us : undefined
}

/** Returns µs since midnight, at most those of a day: 24:00:00 is its end, as in PostgreSQL. */
function timeUs(text: string): number | undefined {
  const us = parseClock(text)
  return us === undefined || us > US_PER_DAY ? undefined : us
}

function timeText(us: number): string {
  const pad = (value: number) => String(value).padStart(2, '0')
  const seconds = Math.floor(us / 1e6)
  const text = `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`
  const micros = us % 1e6
  return micros === 0 ? text : `${text}.${String(micros).padStart(6, '0').replace(/0+$/, '')}`
}

/** @param days since 1970-01-01 */
function dayText(days: number): string {
  const { year, month, day } = civilFromDays(days)
  const pad = (value: number, width: number) => String(value).padStart(width, '0')
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
}

function localUs({ nowUs, timeZoneMin }: ValueEnv): bigint {
  return nowUs + BigInt(timeZoneMin) * BigInt(US_PER_MIN)
}

function inDayUs(us: bigint): number {
  const day = BigInt(US_PER_DAY)
  return Number(((us % day) + day) % day)
}
