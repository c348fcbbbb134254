import { formatDatetime } from '../datetime.js'

const US_PER_DAY = 86_400_000_000n

/** Returns the text of a UTC day: `2026-11-22`. @param day days since 1970 */
export function dayText(day: number): string {
  return formatDatetime(BigInt(day) * US_PER_DAY, 0).slice(0, '2026-11-22'.length)
}
