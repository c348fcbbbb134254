import { MAX_US, MIN_US, parseDatetime } from '../../datetime.js'
import { AppError } from '../../errors.js'

/** A datetime of a request, in either of its forms. */
export type WireDatetime = string | { readonly _type: 'datetime'; readonly val: string }

/** Half-open, µs UTC. */
export interface Period {
  readonly fromUs: bigint
  readonly untilUs: bigint
}

/**
 * Reads `start_datetime` and `end_datetime` of the properties of a request.
 *
 * @param defaultUs length of a period without an end; undefined = it has no end
 * @returns undefined when neither is given
 * @throws AppError INVALID_PARAMS for what is no datetime, and for an end that is not after the start
 */
export function readPeriod(
  properties: { start_datetime?: WireDatetime | undefined; end_datetime?: WireDatetime | undefined },
  timeZoneMin: number,
  defaultUs?: bigint,
): Period | undefined {
  const { start_datetime: start, end_datetime: end } = properties
  if (start === undefined && end === undefined) return undefined
  const fromUs = start === undefined ? MIN_US : readInstant(start, '$.properties.start_datetime', timeZoneMin)
  const untilUs =
    end === undefined
      ? defaultUs === undefined
        ? MAX_US + 1n
        : fromUs + defaultUs
      : readInstant(end, '$.properties.end_datetime', timeZoneMin)
  if (untilUs <= fromUs)
    throw invalid(
      '$.properties.end_datetime',
      `found ${JSON.stringify(textOf(end))}, expected a time after the start`,
    )
  return { fromUs, untilUs }
}

function readInstant(value: WireDatetime, path: string, timeZoneMin: number): bigint {
  const parsed = parseDatetime(textOf(value), timeZoneMin)
  if (typeof parsed === 'bigint') return parsed
  throw invalid(path, `found ${JSON.stringify(parsed.found)}, expected ${parsed.expected}`)
}

function textOf(value: WireDatetime | undefined): string {
  return typeof value === 'object' ? value.val : (value ?? '')
}

function invalid(path: string, message: string): AppError {
  const faults = [{ path, message }]
  return new AppError('INVALID_PARAMS', { faults }, { message: `Invalid params: ${path}: ${message}` })
}
