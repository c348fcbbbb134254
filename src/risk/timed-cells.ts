import { addCellWkb, type CellSet, createCellSet } from './cell-set.js'

/** Risk cells of one theme with the times they hold for, half-open. */
export interface TimedCells {
  readonly cells: CellSet
  /** what times are counted from, µs UTC: near the times in question, so that doubles hold them exactly */
  readonly originUs: bigint
  /** cell → µs from the origin, -Infinity when it always held */
  readonly fromUs: number[]
  /** cell → µs from the origin, Infinity when it never ends */
  readonly untilUs: number[]
}

export function createTimedCells(originUs: bigint): TimedCells {
  return { cells: createCellSet(), originUs, fromUs: [], untilUs: [] }
}

/** @param startUs null = it always held, likewise `endUs` */
export function addTimedCell(
  timed: TimedCells,
  wkb: Uint8Array,
  level: number,
  startUs: bigint | null,
  endUs: bigint | null,
): void {
  if (!addCellWkb(timed.cells, wkb, level)) return
  timed.fromUs.push(startUs === null ? -Infinity : Number(startUs - timed.originUs))
  timed.untilUs.push(endUs === null ? Infinity : Number(endUs - timed.originUs))
}
