import { addSum, type DigestSum, noRows } from './row-digest.js'
import type { DaySum } from './table-digests.js'

/** Rows of a day that are there, or that are gone. */
export interface DayPart {
  readonly origin: string
  readonly day: number
  /** undefined for rows that are gone whose digests are not known */
  readonly sum: DigestSum | undefined
  /** rows that are gone */
  readonly removed: number
}

/** Adds up the rows of each day that are there and that are gone. @param parts ordered by origin and day */
export function joinDays(parts: Iterable<DayPart>): DaySum[] {
  const days: { origin: string; day: number; sum: DigestSum; removed: number }[] = []
  for (const { origin, day, sum, removed } of parts) {
    let into = days.at(-1)
    if (into?.origin !== origin || into.day !== day) {
      into = { origin, day, sum: noRows(), removed: 0 }
      days.push(into)
    }
    if (sum !== undefined) addSum(into.sum, sum)
    into.removed += removed
  }
  return days
}
