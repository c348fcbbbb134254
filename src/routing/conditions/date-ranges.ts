import type { LocalDay } from './local-day.js'
import type { Cursor } from './tokens.js'

/** Range of dates, both ends included. */
export interface DateRange {
  /** year · 10000 + month · 100 + day, or month · 100 + day of every year */
  readonly from: number
  readonly to: number
  readonly isOfEveryYear: boolean
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MIN_YEAR = 2000
const LAST_DAY = 31
const PER_YEAR = 10_000
const PER_MONTH = 100
const FIRST_OF_YEAR = 101
const LAST_OF_YEAR = 1231

/** Returns true when a day lies within a range; a range of every year may pass over its end. */
export function isWithin({ from, to, isOfEveryYear }: DateRange, { year, month, day }: LocalDay): boolean {
  const ofYear = month * PER_MONTH + day
  const at = isOfEveryYear ? ofYear : year * PER_YEAR + ofYear
  return from <= to ? from <= at && at <= to : at >= from || at <= to
}

/** A date as it is written; parts that are absent are undefined. */
interface PartialDate {
  readonly year: number | undefined
  readonly month: number | undefined
  readonly day: number | undefined
}

/**
 * Reads a list of dates: `Mar-Oct`, `Apr 1-15`, `Dec 24-Jan 6`, `2026 Mar 1-2026 Apr 15`, `2026-2028`.
 *
 * @returns undefined for dates that are not read
 */
export function readDates(cursor: Cursor): DateRange[] | undefined {
  const ranges: DateRange[] = []
  for (;;) {
    const range = readRange(cursor)
    if (range === undefined) return undefined
    ranges.push(range)
    const next = cursor.peek(1)
    const isList = cursor.peek()?.text === ',' && next !== undefined && isDate(next.kind, next.text)
    if (!isList) return ranges
    cursor.skip()
  }
}

function isDate(kind: string, text: string): boolean {
  return MONTHS.includes(text) || (kind === 'number' && Number(text) >= MIN_YEAR)
}

function readRange(cursor: Cursor): DateRange | undefined {
  const from = readDate(cursor)
  if (from === undefined) return undefined
  if (!cursor.take('-')) return rangeOf(from, from)
  const token = cursor.peek()
  // `Apr 1-15`: the second day is of the same month
  if (from.day !== undefined && token?.kind === 'number' && token.value <= LAST_DAY) {
    cursor.skip()
    return token.value >= from.day ? rangeOf(from, { ...from, day: token.value }) : undefined
  }
  const to = readDate(cursor)
  return to && rangeOf(from, to)
}

/** Reads a year, a month with or without a day, or both. */
function readDate(cursor: Cursor): PartialDate | undefined {
  let year: number | undefined
  let month: number | undefined
  let day: number | undefined
  let token = cursor.peek()
  if (token?.kind === 'number' && token.value >= MIN_YEAR) {
    year = token.value
    cursor.skip()
    token = cursor.peek()
  }
  const found = token?.kind === 'word' ? MONTHS.indexOf(token.text.slice(0, 3)) : -1
  if (found >= 0) {
    month = found + 1
    cursor.skip()
    token = cursor.peek()
    if (token?.kind === 'number' && token.value < MIN_YEAR) {
      day = token.value
      if (day < 1 || day > LAST_DAY) return undefined
      cursor.skip()
    }
  }
  return year === undefined && month === undefined ? undefined : { year, month, day }
}

/** Range from the beginning of one date to the end of another. */
function rangeOf(from: PartialDate, to: PartialDate): DateRange | undefined {
  // `Mar-2026` and `2026-Mar` are no ranges
  if ((from.month === undefined) !== (to.month === undefined)) return undefined
  if (from.year === undefined && to.year !== undefined) return undefined
  const first = from.month === undefined ? FIRST_OF_YEAR : from.month * PER_MONTH + (from.day ?? 1)
  const last = to.month === undefined ? LAST_OF_YEAR : to.month * PER_MONTH + (to.day ?? LAST_DAY)
  if (from.year === undefined) return { from: first, to: last, isOfEveryYear: true }
  // `2026 Nov-Mar` ends in the year after
  const lastYear = to.year ?? (last < first ? from.year + 1 : from.year)
  const range = { from: from.year * PER_YEAR + first, to: lastYear * PER_YEAR + last, isOfEveryYear: false }
  return range.from <= range.to ? range : undefined
}
