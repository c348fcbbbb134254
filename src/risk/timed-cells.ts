import { addCellWkb, type CellSet, createCellSet } from './cell-set.js'

/** Risk cells of one theme with their times of validity, half-open. */
export interface TimedCells {
  readonly cells: CellSet
  /** µs UTC from which times are counted: close to the journey, so that doubles hold them exactly */
  readonly originUs: bigint
  /** cell → µs from the origin, -Infinity when it has no begin */
  readonly fromUs: number[]
  /** cell → µs from the origin, Infinity when it has no end */
  readonly untilUs: number[]
}

/** Returns an empty set. @param originUs µs UTC */
export function createTimedCells(originUs: bigint): TimedCells {
  return { cells: createCellSet(), originUs, fromUs: [], untilUs: [] }
}

/**
 * Adds a cell, unless it has no area or level 0.
 *
 * @param startUs begin of its validity, µs UTC, null = none; `endUs` likewise
 */
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
