/** A day of the local calendar. */
export interface LocalDay {
  readonly year: number
  /** 1 to 12 */
  readonly month: number
  readonly day: number
  /** 0 = Monday */
  readonly weekday: number
}

const MS_PER_DAY = 86_400_000
const DAYS_PER_WEEK = 7
/** 1970-01-01 was a Thursday. */
const WEEKDAY_OF_DAY_0 = 3

/** Returns the day with a number, counted from 1970-01-01. */
export function dayOf(dayNumber: number): LocalDay {
  const date = new Date(dayNumber * MS_PER_DAY)
  const weekday = (((dayNumber + WEEKDAY_OF_DAY_0) % DAYS_PER_WEEK) + DAYS_PER_WEEK) % DAYS_PER_WEEK
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday,
  }
}
