import { INFINITY_US, MAX_US, MIN_US, parseDatetime, parseInfinity } from '../datetime.js'
import { invalidParams } from '../errors.js'

/** A datetime of a request in either of its forms. */
type WireDatetime = string | { readonly _type: 'datetime'; readonly val: string }

/** Half-open span of time, µs UTC. */
export interface Period {
  readonly fromUs: bigint
  readonly untilUs: bigint
}

/** Members of `properties` that state a period. */
interface PeriodProperties {
  start_datetime?: WireDatetime | null | undefined
  end_datetime?: WireDatetime | null | undefined
}

/**
 * Reads `start_datetime` and `end_datetime` of the properties of a request. Null is as good as absent.
 *
 * @param timeZoneMin offset of datetimes that state none, minutes east of UTC
 * @returns undefined when neither is present; without a start or an end, or with an infinite one, the period
 *   is unbounded there
 * @throws AppError INVALID_PARAMS for what is not a datetime, and for an end that is not after the start
 */
export function readPeriod(properties: PeriodProperties, timeZoneMin: number): Period | undefined {
  const [start, end] = [properties.start_datetime ?? undefined, properties.end_datetime ?? undefined]
  if (start === undefined && end === undefined) return undefined
  return periodOf(start, end, timeZoneMin, undefined)
}

/**
 * Reads a period whose start is required.
 *
 * @param defaultUs length of a period without an end, µs
 * @throws AppError INVALID_PARAMS as `readPeriod` does
 */
export function readPeriodFrom(
  { start_datetime: start, end_datetime: end }: PeriodProperties & { start_datetime: WireDatetime },
  timeZoneMin: number,
  defaultUs: bigint,
): Period {
  return periodOf(start, end ?? undefined, timeZoneMin, defaultUs)
}

function periodOf(
  start: WireDatetime | undefined,
  end: WireDatetime | undefined,
  timeZoneMin: number,
  defaultUs: bigint | undefined,
): Period {
  const fromUs = start === undefined ? MIN_US : readInstant(start, '$.properties.start_datetime', timeZoneMin)
  if (end === undefined)
    return { fromUs, untilUs: defaultUs === undefined ? MAX_US + 1n : fromUs + defaultUs }
  const path = '$.properties.end_datetime'
  const untilUs = readInstant(end, path, timeZoneMin)
  if (untilUs > fromUs) return { fromUs, untilUs }
  const message = `found ${JSON.stringify(datetimeText(end))}, expected a time after the start`
  throw invalidParams([{ path, message }])
}

function readInstant(value: WireDatetime, path: string, timeZoneMin: number): bigint {
  const infinity = parseInfinity(datetimeText(value))
  if (infinity !== undefined) return infinity === INFINITY_US ? MAX_US + 1n : MIN_US
  const parsed = parseDatetime(datetimeText(value), timeZoneMin)
  if (typeof parsed === 'bigint') return parsed
  const message = `found ${JSON.stringify(parsed.found)}, expected ${parsed.expected}`
  throw invalidParams([{ path, message }])
}

function datetimeText(value: WireDatetime): string {
  return typeof value === 'object' ? value.val : value
}
