import type { ThinRule } from '../retention.js'
import { slotOf, type ThinnedRow } from './thin-pass.js'

/** Thinning that keeps a row of each series and interval. */
export interface ThinKeep {
  /**
   * Takes rows in the order of their time; those of an interval may come in several calls.
   *
   * @returns ids of the rows to remove
   */
  take(rows: readonly ThinnedRow[]): number[]
  /** The next rows are of another stretch of time. */
  restart(): void
}

/** Creates the thinning that keeps the first or the last row of each series and interval. */
export function createKeep(rule: ThinRule, keep: 'first' | 'last'): ThinKeep {
  /** row of each series that stays, in the interval at hand */
  const kept = new Map<string, number>()
  let slot: bigint | undefined
  return {
    restart() {
      kept.clear()
      slot = undefined
    },
    take(rows) {
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
