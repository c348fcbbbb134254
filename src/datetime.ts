/**
 * Instants as int64 microseconds since 1970 UTC, year 1 to 9999, and their wire forms (contract section 1).
 *
 * User data goes through `bigint` (year 9999 does not fit 2^53); the gateway's own clock is a `number` of
 * microseconds, exact until the year 2255.
 */

const US_PER_DAY = 86_400_000_000n
const US_PER_DAY_NUMBER = 86_400_000_000
const DAYS_TO_1970 = 719_162 // from 0001-01-01, proleptic Gregorian

/** 0001-01-01T00:00:00Z */
export const MIN_US = -BigInt(DAYS_TO_1970) * US_PER_DAY
/** 9999-12-31T23:59:59.999999Z */
export const MAX_US = 2_932_897n * US_PER_DAY - 1n
/** `infinity` of PostgreSQL, later than every time; stored as PostgreSQL stores it, as the largest int64 */
export const INFINITY_US = 2n ** 63n - 1n
/** `-infinity` of PostgreSQL, earlier than every time */
export const MINUS_INFINITY_US = -(2n ** 63n)

/** Fault of a datetime. `found` is the text, shortened; `expected` is the rule. */
interface DatetimeFault {
  found: string
  expected: string
}

/** Returns the UTC day of an instant, days since 1970; 0 for an earlier one. @param us µs UTC */
export function utcDayOf(us: bigint): number {
  return us < 0n ? 0 : Number(us / US_PER_DAY)
}

const FORM =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i

/**
 * Reads `YYYY-MM-DD hh:mm:ss[.ffffff]` with `T` or space, and an offset `Z`, `+09`, `+0900`, `+09:00` or
 * none.
 *
 * @param offsetMin minutes east of UTC, for a text without an offset
 * @returns microseconds UTC, or the fault. Digits beyond the microsecond are rounded half up.
 */
export function parseDatetime(text: string, offsetMin: number): bigint | DatetimeFault {
  const match = FORM.exec(text.trim())
  if (match === null) return fault(text, 'a datetime like 2025-01-02 03:04:05+09')
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match
  const days = daysFromCivil(Number(year), Number(month), Number(day))
  if (days === undefined) return fault(text, 'a date that exists, year 0001 to 9999')
  if (Number(hour) > 23 || Number(minute) > 59) return fault(text, 'hours 00 to 23 and minutes 00 to 59')
  if (Number(second) > 59) return fault(text, 'seconds 00 to 59 (a leap second cannot be stored)')
  const zoneMin = zone === undefined ? offsetMin : parseOffset(zone)
  if (zoneMin === undefined) return fault(text, 'an offset from -18:00 to +18:00')
  const seconds = (Number(hour) * 60 + Number(minute) - zoneMin) * 60 + Number(second)
  const us = BigInt(days) * US_PER_DAY + BigInt(seconds) * 1_000_000n + microseconds(fraction)
  if (us < MIN_US || us > MAX_US) return fault(text, 'a datetime from year 0001 to 9999 in UTC')
  return us
}

/** Reads `infinity` or `-infinity` in any case; undefined for other texts. */
export function parseInfinity(text: string): bigint | undefined {
  const match = /^\s*([+-]?)infinity\s*$/i.exec(text)
  if (match === null) return undefined
  return match[1] === '-' ? MINUS_INFINITY_US : INFINITY_US
}

/** True for the stored forms of `infinity` and `-infinity`. */
export function isInfinite(us: bigint): boolean {
  return us === INFINITY_US || us === MINUS_INFINITY_US
}

/**
 * `+09:00`, `+0900`, `+09`, `-3:30`-like offsets or `Z` in minutes; undefined beyond 18 hours or malformed.
 */
export function parseOffset(text: string): number | undefined {
  if (/^z$/i.test(text)) return 0
  const match = /^([+-])(\d{2})(?::?(\d{2}))?$/.exec(text)
  if (match === null) return undefined
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0)
  if (minutes > 18 * 60 || Number(match[3] ?? 0) > 59) return undefined
  return match[1] === '-' ? -minutes : minutes
}

/**
 * `2025-01-02T03:04:05.678901+09:00`: always six digits, offset with colon (the v2 form); or `infinity`,
 * `-infinity`.
 */
export function formatDatetime(us: bigint | number, offsetMin: number): string {
  const instant = BigInt(us)
  if (isInfinite(instant)) return infinityText(instant)
  const { head, micros, zone } = civilText(instant, offsetMin)
  return `${head}.${String(micros).padStart(6, '0')}${zone}`
}

/** Formats a datetime without a fraction of zero, as in v1 GeoJSON properties. */
export function formatDatetimeShort(us: bigint | number, offsetMin: number): string {
  const instant = BigInt(us)
  if (isInfinite(instant)) return infinityText(instant)
  const { head, micros, zone } = civilText(instant, offsetMin)
  const fraction = micros === 0 ? '' : `.${String(micros).padStart(6, '0')}`
  return `${head}${fraction}${zone}`
}

/** Returns a formatted datetime without its offset; an infinity has none. */
export function withoutOffset(formatted: string): string {
  return formatted.endsWith('infinity') ? formatted : formatted.slice(0, -'+00:00'.length)
}

/** Makes the wire object of v2. */
export function datetimeObject(us: bigint | number, offsetMin: number): { _type: 'datetime'; val: string } {
  return { _type: 'datetime', val: formatDatetime(us, offsetMin) }
}

/** Minutes east of UTC as `+09:00`. */
export function formatOffset(offsetMin: number): string {
  const abs = Math.abs(offsetMin)
  return `${offsetMin < 0 ? '-' : '+'}${twoDigits(Math.floor(abs / 60))}:${twoDigits(abs % 60)}`
}

/**
 * Days from 1970-01-01 of a proleptic Gregorian date, undefined when there is no such date.
 *
 * @see H. Hinnant, "chrono-compatible low-level date algorithms", days_from_civil
 */
export function daysFromCivil(year: number, month: number, day: number): number | undefined {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > monthLength(year, month))
    return undefined
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/** Year, month, day of a day number; the inverse of `daysFromCivil`, also outside year 1 to 9999. */
export function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

function monthLength(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

function microseconds(fraction: string): bigint {
  if (fraction === '') return 0n
  return BigInt(Math.round(Number(fraction.padEnd(9, '0').slice(0, 9)) / 1000))
}

function infinityText(us: bigint): string {
  return us === INFINITY_US ? 'infinity' : '-infinity'
}

/** Formats an instant; in UTC where the offset would move it to year 0 or 10000. */
function civilText(us: bigint, offsetMin: number): { head: string; micros: number; zone: string } {
  const shifted = us + BigInt(offsetMin) * 60_000_000n
  const isPrintable = shifted >= MIN_US && shifted <= MAX_US
  const { day, inDayUs } = splitDay(isPrintable ? shifted : us)
  const second = Math.floor(inDayUs / 1_000_000)
  const time = `${twoDigits(Math.floor(second / 3600))}:${twoDigits(Math.floor(second / 60) % 60)}:${twoDigits(second % 60)}`
  return {
    head: `${dayText(day)}T${time}`,
    micros: inDayUs % 1_000_000,
    zone: formatOffset(isPrintable ? offsetMin : 0),
  }
}

/**
 * Day since 1970 and microseconds in it. Doubles where they are exact: bigint takes several times as long.
 */
function splitDay(us: bigint): { day: number; inDayUs: number } {
  const near = Number(us)
  if (Number.isSafeInteger(near)) {
    const day = Math.floor(near / US_PER_DAY_NUMBER)
    return { day, inDayUs: near - day * US_PER_DAY_NUMBER }
  }
  const day = us >= 0n ? us / US_PER_DAY : -((-us + US_PER_DAY - 1n) / US_PER_DAY)
  return { day: Number(day), inDayUs: Number(us - day * US_PER_DAY) }
}

/** Rows that follow one another are mostly of one day. */
let lastDay = { day: 0, text: '1970-01-01' }

function dayText(dayNumber: number): string {
  if (lastDay.day === dayNumber) return lastDay.text
  const { year, month, day } = civilFromDays(dayNumber)
  const text = `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}`
  lastDay = { day: dayNumber, text }
  return text
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))

/** @param n 0 to 99 */
function twoDigits(n: number): string {
  return TWO_DIGITS[n] as string
}

function fault(text: string, expected: string): DatetimeFault {
  return { found: text.length > 64 ? `${text.slice(0, 64)}…` : text, expected }
}
