import { formatDatetime, utcDayOf } from '../../datetime.js'

const US_PER_DAY = 86_400_000_000n

/** Returns the text of a UTC day: `2026-11-22`. @param day days since 1970 */
export function dayText(day: number): string {
  return formatDatetime(BigInt(day) * US_PER_DAY, 0).slice(0, '2026-11-22'.length)
}

/**
 * Returns the UTC days that a span touches, both included.
 *
 * @param fromUs µs UTC
 * @param toUs end of the span, which is not part of it; a span without length is an instant
 */
export function daysBetween(fromUs: bigint, toUs: bigint): { fromDay: number; toDay: number } {
  return { fromDay: utcDayOf(fromUs), toDay: utcDayOf(toUs > fromUs ? toUs - 1n : toUs) }
}
