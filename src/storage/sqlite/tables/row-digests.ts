import type { Stored } from '../../columns/column-type.js'
import {
  addDigest,
  addSum,
  createRowDigest,
  type DigestSum,
  noRows,
  readSum,
  sumBytes,
  takeDigest,
} from '../../exchange/row-digest.js'
import type { LoaderTable, TableRef } from '../../tables.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { lastChange, lastRowId } from './change-numbers.js'
import { readAfter } from './changed-rows.js'
import { ROW_CHANGE, ROW_DAY, ROW_ID, ROW_ORIGIN, tableSql } from './ddl.js'
import { keepOrigin } from './origins.js'

/*
 * Sums of the digests of rows by origin and day, in `loader_digest_day`. Rows whose last change is `counted` or an earlier one
 * are in them. Where `counted` is the last change of the table, each write keeps it so. Else a write only takes away the rows
 * that it replaces, and `countRows` goes on: after a table gets its first feed, and after another program has written rows.
 *
 * Triggers notice rows that other programs override or remove: a row that is written by this one always takes a greater change
 * number than `counted`. Rows that they add are noticed by their number: row ids grow by one, so the last of them is the number
 * of rows and that of the ids that no row has, which is kept. A trigger would cost each new row a tenth of its time.
 */

/** State of the sums of a table. */
interface Counting {
  readonly counted: number
  /** number of the last change of the table */
  readonly last: number
  /** another program has written rows: all are to be counted again */
  readonly isStale: boolean
}

/** Sums of one transaction, by origin and day. */
type Sums = Map<number, Map<number, DigestSum>>

/** Returns the state of the sums of a table; undefined for one that is not counted. */
export function countingOf(db: Db, table: LoaderTable): Counting | undefined {
  const found = statement<{ counted: number; is_stale: number; rows: number; free_ids: number | null }>(
    db,
    'SELECT counted, is_stale, rows, free_ids FROM loader_digest WHERE table_id = ?',
  ).get(table.tableId)
  if (found === undefined) return undefined
  const { counted, is_stale: stale, rows, free_ids: freeIds } = found
  const last = lastChange(db, table)
  const hasAdded = freeIds !== null && counted === last && rows + freeIds !== lastRowId(db, table)
  return { counted, last, isStale: stale === 1 || counted > last || hasAdded }
}

/** True for a table that is counted. */
export function isCounted(db: Db, { tableId }: Pick<TableRef, 'tableId'>): boolean {
  return statement(db, 'SELECT 1 FROM loader_digest WHERE table_id = ?').get(tableId) !== undefined
}

/** Begins to count the rows of a table, unless it is counted. To be run in a transaction. */
export function beginCounting(db: Db, table: LoaderTable): void {
  if (isCounted(db, table)) return
  statement(db, 'INSERT INTO loader_digest (table_id) VALUES (?)').run(table.tableId)
  for (const event of ['UPDATE', 'DELETE'] as const) db.exec(triggerSql(table, event))
  countRows(db, table, FIRST_ROWS) // a small table needs no more
}

/** Rows that are counted at once: about 5 ms. */
const FIRST_ROWS = 1000

function triggerSql(table: LoaderTable, event: 'UPDATE' | 'DELETE'): string {
  const row = event === 'DELETE' ? 'OLD' : 'NEW'
  const id = table.tableId
  return `CREATE TRIGGER ${identifier(`${table.tableName}_digest ${event.toLowerCase()}`)} AFTER ${event} ON ${tableSql(table)}
    WHEN coalesce(${row}.${ROW_CHANGE}, ${row}.${ROW_ID}) <= (SELECT counted FROM loader_digest WHERE table_id = ${id})
    BEGIN UPDATE loader_digest SET is_stale = 1 WHERE table_id = ${id}; END`
}

/** Forgets the sums of a table: its rows are to be counted again. To be run in a transaction. */
export function restartCounting(db: Db, { tableId }: Pick<TableRef, 'tableId'>): void {
  statement(db, 'DELETE FROM loader_digest_day WHERE table_id = ?').run(tableId)
  const sql =
    'UPDATE loader_digest SET counted = 0, is_stale = 0, rows = 0, free_ids = NULL WHERE table_id = ?'
  statement(db, sql).run(tableId)
}

/**
 * Counts more rows. To be run in a transaction. Cost: 2,000 rows 10 ms.
 *
 * @param limit most rows
 * @returns true when none is left
 */
export function countRows(db: Db, table: LoaderTable, limit: number): boolean {
  const state = countingOf(db, table)
  if (state === undefined) return true
  if (state.isStale) restartCounting(db, table)
  const digest = createRowDigest(table.columns)
  const sums: Sums = new Map()
  let counted = state.isStale ? 0 : state.counted
  let isDone = false
  for (let left = limit; left > 0 && !isDone; left -= READ_ROWS) {
    const most = Math.min(left, READ_ROWS)
    const rows = readAfter(db, table, counted, most)
    for (const { origin, day, values } of rows)
      addDigest(sumAt(sums, keepOrigin(db, origin), day), digest(values))
    counted = rows.at(-1)?.change ?? counted
    isDone = rows.length < most
  }
  keepSums(db, table, sums)
  keepCounted(db, table, isDone ? state.last : counted)
  if (!isDone) return false
  keepFreeIds(db, table)
  return countingOf(db, table)?.isStale === false
}

/** Keeps how many ids no row has, after all rows were counted from the first on. */
function keepFreeIds(db: Db, table: LoaderTable): void {
  const sql = 'UPDATE loader_digest SET free_ids = ? - rows WHERE table_id = ? AND free_ids IS NULL'
  statement(db, sql).run(lastRowId(db, table), table.tableId)
}

/** Rows that are read at a time: so few that they die young. */
const READ_ROWS = 200

/** Keeps the sums of a table while rows are written. */
export interface WriterDigests {
  /** Takes away a row that is about to be overridden. */
  takeAway(rowId: bigint): void
  /** Adds a row that was written. */
  add(values: readonly Stored[], day: number): void
  /** Stores the sums. @param last number of the last change */
  finish(last: number): void
}

/**
 * Creates the sums of a writer. The caller has begun a transaction, and nobody else writes the table during
 * it.
 *
 * @param originId origin of the rows, an id of `row_origin`
 * @returns undefined for a table that is not counted, or whose rows are all to be counted again
 */
export function openDigests(db: Db, table: LoaderTable, originId: number): WriterDigests | undefined {
  const state = countingOf(db, table)
  if (state === undefined || state.isStale) return undefined
  const { counted, last } = state
  const isKept = counted === last
  const digest = createRowDigest(table.columns)
  const sums: Sums = new Map()
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const find = statement<[change: bigint, day: bigint, ...values: Stored[]]>(
    db,
    `SELECT coalesce(${ROW_CHANGE}, ${ROW_ID}), ${ROW_DAY}, ${names} FROM ${tableSql(table)} WHERE ${ROW_ID} = ?`,
  )
    .raw()
    .safeIntegers()
  return {
    takeAway(rowId) {
      const [change, day, ...values] = find.get(rowId) ?? [] // no test: the caller has just found the row
      if (change === undefined || (!isKept && Number(change) > counted)) return
      takeDigest(sumAt(sums, originId, Number(day)), digest(values))
    },
    add(values, day) {
      if (isKept) addDigest(sumAt(sums, originId, day), digest(values))
    },
    finish(now) {
      keepSums(db, table, sums)
      if (isKept) keepCounted(db, table, now)
    },
  }
}

/** A row that is about to be removed. */
type RemovedRow = [change: bigint, originId: bigint, day: bigint, ...values: Stored[]]

/**
 * Takes rows out of the sums of their table, by `remove`, and notes them by origin and day: another node may have them. To be
 * run in a transaction. Cost: 6 µs a row of a table that is counted.
 *
 * @param ids JSON array of row ids
 * @param remove removes the rows
 */
export function removeCounted(db: Db, table: LoaderTable, ids: string, remove: () => void): void {
  const state = countingOf(db, table)
  if (state === undefined) {
    noteRemoved(db, table, ids)
    remove()
    return
  }
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const rows = statement<RemovedRow>(
    db,
    `SELECT coalesce(${ROW_CHANGE}, ${ROW_ID}), ${ROW_ORIGIN}, ${ROW_DAY}, ${names} FROM ${tableSql(table)}
     WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))`,
  )
    .raw()
    .safeIntegers()
    .all(ids)
  const digest = createRowDigest(table.columns)
  const counted: Sums = new Map()
  const removed: Sums = new Map()
  for (const [change, originId, day, ...values] of rows) {
    const text = digest(values)
    addDigest(sumAt(removed, Number(originId), Number(day)), text)
    if (change <= state.counted) takeDigest(sumAt(counted, Number(originId), Number(day)), text)
  }
  keepRemoved(db, table, removed)
  if (!state.isStale) keepSums(db, table, counted)
  // the trigger takes a removal for that of another program unless the row is not counted
  keepCounted(db, table, -1)
  remove()
  keepCounted(db, table, state.counted)
  const free = 'UPDATE loader_digest SET free_ids = free_ids + ? WHERE table_id = ?'
  statement(db, free).run(rows.length, table.tableId)
}

/** Notes rows of a table that is not counted. */
function noteRemoved(db: Db, table: LoaderTable, ids: string): void {
  statement(
    db,
    `INSERT INTO loader_removed_day (table_id, origin_id, day, rows)
     SELECT ?, ${ROW_ORIGIN}, ${ROW_DAY}, count(*) FROM ${tableSql(table)}
     WHERE ${ROW_ID} IN (SELECT value FROM json_each(?)) GROUP BY ${ROW_ORIGIN}, ${ROW_DAY}
     ON CONFLICT DO UPDATE SET rows = rows + excluded.rows, sum = NULL`,
  ).run(table.tableId, ids)
}

/** Adds rows that are gone to those of their days; their sum stays unknown where it was. */
function keepRemoved(db: Db, { tableId }: LoaderTable, sums: Sums): void {
  const find = statement<{ rows: number; sum: Uint8Array | null }>(
    db,
    'SELECT rows, sum FROM loader_removed_day WHERE table_id = ? AND origin_id = ? AND day = ?',
  )
  const keep = statement(
    db,
    'INSERT OR REPLACE INTO loader_removed_day (table_id, origin_id, day, rows, sum) VALUES (?, ?, ?, ?, ?)',
  )
  for (const [originId, days] of sums)
    for (const [day, sum] of days) {
      const known = find.get(tableId, originId, day)
      if (known?.sum === null) {
        keep.run(tableId, originId, day, known.rows + sum.rows, null)
        continue
      }
      if (known !== undefined) addSum(sum, readSum(known.rows, known.sum))
      keep.run(tableId, originId, day, sum.rows, sumBytes(sum))
    }
}

/** Forgets the sums of rows that are gone: the digests of rows have changed with their columns. To be run in a transaction. */
export function forgetRemovedSums(db: Db, { tableId }: Pick<TableRef, 'tableId'>): void {
  statement(db, 'UPDATE loader_removed_day SET sum = NULL WHERE table_id = ?').run(tableId)
}

function sumAt(sums: Sums, originId: number, day: number): DigestSum {
  let days = sums.get(originId)
  if (days === undefined) {
    days = new Map()
    sums.set(originId, days)
  }
  let sum = days.get(day)
  if (sum === undefined) {
    sum = noRows()
    days.set(day, sum)
  }
  return sum
}

function keepCounted(db: Db, { tableId }: LoaderTable, change: number): void {
  statement(db, 'UPDATE loader_digest SET counted = ? WHERE table_id = ?').run(change, tableId)
}

/** Adds sums to those that are stored; a day without rows is removed. */
function keepSums(db: Db, { tableId }: LoaderTable, sums: Sums): void {
  const where = 'table_id = ? AND origin_id = ? AND day = ?'
  const find = statement<{ rows: number; sum: Uint8Array }>(
    db,
    `SELECT rows, sum FROM loader_digest_day WHERE ${where}`,
  )
  const keep = statement(
    db,
    'INSERT OR REPLACE INTO loader_digest_day (table_id, origin_id, day, rows, sum) VALUES (?, ?, ?, ?, ?)',
  )
  const remove = statement(db, `DELETE FROM loader_digest_day WHERE ${where}`)
  let added = 0
  for (const [originId, days] of sums)
    for (const [day, sum] of days) {
      added += sum.rows
      const known = find.get(tableId, originId, day)
      if (known !== undefined) addSum(sum, readSum(known.rows, known.sum))
      if (sum.rows === 0) remove.run(tableId, originId, day)
      else keep.run(tableId, originId, day, sum.rows, sumBytes(sum))
    }
  statement(db, 'UPDATE loader_digest SET rows = rows + ? WHERE table_id = ?').run(added, tableId)
}
