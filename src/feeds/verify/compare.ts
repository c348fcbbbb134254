import { noRows, sumHex } from '../../storage/exchange/row-digest.js'
import type { DaySum } from '../../storage/exchange/table-digests.js'
import { dayText } from '../batch/days.js'
import type { NodeSum } from '../send/link.js'

/** Number of rows and their digest, hex. */
export interface DayRows {
  readonly rows: number
  readonly digest: string
}

/** A day of an origin that two nodes have differently. */
export interface DayDifference {
  /** UTC day of the rows' last write at their origin */
  readonly day: string
  /** UUID of the node at which the rows were first put */
  readonly origin: string
  readonly here: DayRows
  readonly there: DayRows
}

const NONE: DayRows = { rows: 0, digest: sumHex(noRows()) }

/**
 * Compares the sums of two nodes.
 *
 * @param here sums of this node; the empty origin is its own
 * @param nodeId UUID of this node
 * @param receiver UUID of the other node, whose own rows are not sent to it
 * @returns the days that differ, in their order
 */
export function compareSums(
  here: readonly DaySum[],
  there: readonly NodeSum[],
  { nodeId, receiver }: { nodeId: string; receiver: string },
): DayDifference[] {
  const all = new Map<string, { day: number; origin: string; here: DayRows; there: DayRows }>()
  for (const { origin: name, day, sum } of here) {
    const origin = name === '' ? nodeId : name
    if (origin === receiver) continue
    const shown = { rows: sum.rows, digest: sumHex(sum) }
    all.set(`${day} ${origin}`, { day, origin, here: shown, there: NONE })
  }
  for (const { origin, day, rows, digest } of there) {
    const known = all.get(`${day} ${origin}`)
    all.set(`${day} ${origin}`, { day, origin, here: known?.here ?? NONE, there: { rows, digest } })
  }
  return [...all.values()]
    .filter(({ here: a, there: b }) => a.rows !== b.rows || a.digest !== b.digest)
    .sort((a, b) => a.day - b.day || (a.origin < b.origin ? -1 : 1))
    .map((difference) => ({ ...difference, day: dayText(difference.day) }))
}
