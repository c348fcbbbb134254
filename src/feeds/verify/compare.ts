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

/** Days that two nodes have differently. */
export interface Differences {
  readonly days: readonly DayDifference[]
  /** those that cannot be compared any more, because a node has removed rows by its retention */
  readonly removedDays: readonly DayDifference[]
}

const NONE: DayRows = { rows: 0, digest: sumHex(noRows()) }

/** Rows of a day at both nodes. */
interface Day {
  readonly day: number
  readonly origin: string
  readonly here: DayRows
  readonly there: DayRows
  readonly isRemoved: boolean
}

/**
 * Compares the sums of two nodes. Where retention has removed rows, sums have them as they were when they were removed: mostly
 * they are equal still, and differ where such a row was put anew.
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
): Differences {
  const all = new Map<string, Day>()
  for (const { origin: name, day, sum, removed } of here) {
    const origin = name === '' ? nodeId : name
    if (origin === receiver) continue
    const shown = { rows: sum.rows, digest: sumHex(sum) }
    all.set(`${day} ${origin}`, { day, origin, here: shown, there: NONE, isRemoved: removed > 0 })
  }
  for (const { origin, day, rows, digest, removed = 0 } of there) {
    const known = all.get(`${day} ${origin}`)
    const isRemoved = removed > 0 || known?.isRemoved === true
    const found = { day, origin, here: known?.here ?? NONE, there: { rows, digest }, isRemoved }
    all.set(`${day} ${origin}`, found)
  }
  const differing = [...all.values()]
    .filter(({ here: a, there: b }) => a.rows !== b.rows || a.digest !== b.digest)
    .sort((a, b) => a.day - b.day || (a.origin < b.origin ? -1 : 1))
  const shown = (isWanted: boolean) =>
    differing
      .filter(({ isRemoved }) => isRemoved === isWanted)
      .map(({ isRemoved: _, ...difference }) => ({ ...difference, day: dayText(difference.day) }))
  return { days: shown(false), removedDays: shown(true) }
}
