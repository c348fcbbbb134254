import { formatDatetime, parseDatetime } from '../../datetime.js'
import { isRawNumber } from '../../json/exact-json.js'
import { describeFound } from '../../messages/fault-text.js'

/** Unit of a time that is a number since 1970; `auto` chooses by its size. */
export type TimeUnit = 'auto' | 's' | 'ms' | 'us' | 'ns'

/** A value that cannot be used: what was found, and what was expected. */
export interface Misfit {
  readonly misfit: string
}

/** Numbers below this are seconds, until the year 5138; milliseconds and microseconds are 10³ and 10⁶ times larger. */
const MAX_SECONDS = 1e11
const MAX_MILLISECONDS = 1e14
const MAX_MICROSECONDS = 1e17

const US_PER: Readonly<Record<Exclude<TimeUnit, 'auto'>, number>> = { s: 1e6, ms: 1e3, us: 1, ns: 1e-3 }

/**
 * Reads a time of a payload: text as tables take it, or a number since 1970.
 *
 * @param zoneMin minutes east of UTC, for text without an offset
 * @returns µs UTC
 */
export function readTime(found: unknown, unit: TimeUnit, zoneMin: number): bigint | Misfit {
  const value = isRawNumber(found) ? found.rawJSON : found
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value))
  if (isNumber) return ofNumber(Number(value), unit)
  if (typeof value !== 'string')
    return { misfit: `found ${describeFound(value)}, expected a datetime, or a number since 1970` }
  const parsed = parseDatetime(value, zoneMin)
  return typeof parsed === 'bigint'
    ? parsed
    : { misfit: `found ${JSON.stringify(parsed.found)}, expected ${parsed.expected}` }
}

function ofNumber(value: number, unit: TimeUnit): bigint | Misfit {
  const us = Math.round(value * US_PER[unit === 'auto' ? unitOf(value) : unit])
  return Number.isSafeInteger(us)
    ? BigInt(us)
    : { misfit: `found ${value}, expected a time before the year 2255` }
}

function unitOf(value: number): Exclude<TimeUnit, 'auto'> {
  if (value < MAX_SECONDS) return 's'
  if (value < MAX_MILLISECONDS) return 'ms'
  return value < MAX_MICROSECONDS ? 'us' : 'ns'
}

/** Bounds of the times of messages. */
export interface TimeBounds {
  /** longest time ahead of the gateway's clock, s; null for any */
  readonly maxAheadS: number | null
  /** longest time behind it, s; null for any */
  readonly maxAgeS: number | null
}

/** Checks a time against the clock of the gateway. @returns undefined when it fits */
export function boundsFault(
  us: bigint,
  nowUs: number,
  { maxAheadS, maxAgeS }: TimeBounds,
): string | undefined {
  const aheadS = (Number(us) - nowUs) / 1e6
  const shown = formatDatetime(us, 0)
  if (maxAheadS !== null && aheadS > maxAheadS)
    return `found ${shown}, expected at most ${maxAheadS} s ahead of the gateway's clock`
  if (maxAgeS !== null && -aheadS > maxAgeS)
    return `found ${shown}, expected at most ${maxAgeS} s behind the gateway's clock`
  return undefined
}
