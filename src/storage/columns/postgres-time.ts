import { daysFromCivil, parseInfinity, parseOffset } from '../../datetime.js'

/*
 * Forms of dates and times that PostgreSQL reads as input of its types, beside those of `parseDatetime`:
 *
 *     2025-1-2   2025/01/02   20250102                 dates
 *     3:4:5   04:05 PM   040506   24:00:00   23:59:60   times of day; second 60 is the next minute
 *     +9   +09   +0930   +09:30   Z   UTC   GMT         offsets
 *     infinity   -infinity   epoch                      instants and dates
 *
 * Forms that depend on settings of a session (1/8/1999, 990108), names of months and of time zones are not
 * among them.
 *
 * @see PostgreSQL documentation, section 8.5.1, "Date/Time Input"
 */

const US_PER_DAY = 86_400_000_000
const DATE = /^(\d{4})(?:([-/])(\d{1,2})\2(\d{1,2})|(\d{2})(\d{2}))(?:$|\s*T\s*(?=\d)|\s+(?=\d))/i
const CLOCK = /^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d+))?)?\s*(am|pm)?$/i
const DIGITS = /^(\d{2})(\d{2})(\d{2})(?:[.,](\d+))?$/
const ZONE = /\s*(?:(Z|UTC|GMT)|([+-])(\d{1,2})(?::?(\d{2}))?)$/i

/** A date, and the text after it. */
interface DateAndRest {
  /** days since 1970-01-01 */
  readonly days: number
  readonly rest: string
}

/** Reads the date at the beginning of a text; undefined when there is none that exists. */
export function splitDate(text: string): DateAndRest | undefined {
  const trimmed = text.trim()
  if (isEpoch(trimmed)) return { days: 0, rest: '' }
  const match = DATE.exec(trimmed)
  if (match === null) return undefined
  const [head, year, , month = match[5], day = match[6]] = match
  const days = daysFromCivil(Number(year), Number(month), Number(day))
  return days === undefined ? undefined : { days, rest: trimmed.slice(head.length) }
}

function isEpoch(text: string): boolean {
  return /^\s*epoch\s*$/i.test(text)
}

/** A time of day as text, and its offset in minutes; undefined without one. */
interface ClockAndZone {
  readonly clock: string
  readonly zoneMin: number | undefined
}

/** Cuts the offset off a time of day. An invalid offset stays, and `parseClock` refuses the text. */
export function splitZone(text: string): ClockAndZone {
  const trimmed = text.trim()
  const match = ZONE.exec(trimmed)
  if (match === null) return { clock: trimmed, zoneMin: undefined }
  const [, , sign, hours = '', minutes = '00'] = match
  const zoneMin = sign === undefined ? 0 : parseOffset(`${sign}${hours.padStart(2, '0')}:${minutes}`)
  return zoneMin === undefined
    ? { clock: trimmed, zoneMin }
    : { clock: trimmed.slice(0, match.index), zoneMin }
}

/**
 * Reads a time of day without an offset.
 *
 * @returns µs since midnight; more than a day for `23:59:60.5`; undefined for what is no time of day
 */
export function parseClock(text: string): number | undefined {
  const match = CLOCK.exec(text) ?? DIGITS.exec(text)
  if (match === null) return undefined
  const [, hourText, minute, second = '0', fraction = '0', half] = match
  const hour = half === undefined ? Number(hourText) : hourOfHalf(Number(hourText), half)
  if (hour > 24 || Number(minute) > 59 || Number(second) > 60) return undefined
  const seconds = (hour * 60 + Number(minute)) * 60 + Number(second)
  const us = seconds * 1e6 + Math.round(Number(`0.${fraction}`) * 1e6)
  return hour === 24 && us > US_PER_DAY ? undefined : us // 24:00:00 is the end of the day
}

/** Returns the hour of a clock with AM or PM; beyond 24 when there is no such hour. */
function hourOfHalf(hour: number, half: string): number {
  if (hour > 12) return 25
  return (hour % 12) + (/^p/i.test(half) ? 12 : 0)
}

/** A timestamp as written. */
interface Timestamp {
  /** µs since 1970-01-01 00:00 on the clock of the text */
  readonly localUs: bigint
  /** undefined when the text has no offset, or is an infinity */
  readonly zoneMin: number | undefined
}

/** Reads a date with or without a time of day and an offset, or an infinity. Its range is not checked. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const infinity = parseInfinity(text)
  if (infinity !== undefined) return { localUs: infinity, zoneMin: undefined }
  if (isEpoch(text)) return { localUs: 0n, zoneMin: 0 }
  const date = splitDate(text)
  if (date === undefined) return undefined
  const midnight = BigInt(date.days) * BigInt(US_PER_DAY)
  if (date.rest === '') return { localUs: midnight, zoneMin: undefined }
  const { clock, zoneMin } = splitZone(date.rest)
  const us = parseClock(clock)
  return us === undefined ? undefined : { localUs: midnight + BigInt(us), zoneMin }
}
