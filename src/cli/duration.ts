import { InvalidArgumentError } from 'commander'

const UNIT_S = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** Longest duration, ten years: more is a typing error. */
const MAX_S = 3650 * UNIT_S.d

/**
 * Reads `90d`, `12h`, `30m`, `45s` or seconds without a unit.
 *
 * @returns seconds.
 * @throws InvalidArgumentError
 */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  const seconds = Number(match?.[1]) * UNIT_S[(match?.[2] || 's') as keyof typeof UNIT_S]
  if (match === null || seconds > MAX_S) {
    throw new InvalidArgumentError('Expected a duration such as 45s, 30m, 12h or 90d, at most 3650d.')
  }
  return seconds
}
