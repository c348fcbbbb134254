/**
 * Forms in which columns of files have times: `iso` and `slash` (2026/1/31) with a time of day or without,
 * `seconds` and `milliseconds` since 1970.
 */
export type TimeForm = 'iso' | 'slash' | 'seconds' | 'milliseconds'

const CLOCK = /^(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?)?$/
const ZONE = /\s*(?:Z|[+-]\d{2}(?::?\d{2})?)$/i
const DATE = /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})/
/** 2000 to 2100, s since 1970: other whole numbers are not taken for times. */
const EPOCH_FROM_S = 946_684_800
const EPOCH_UNTIL_S = 4_102_444_800

/** A text that was read as a time. */
interface ReadTime {
  readonly form: 'iso' | 'slash'
  /** true without a time of day */
  readonly isDate: boolean
  /** `YYYY-MM-DD`, then the time of day and the offset as they were */
  readonly text: string
}

/** Reads text such as `2026-01-31`, `2026-01-31T10:00Z` and `2026/1/31 9:05`; undefined for any other. */
export function readTime(text: string): ReadTime | undefined {
  const date = DATE.exec(text)
  if (date === null) return undefined
  const [whole, year = '', separator, month = '', day = ''] = date
  if (separator === '-' && (month.length < 2 || day.length < 2)) return undefined
  const rest = text.slice(whole.length)
  const isDate = rest === ''
  const zone = isDate ? '' : (ZONE.exec(rest)?.[0] ?? '')
  const clock = CLOCK.exec(rest.slice(0, rest.length - zone.length))
  if (clock === null || !isDay(Number(year), Number(month), Number(day))) return undefined
  const [, hour = '0', minute = '0', second = '0'] = clock
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second) > 60) return undefined
  const padded = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return { form: separator === '/' ? 'slash' : 'iso', isDate, text: padded + clockText(rest) }
}

/** Time of day with two digits for the hour. */
function clockText(rest: string): string {
  return rest.replace(/^([T ])(\d):/, '$10$2:')
}

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/** Form of whole numbers that are times since 1970; undefined when they are not. */
export function epochForm(low: number, high: number): 'seconds' | 'milliseconds' | undefined {
  if (low >= EPOCH_FROM_S && high <= EPOCH_UNTIL_S) return 'seconds'
  return low >= EPOCH_FROM_S * 1000 && high <= EPOCH_UNTIL_S * 1000 ? 'milliseconds' : undefined
}

/** Text of a time for the gateway; the value itself when it has another form, which the gateway then refuses. */
export function timeValue(value: unknown, form: TimeForm): unknown {
  if (value === null || value === undefined || value === '') return null
  if (form === 'seconds' || form === 'milliseconds') {
    const number = Number(value)
    return Number.isFinite(number)
      ? new Date(form === 'seconds' ? number * 1000 : number).toISOString()
      : value
  }
  return typeof value === 'string' ? (readTime(value.trim())?.text ?? value) : value
}
