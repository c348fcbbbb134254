import type { ThinRule } from '../../retention.js'
import { slotOf, type ThinAction } from './thin-scan.js'

/** Creates the thinning that keeps the first or the last row of each series and interval. */
export function createKeep(rule: ThinRule, keep: 'first' | 'last'): ThinAction {
  /** row of each series that stays, in the interval at hand */
  const kept = new Map<string, number>()
  let slot: bigint | undefined
  return {
    columns: [],
    restart() {
      kept.clear()
      slot = undefined
    },
    take(_, rows) {
      const removed: number[] = []
      for (const { rowId, atUs, series } of rows) {
        const now = slotOf(atUs, rule)
        if (now !== slot) kept.clear()
        slot = now
        const before = kept.get(series)
        if (before !== undefined) removed.push(keep === 'first' ? rowId : before)
        if (before === undefined || keep === 'last') kept.set(series, rowId)
      }
      return removed
    },
  }
}
