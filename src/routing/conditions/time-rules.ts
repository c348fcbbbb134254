import { type DateRange, isWithin, readDates } from './date-ranges.js'
import { dayOf, type LocalDay } from './local-day.js'
import { type Cursor, createCursor, tokensOf } from './tokens.js'

/** Rule of a time expression: days, and times of those days. */
export interface TimeRule {
  /** the rule ends what rules before it began */
  readonly isOff: boolean
  /** true: adds to the rules before it; false: replaces them on its days */
  readonly isAdded: boolean
  /** undefined = every day of the year */
  readonly dates: readonly DateRange[] | undefined
  /** bit 0 = Monday; undefined = every day of the week */
  readonly weekdays: number | undefined
  /** minutes of the day, end excluded; beyond 24:00 on the next day. Undefined = the whole day */
  readonly times: readonly (readonly [from: number, to: number])[] | undefined
}

/** Days and times of a condition. */
export interface TimeRules {
  readonly rules: readonly TimeRule[]
  /** it names public or school holidays, which are not known and match no day */
  readonly hasHolidays: boolean
}

/** Minutes of a day. */
export const MINUTES_PER_DAY = 1440
const ALL_DAYS = 0b1111111
const WEEKDAYS = ['mo', 'tu', 'we', 'th', 'fr', 'sa', 'su']
const LONG_WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const HOLIDAYS = ['ph', 'sh']
const OFF = ['off', 'closed']

/**
 * Parses days and times in the form of `opening_hours`: years, months, days of months and weeks, times of the
 * day, `off`, `24/7`, `PH` and `SH`. Weeks of the year, the times of the sun, open ends and comments are not
 * read.
 *
 * Of rules for the same day the last holds, as the specification asks, unless an earlier one would never
 * hold then: `Mo-Fr 07:00-09:00; Mo-Fr 16:00-18:00` means both.
 *
 * @returns undefined for text that is not read
 * @see https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification
 */
export function parseTimeRules(text: string): TimeRules | undefined {
  const tokens = tokensOf(text)
  if (tokens === undefined || tokens.length === 0) return undefined
  const cursor = createCursor(tokens)
  const rules: TimeRule[] = []
  let hasHolidays = false
  let isAdded = false
  while (cursor.peek() !== undefined) {
    const draft = readRule(cursor)
    if (draft === undefined) return undefined
    hasHolidays ||= draft.hasHolidays
    for (const rule of rulesOf(draft, isAdded)) rules.push(withoutVoid(rules, rule))
    isAdded = cursor.take(',')
    if (!isAdded && cursor.peek() !== undefined && !cursor.take(';')) return undefined
    if (isAdded && cursor.peek() === undefined) return undefined
  }
  return { rules, hasHolidays }
}

/**
 * Returns true when time rules hold.
 *
 * @param dayNumber days since 1970-01-01, of the local calendar
 * @param minute of that day
 */
export function holdAt({ rules }: TimeRules, dayNumber: number, minute: number): boolean {
  // the hours after midnight belong to the day on which they began
  return (
    holdOn(rules, dayOf(dayNumber), minute) || holdOn(rules, dayOf(dayNumber - 1), minute + MINUTES_PER_DAY)
  )
}

/** Lists the minutes of a day at which rules may begin or end. */
export function edgesOf({ rules }: TimeRules): number[] {
  const edges = rules.flatMap(({ times }) => times?.flat() ?? []).map((minute) => minute % MINUTES_PER_DAY)
  return [0, ...edges]
}

function holdOn(rules: readonly TimeRule[], day: LocalDay, minute: number): boolean {
  let isOn = false
  for (const { isOff, isAdded, dates, weekdays, times } of rules) {
    if (weekdays !== undefined && (weekdays & (1 << day.weekday)) === 0) continue
    if (dates !== undefined && !dates.some((range) => isWithin(range, day))) continue
    const isTime = times?.some(([from, to]) => from <= minute && minute < to) ?? minute < MINUTES_PER_DAY
    if (isOff) isOn &&= times !== undefined && !isTime
    else isOn = isTime || (isAdded && isOn)
  }
  return isOn
}

/** A rule as it is written. */
interface Draft {
  dates?: readonly DateRange[]
  days?: Days
  times?: readonly (readonly [from: number, to: number])[]
  isOff: boolean
  hasHolidays: boolean
}

/** Reads one rule, up to its separator. @returns undefined for an empty or unknown one */
function readRule(cursor: Cursor): Draft | undefined {
  const draft: Draft = { isOff: false, hasHolidays: false }
  let isEmpty = true
  for (let token = cursor.peek(); token !== undefined; token = cursor.peek()) {
    if (token.kind === 'sign' && token.text !== ':') break
    if (!readPart(cursor, draft)) return undefined
    isEmpty = false
  }
  return isEmpty ? undefined : draft
}

/** Reads a selector of dates, days or times, or a word. @returns false when it is none, or the second one */
function readPart(cursor: Cursor, draft: Draft): boolean {
  const { kind, text } = cursor.peek()!
  if (isAlways(cursor)) {
    for (let i = 0; i < 3; i++) cursor.skip()
    return true
  }
  // the specification allows a colon between dates and days or times
  if (kind === 'sign') return draft.dates !== undefined && cursor.take(':') && cursor.peek() !== undefined
  if (kind === 'word' && OFF.includes(text)) {
    cursor.skip()
    draft.isOff = true
    return true
  }
  if (kind === 'time') {
    if (draft.times !== undefined) return false
    const times = readTimes(cursor)
    if (times !== undefined) draft.times = times
    return times !== undefined
  }
  if (kind === 'word' && isDayWord(text)) {
    if (draft.days !== undefined) return false
    const days = readDays(cursor)
    if (days === undefined) return false
    draft.days = days
    draft.hasHolidays = days.hasHolidays
    return true
  }
  if (draft.dates !== undefined) return false
  const dates = readDates(cursor)
  if (dates !== undefined) draft.dates = dates
  return dates !== undefined
}

function isAlways(cursor: Cursor): boolean {
  return cursor.peek()?.text === '24' && cursor.peek(1)?.text === '/' && cursor.peek(2)?.text === '7'
}

/** Days of the week as a list is written. */
interface Days {
  readonly mask: number
  /** days of the last entry, where it is a range after a comma and a space */
  readonly lastRange: number
  readonly hasHolidays: boolean
}

function isDayWord(text: string): boolean {
  return weekdayOf(text) >= 0 || HOLIDAYS.includes(text)
}

/** Number of a weekday: `mo`, `mon`, `monday`; -1 for another word. */
function weekdayOf(text: string): number {
  const short = WEEKDAYS.indexOf(text)
  if (short >= 0) return short
  return LONG_WEEKDAYS.findIndex((name) => name === text || name.slice(0, 3) === text)
}

/** Reads `Mo-Fr,Su,PH`. */
function readDays(cursor: Cursor): Days | undefined {
  let mask = 0
  let lastRange = 0
  let hasHolidays = false
  for (let isAfterSpace = false; ; ) {
    const { text } = cursor.peek()!
    cursor.skip()
    lastRange = 0
    const from = weekdayOf(text)
    if (from < 0) hasHolidays = true
    else if (cursor.take('-')) {
      const to = weekdayOf(cursor.peek()?.text ?? '')
      if (to < 0) return undefined
      cursor.skip()
      const range = rangeMask(from, to)
      mask |= range
      lastRange = isAfterSpace ? range : 0
    } else mask |= 1 << from
    const next = cursor.peek(1)
    // a comma before anything but a day separates rules
    const isList = cursor.peek()?.text === ',' && next?.kind === 'word' && isDayWord(next.text)
    if (!isList) return { mask, lastRange, hasHolidays }
    cursor.skip()
    isAfterSpace = next.isSpaced
  }
}

/** Days from one to another, also over the end of the week: `Sa-Mo`. */
function rangeMask(from: number, to: number): number {
  let mask = 1 << from
  for (let day = from; day !== to; ) {
    day = (day + 1) % WEEKDAYS.length
    mask |= 1 << day
  }
  return mask
}

/** Reads `07:00-09:00,16:00-18:00`. */
function readTimes(cursor: Cursor): (readonly [number, number])[] | undefined {
  const times: (readonly [number, number])[] = []
  for (;;) {
    const from = cursor.peek()
    cursor.skip()
    const isRange = cursor.take('-')
    const to = cursor.peek()
    if (from?.kind !== 'time' || !isRange || to?.kind !== 'time') return undefined
    if (from.value > MINUTES_PER_DAY) return undefined
    cursor.skip()
    times.push([from.value, to.value > from.value ? to.value : to.value + MINUTES_PER_DAY])
    const isList = cursor.peek()?.text === ',' && cursor.peek(1)?.kind === 'time'
    if (!isList) return times
    cursor.skip()
  }
}

/**
 * Returns the rules that a draft means. `Su, Mo-Sa 20:00-06:00` is two: nobody names all seven days in parts,
 * the last as a range, to say every day.
 */
function rulesOf({ dates, days, times, isOff }: Draft, isAdded: boolean): TimeRule[] {
  const rule = { isOff, isAdded, dates, weekdays: days?.mask, times }
  const rest = days === undefined ? 0 : days.mask & ~days.lastRange
  if (days === undefined || days.lastRange === 0 || rest === 0) return [rule]
  if (days.mask !== ALL_DAYS || times === undefined) return [rule]
  return [
    { ...rule, weekdays: rest, times: undefined },
    { ...rule, weekdays: days.lastRange, isAdded: true },
  ]
}

/** Returns a rule that adds to the rules before it, where replacing them would leave one of them void. */
function withoutVoid(before: readonly TimeRule[], rule: TimeRule): TimeRule {
  const covers = (earlier: TimeRule) =>
    !earlier.isOff &&
    earlier.weekdays !== 0 && // holidays, which match no day
    ((earlier.weekdays ?? ALL_DAYS) & ~(rule.weekdays ?? ALL_DAYS)) === 0 &&
    (rule.dates === undefined || JSON.stringify(rule.dates) === JSON.stringify(earlier.dates))
  return !rule.isOff && before.some(covers) ? { ...rule, isAdded: true } : rule
}
