import { agedUntil, type StepResult, splitSent, stepResult } from '../../removal/sent.js'
import type { RemovalStep } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { hasAgeIndex } from './age-index.js'
import { type AgedRow, readAged, readArrived, readOldest } from './oldest.js'
import { removeRows } from './remove-rows.js'

/** Removes some rows older than an age. To be run in a transaction. */
export function removeAged(db: Db, table: LoaderTable, ageDays: number, step: RemovalStep): StepResult {
  const rows = readAged(db, table, step, agedUntil(step.nowUs, ageDays))
  return removeSent(db, table, rows, step)
}

/** Removes some of the oldest rows; in the order of their arrival where there is no index of ages. To be run in a transaction. */
export function removeOldest(db: Db, table: LoaderTable, step: RemovalStep): StepResult {
  const read = hasAgeIndex(db, table) ? readOldest : readArrived
  return removeSent(db, table, read(db, table, step.after, step.limit), step)
}

function removeSent(db: Db, table: LoaderTable, rows: readonly AgedRow[], step: RemovalStep): StepResult {
  const split = splitSent(rows, step)
  removeRows(
    db,
    table,
    split.mayGo.map(({ rowId }) => rowId),
  )
  return stepResult(rows, split, step)
}

/** Notes what a rule has removed. To be run in the transaction of the removal. */
export function noteRemoved(
  db: Db,
  { tableId }: Pick<LoaderTable, 'tableId'>,
  { removed, dropped, thinned }: Pick<StepResult, 'removed' | 'dropped'> & { readonly thinned: number },
  nowUs: bigint,
): void {
  if (removed === 0) return
  statement(
    db,
    `UPDATE loader_retention SET removed = removed + ?, thinned = thinned + ?, unsent = unsent + ?, last_run_us = ?
     WHERE table_id = ?`,
  ).run(removed, thinned, dropped, nowUs, tableId)
}
