import { INFINITY_US, isInfinite, MINUS_INFINITY_US } from '../../../datetime.js'
import type { Bbox } from '../../../geo/types.js'
import { END, START } from '../../records/record-plan.js'
import type { PlannedRow } from './plan-rows.js'

/** Most instants that are kept of a table: 10-minute slots of four months. */
export const MAX_TIMES = 20_000

/** Bounds of rows in space and time, and the instants at which they begin or end. */
interface RowBounds {
  readonly box: Bbox | undefined
  /** µs UTC; the least int64 for an open start; null for no rows */
  readonly startsUs: bigint | null
  /** µs UTC; the greatest int64 for an open end */
  readonly endsUs: bigint | null
  /** at most `MAX_TIMES` and one */
  readonly times: ReadonlySet<bigint>
}

/** Returns the bounds of rows. @param hasTimes false where the instants are not kept */
export function boundsOf(planned: readonly PlannedRow[], hasTimes: boolean): RowBounds {
  let box: Bbox | undefined
  let startsUs: bigint | null = null
  let endsUs: bigint | null = null
  const times = new Set<bigint>()
  const note = (us: bigint) => {
    if (hasTimes && !isInfinite(us) && times.size <= MAX_TIMES) times.add(us)
  }
  for (const { row } of planned) {
    const start = (row.values[START] ?? MINUS_INFINITY_US) as bigint
    const end = (row.values[END] ?? INFINITY_US) as bigint
    if (startsUs === null || start < startsUs) startsUs = start
    if (endsUs === null || end > endsUs) endsUs = end
    note(start)
    note(end)
    if (row.box === undefined) continue
    const [west, south, east, north] = row.box
    if (box === undefined) box = [west, south, east, north]
    else
      box = [Math.min(box[0], west), Math.min(box[1], south), Math.max(box[2], east), Math.max(box[3], north)]
  }
  return { box, startsUs, endsUs, times }
}
