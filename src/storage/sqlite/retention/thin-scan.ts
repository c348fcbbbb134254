import { MIN_US } from '../../../datetime.js'
import type { Stored } from '../../columns/column-type.js'
import { splitSent } from '../../removal/sent.js'
import {
  beginPass,
  beginStep,
  nextChanges,
  nextRows,
  type ReadRow,
  seriesOf,
  type ThinNote,
  type ThinnedRow,
  type ThinPass,
  type ThinStep,
  takeLate,
  takeRows,
  type WantedChanges,
  type WantedRows,
} from '../../removal/thin-pass.js'
import type { RemovalStep, ThinRule } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { lastChange } from '../tables/change-numbers.js'
import { ROW_CHANGE, ROW_ID, ROW_ORIGIN, tableSql } from '../tables/ddl.js'
import { AGE_TIME } from './age-index.js'

/** Work on the rows of an interval. */
export interface ThinAction {
  /** columns that it reads */
  readonly columns: readonly string[]
  /**
   * Takes rows in the order of their time; those of an interval may come in several calls.
   *
   * @returns ids of the rows to remove
   */
  take(db: Db, rows: readonly ThinnedRow[], nowUs: bigint): number[]
  /** The next rows are of another stretch of time. */
  restart(): void
}

/** Begins a pass. To be run in a transaction. */
export function beginThinning(db: Db, table: LoaderTable, rule: ThinRule, step: RemovalStep): ThinPass {
  return beginPass(rule, readThin(db, table), lastChange(db, table), step)
}

/** Does one step of a pass. To be run in a transaction. */
export function stepPass(
  db: Db,
  table: LoaderTable,
  { pass, action }: { pass: ThinPass; action: ThinAction },
  step: RemovalStep,
): ThinStep {
  const done = beginStep()
  const changes = nextChanges(pass)
  if (changes !== undefined) {
    takeLate(pass, changes, readLate(db, table, changes))
    return done
  }
  const { rule } = pass
  // late rows are mostly few in each of many intervals
  for (
    let wanted = nextRows(pass, step.limit);
    wanted !== undefined;
    wanted = nextRows(pass, step.limit - done.looked)
  ) {
    const found = readRows(db, table, { rule, action }, wanted)
    const { mayGo } = splitSent(found, step)
    const ids = action.take(db, mayGo, step.nowUs)
    const { note, isEnd } = takeRows(pass, done, { found, mayGo, ids, step })
    if (note !== undefined) keepThin(db, table, note)
    if (isEnd) action.restart()
  }
  return done
}

function readThin(db: Db, { tableId }: LoaderTable): ThinNote {
  const sql = 'SELECT thin_from_us, thin_change FROM loader_retention WHERE table_id = ?'
  const found = statement<[from: bigint | null, change: bigint]>(db, sql).raw().safeIntegers().get(tableId)
  return { from: found?.[0] ?? null, change: Number(found?.[1] ?? 0) } // no test: the caller has found the rule
}

function keepThin(db: Db, { tableId }: LoaderTable, { from, change }: ThinNote): void {
  const sql = 'UPDATE loader_retention SET thin_from_us = ?, thin_change = ? WHERE table_id = ?'
  statement(db, sql).run(from, change, tableId)
}

/** Reads the times of rows that came, changed or were sent after their intervals were looked at. */
function readLate(db: Db, table: LoaderTable, { after, until, beforeUs }: WantedChanges): bigint[] {
  const isLate = `${AGE_TIME} >= ${MIN_US} AND ${AGE_TIME} < ?`
  const name = tableSql(table)
  const read = (from: string, where: string) =>
    statement<bigint>(db, `SELECT ${AGE_TIME} FROM ${from} WHERE ${where} AND ${isLate}`)
      .pluck()
      .safeIntegers()
      .all(after, until, beforeUs)
  const ofPut = read(`${name} NOT INDEXED`, `${ROW_ID} > ? AND ${ROW_ID} <= ? AND ${ROW_CHANGE} IS NULL`)
  const byChange = `${name} INDEXED BY ${identifier(`${table.tableName}_change`)}`
  const ofChanged = read(byChange, `${ROW_CHANGE} > ? AND ${ROW_CHANGE} <= ?`)
  return [...ofPut, ...ofChanged]
}

type Found = [rowId: bigint, change: bigint, originId: bigint, atUs: bigint, ...values: Stored[]]

function readRows(
  db: Db,
  table: LoaderTable,
  { rule, action }: { rule: ThinRule; action: ThinAction },
  wanted: WantedRows,
): ReadRow[] {
  const names = [...rule.by, ...action.columns].map(identifier)
  const columns = [ROW_ID, `coalesce(${ROW_CHANGE}, ${ROW_ID})`, ROW_ORIGIN, AGE_TIME, ...names]
  const rows = statement<Found>(
    db,
    `SELECT ${columns.join(', ')} FROM ${tableSql(table)}
     WHERE ${AGE_TIME} >= @atUs AND ${AGE_TIME} < @untilUs AND (${AGE_TIME} > @atUs OR ${ROW_ID} > @rowId)
     ORDER BY ${AGE_TIME}, ${ROW_ID} LIMIT @limit`,
  )
    .raw()
    .safeIntegers()
    .all(wanted)
  return rows.map(([rowId, change, originId, atUs, ...values]) => ({
    ...{ rowId: Number(rowId), change: Number(change), originId: Number(originId), atUs },
    series: seriesOf(Number(originId), values.slice(0, rule.by.length)),
    key: values.slice(0, rule.by.length),
    values: values.slice(rule.by.length),
  }))
}
