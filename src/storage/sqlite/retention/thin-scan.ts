import { MIN_US } from '../../../datetime.js'
import type { Stored } from '../../columns/column-type.js'
import type { RemovalStep, ThinRule } from '../../retention.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { lastChange } from '../tables/change-numbers.js'
import { ROW_CHANGE, ROW_ID, ROW_ORIGIN, tableSql } from '../tables/ddl.js'
import { AGE_TIME } from './age-index.js'
import { agedUntil, isSent } from './expire.js'

/*
 * Order in which rows are thinned. Rows are looked at once, in the order of their time, up to the last interval that is old as a
 * whole; `thin_from_us` is the first interval that was not looked at as a whole. Rows that come later, are changed or are sent
 * later, and lie before it, are found by their change numbers, and their intervals are looked at again.
 */

/** A row that is looked at. */
export interface ThinnedRow {
  readonly rowId: number
  readonly atUs: bigint
  readonly originId: number
  /** names the series */
  readonly series: string
  /** stored values of the columns of the series */
  readonly key: readonly Stored[]
  /** stored values of the columns that the action reads, in their order */
  readonly values: readonly Stored[]
}

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

/** Half-open span of time. */
interface Stretch {
  readonly fromUs: bigint
  readonly untilUs: bigint
}

/** Position of a pass over a table. */
export interface ThinPass {
  readonly action: ThinAction
  /** stretches that are left; the last one is that of new intervals */
  stretches: Stretch[]
  /** rows up to `scanned` are looked at for late ones; `untilChange` is where that ends */
  scanned: number
  untilChange: number
  /** starts of intervals with late rows */
  readonly late: Set<bigint>
  at: { atUs: bigint; rowId: number } | undefined
}

/** Changes that are looked at for late rows in one step: 3 ms. */
const SCAN_CHANGES = 5000
/** Most intervals with late rows of one pass. */
const MAX_LATE = 10_000

/** Begins a pass. To be run in a transaction. */
export function beginPass(
  db: Db,
  table: LoaderTable,
  { rule, action }: { rule: ThinRule; action: ThinAction },
  { nowUs, sent, dropsUnsent }: RemovalStep,
): ThinPass {
  const { from, change } = readThin(db, table)
  const untilUs = slotOf(agedUntil(nowUs, rule.afterDays), rule)
  const last = lastChange(db, table)
  const untilChange = Math.max(change, dropsUnsent ? last : Math.min(last, sent.until))
  const fresh = { fromUs: from ?? MIN_US, untilUs: from !== null && from > untilUs ? from : untilUs }
  // the first pass looks at every row
  const scanned = from === null ? untilChange : change
  return { action, stretches: [fresh], scanned, untilChange, late: new Set(), at: undefined }
}

/** Rows that a step removes. */
interface ThinStep {
  readonly ids: number[]
  /** of these: rows that were not sent */
  readonly dropped: number
  /** rows that were not looked at, because they are not sent */
  readonly waiting: number
  readonly isDone: boolean
}

/** Does one step of a pass. To be run in a transaction. */
export function stepPass(
  db: Db,
  table: LoaderTable,
  parts: { rule: ThinRule; pass: ThinPass },
  step: RemovalStep,
): ThinStep {
  const { pass, rule } = parts
  const [first] = pass.stretches
  if (first !== undefined && pass.scanned < pass.untilChange) {
    scanLate(db, table, { rule, pass, beforeUs: first.fromUs })
    return { ids: [], dropped: 0, waiting: 0, isDone: false }
  }
  const done = { ids: [] as number[], dropped: 0, waiting: 0 }
  let looked = 0
  // late rows are mostly few in each of many intervals
  for (let stretch = first; stretch !== undefined && looked < step.limit; [stretch] = pass.stretches)
    looked += thinSome(db, table, { ...parts, stretch, done }, { ...step, limit: step.limit - looked })
  return { ...done, isDone: pass.stretches.length === 0 }
}

/** Looks at some rows of a stretch. Returns their number. */
function thinSome(
  db: Db,
  table: LoaderTable,
  {
    rule,
    pass,
    stretch,
    done,
  }: {
    rule: ThinRule
    pass: ThinPass
    stretch: Stretch
    done: { ids: number[]; dropped: number; waiting: number }
  },
  { nowUs, sent, dropsUnsent, limit }: RemovalStep,
): number {
  const at = pass.at ?? { atUs: stretch.fromUs, rowId: 0 }
  const found = readRows(db, table, { rule, action: pass.action }, { ...at, untilUs: stretch.untilUs, limit })
  const unsent = new Set(found.filter((row) => !isSent(row, sent)).map(({ rowId }) => rowId))
  const mayGo = dropsUnsent ? found : found.filter(({ rowId }) => !unsent.has(rowId))
  const ids = pass.action.take(db, mayGo, nowUs)
  done.ids.push(...ids)
  done.dropped += ids.filter((id) => unsent.has(id)).length
  done.waiting += found.length - mayGo.length
  const last = found.at(-1)
  pass.at = last !== undefined && found.length === limit ? { atUs: last.atUs, rowId: last.rowId } : undefined
  // the late stretches are done when that of new intervals begins
  if (pass.stretches.length === 1)
    keepThin(
      db,
      table,
      pass.at === undefined ? stretch.untilUs : slotOf(pass.at.atUs, rule),
      pass.untilChange,
    )
  if (pass.at === undefined) {
    pass.stretches.shift()
    pass.action.restart()
  }
  return found.length
}

/** Returns the start of the interval of an instant. */
export function slotOf(us: bigint, { intervalS }: ThinRule): bigint {
  const length = BigInt(intervalS) * 1_000_000n
  const rest = us % length
  return rest < 0n ? us - rest - length : us - rest
}

function readThin(db: Db, { tableId }: LoaderTable): { from: bigint | null; change: number } {
  const sql = 'SELECT thin_from_us, thin_change FROM loader_retention WHERE table_id = ?'
  const found = statement<[from: bigint | null, change: bigint]>(db, sql).raw().safeIntegers().get(tableId)
  return { from: found?.[0] ?? null, change: Number(found?.[1] ?? 0) } // no test: the caller has found the rule
}

function keepThin(db: Db, { tableId }: LoaderTable, fromUs: bigint, change: number): void {
  const sql = 'UPDATE loader_retention SET thin_from_us = ?, thin_change = ? WHERE table_id = ?'
  statement(db, sql).run(fromUs, change, tableId)
}

/** Looks at some changes for rows that came, changed or were sent after their intervals were looked at. */
function scanLate(
  db: Db,
  table: LoaderTable,
  { rule, pass, beforeUs }: { rule: ThinRule; pass: ThinPass; beforeUs: bigint },
): void {
  const until = Math.min(pass.scanned + SCAN_CHANGES, pass.untilChange)
  const isLate = `${AGE_TIME} >= ${MIN_US} AND ${AGE_TIME} < ?`
  const name = tableSql(table)
  const read = (from: string, where: string) =>
    statement<bigint>(db, `SELECT ${AGE_TIME} FROM ${from} WHERE ${where} AND ${isLate}`)
      .pluck()
      .safeIntegers()
      .all(pass.scanned, until, beforeUs)
  const ofPut = read(`${name} NOT INDEXED`, `${ROW_ID} > ? AND ${ROW_ID} <= ? AND ${ROW_CHANGE} IS NULL`)
  const byChange = `${name} INDEXED BY ${identifier(`${table.tableName}_change`)}`
  const ofChanged = read(byChange, `${ROW_CHANGE} > ? AND ${ROW_CHANGE} <= ?`)
  for (const us of [...ofPut, ...ofChanged]) pass.late.add(slotOf(us, rule))
  pass.scanned = until
  if (pass.late.size > MAX_LATE) pass.untilChange = until // the next pass goes on
  if (pass.scanned < pass.untilChange) return
  const slots = [...pass.late].sort((a, b) => (a < b ? -1 : 1))
  const length = BigInt(rule.intervalS) * 1_000_000n
  const late = slots.map((fromUs) => ({ fromUs, untilUs: fromUs + length }))
  pass.stretches = [...late, ...pass.stretches]
}

type Found = [rowId: bigint, change: bigint, originId: bigint, atUs: bigint, ...values: Stored[]]

function readRows(
  db: Db,
  table: LoaderTable,
  { rule, action }: { rule: ThinRule; action: ThinAction },
  place: { atUs: bigint; rowId: number; untilUs: bigint; limit: number },
): (ThinnedRow & { change: number })[] {
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
    .all(place)
  return rows.map(([rowId, change, originId, atUs, ...values]) => ({
    ...{ rowId: Number(rowId), change: Number(change), originId: Number(originId), atUs },
    series: seriesOf(Number(originId), values.slice(0, rule.by.length)),
    key: values.slice(0, rule.by.length),
    values: values.slice(rule.by.length),
  }))
}

/** Returns a text that names a series: rows of different nodes are of different series. */
function seriesOf(originId: number, values: readonly Stored[]): string {
  // bytes name no series
  const texts = values.map((value) => (typeof value === 'bigint' ? ['int', String(value)] : value))
  return JSON.stringify([originId, ...texts])
}
