import type { AgePlace, RemovalResult, RemovalStep, SentRows } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { hasAgeIndex } from './age-index.js'
import { type AgedRow, readAged, readArrived, readOldest } from './oldest.js'
import { removeRows } from './remove-rows.js'

const US_PER_DAY = 86_400_000_000

/** Removes some rows older than an age. To be run in a transaction. */
export function removeAged(db: Db, table: LoaderTable, ageDays: number, step: RemovalStep): StepResult {
  const untilUs = agedUntil(step.nowUs, ageDays)
  const rows = readAged(db, table, step, untilUs)
  return removeSent(db, table, rows, step)
}

/** Returns the instant before which a time has an age. */
export function agedUntil(nowUs: bigint, days: number): bigint {
  return nowUs - BigInt(Math.round(days * US_PER_DAY))
}

/** Removes some of the oldest rows; in the order of their arrival where there is no index of ages. To be run in a transaction. */
export function removeOldest(db: Db, table: LoaderTable, step: RemovalStep): StepResult {
  const read = hasAgeIndex(db, table) ? readOldest : readArrived
  return removeSent(db, table, read(db, table, step.after, step.limit), step)
}

/** Result of a step within its transaction. */
export type StepResult = Omit<RemovalResult, 'tookMs'>

function removeSent(db: Db, table: LoaderTable, rows: readonly AgedRow[], step: RemovalStep): StepResult {
  const { sent, dropsUnsent, limit } = step
  const unsent = rows.filter((row) => !isSent(row, sent)).length
  const wanted = dropsUnsent ? rows : rows.filter((row) => isSent(row, sent))
  removeRows(
    db,
    table,
    wanted.map(({ rowId }) => rowId),
  )
  const next = rows.length < limit ? null : placeOf(rows.at(-1))
  return { removed: wanted.length, ...unsentOf(unsent, dropsUnsent), next }
}

/** Counts rows that are not sent as those that go, or as those that stay. */
function unsentOf(unsent: number, dropsUnsent: boolean): { dropped: number; waiting: number } {
  return dropsUnsent ? { dropped: unsent, waiting: 0 } : { dropped: 0, waiting: unsent }
}

/** True for a row that every feed has sent. */
export function isSent({ change }: Pick<AgedRow, 'change'>, { until, except }: SentRows): boolean {
  return change <= until && !except.has(change)
}

function placeOf(row: AgedRow | undefined): AgePlace | null {
  // no test: a step that is full has a last row
  return row === undefined ? null : { atUs: row.atUs, rowId: row.rowId }
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
