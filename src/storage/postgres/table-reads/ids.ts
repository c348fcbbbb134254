import type { TextRow } from '../connection/database.js'

/** Ids that one statement answers, about 7 bytes each. */
export const SCAN_IDS = 100_000

/** Text of a list of ids in one value: a row for each would take ten times as long. */
export function idsOf(row: TextRow | undefined): number[] {
  const text = row?.[0] ?? ''
  return text === '' ? [] : text.split(',').map(Number)
}
