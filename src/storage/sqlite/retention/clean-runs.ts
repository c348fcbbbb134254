import { MIN_US } from '../../../datetime.js'
import type { LoaderTable } from '../../tables.js'
import { type Db, statement } from '../connection/database.js'
import { pruneChanges } from '../tables/changes.js'
import { indexSql, ROW_ID, tableSql } from '../tables/ddl.js'
import {
  appendPacked,
  createEntries,
  createPackBuffer,
  type Entries,
  packEntries,
} from '../tables/entries.js'
import { boundsOf, RUN_ROWS } from '../tables/runs.js'
import { versionNames } from '../tables/version-names.js'
import { AGE_TIME, hasAgeIndex } from './age-index.js'

/** Removes entries of rows that are gone from a few runs of a spatial index. */
export interface RunCleaner {
  /** To be run in a transaction. @returns false when all runs of a round are done */
  step(db: Db, table: LoaderTable): boolean
}

/** Runs of one step: 0.3 ms each. */
const STEP_RUNS = 8
/** Least share of entries without a row at which a round begins, and their least number. */
const STALE_SHARE = 0.25
const STALE_LEAST = 4096

/**
 * Creates a cleaner. A round goes through all runs of a table; it begins when so many rows were removed since the last one that
 * the cost per removed row is small. A program that ends meanwhile begins the round again.
 */
export function createRunCleaner(): RunCleaner {
  const rounds = new Map<number, { after: number; stale: number }>()
  return {
    step(db, table) {
      const round = rounds.get(table.tableId) ?? beginRound(db, table)
      if (round === undefined) return false
      rounds.set(table.tableId, round)
      const runs = statement<{ run: number; entries: Uint8Array }>(
        db,
        `SELECT rowid AS run, entries FROM ${indexSql(table)} WHERE rowid IN
          (SELECT rowid FROM ${rowIdsOf(table)} WHERE rowid > ? ORDER BY rowid LIMIT ${STEP_RUNS}) ORDER BY rowid`,
      ).all(round.after)
      for (const { run, entries } of runs) cleanRun(db, table, run, entries)
      const last = runs.at(-1)
      if (last !== undefined) {
        round.after = last.run
        return true
      }
      rounds.delete(table.tableId)
      const sql = 'UPDATE loader_table SET removed_rows = max(removed_rows - ?, 0) WHERE table_id = ?'
      statement(db, sql).run(round.stale, table.tableId)
      pruneInstants(db, table)
      return false
    },
  }
}

/** Removes instants of rows that are gone, where the oldest row is found by its index. */
function pruneInstants(db: Db, table: LoaderTable): void {
  if (!hasAgeIndex(db, table)) return
  const sql = `SELECT min(${AGE_TIME}) FROM ${tableSql(table)} WHERE ${AGE_TIME} >= ${MIN_US}`
  const oldestUs = statement<bigint | null>(db, sql).pluck().safeIntegers().get() ?? null
  if (oldestUs !== null) pruneChanges(db, table, oldestUs)
}

/** Returns the name of the R*Tree's own list of ids, which is in order. */
function rowIdsOf(table: LoaderTable): string {
  return `${indexSql(table).slice(0, -1)}_rowid"`
}

function beginRound(db: Db, table: LoaderTable): { after: number; stale: number } | undefined {
  const found = statement<{ stale: number; entries: number }>(
    db,
    `SELECT removed_rows AS stale, (SELECT coalesce(sum(row_count), 0) FROM loader_segment AS s
       WHERE s.table_id = t.table_id) AS entries FROM loader_table AS t WHERE table_id = ?`,
  ).get(table.tableId)
  if (found === undefined) return undefined // no test: the caller has just found the table
  const { stale, entries } = found
  return stale < STALE_LEAST || stale < entries * STALE_SHARE ? undefined : { after: 0, stale }
}

function cleanRun(db: Db, table: LoaderTable, run: number, packed: Uint8Array): void {
  const entries = createEntries(RUN_ROWS)
  appendPacked(entries, packed)
  const kept = rowsOf(db, table, entries)
  const order = Uint32Array.from(
    Array.from({ length: entries.count }, (_, at) => at).filter((at) => kept.has(entries.ids[at] as number)),
  )
  if (order.length === entries.count) return
  const removed = entries.count - order.length
  if (order.length === 0) statement(db, `DELETE FROM ${indexSql(table)} WHERE run_id = ?`).run(run)
  else writeRun(db, table, run, entries, order)
  const segment = `table_id = ? AND first_run <= ? AND first_run + run_count > ?`
  statement(db, `UPDATE loader_segment SET row_count = row_count - ? WHERE ${segment}`).run(
    removed,
    table.tableId,
    run,
    run,
  )
  statement(db, `DELETE FROM loader_segment WHERE ${segment} AND row_count = 0`).run(table.tableId, run, run)
}

function writeRun(db: Db, table: LoaderTable, run: number, entries: Entries, order: Uint32Array): void {
  const bounds = boundsOf(entries, order, 0, order.length)
  const part = { from: 0, to: order.length }
  const packed = packEntries(createPackBuffer(order.length), entries, order, part)
  statement(
    db,
    `UPDATE ${indexSql(table)} SET min_lng = ?, max_lng = ?, min_lat = ?, max_lat = ?, start_day = ?, end_day = ?,
       row_count = ?, entries = ? WHERE run_id = ?`,
  ).run(...bounds, BigInt(order.length), packed, run)
}

/** Returns the rows of some entries that are still there, or that a citation may see. */
function rowsOf(db: Db, table: LoaderTable, entries: Entries): Set<number> {
  const ids = JSON.stringify(Array.from(entries.ids.subarray(0, entries.count)))
  const found = (name: string) =>
    statement<number>(db, `SELECT ${ROW_ID} FROM ${name} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))`)
      .pluck()
      .all(ids)
  const rows = new Set(found(tableSql(table)))
  const sql = 'SELECT versioned_id FROM versioned_table WHERE loader_table_id = ?'
  const versionedId = statement<number>(db, sql).pluck().get(table.tableId)
  if (versionedId === undefined) return rows
  const { gone } = versionNames({ kind: 'loader', tableName: table.tableName, versionedId })
  for (const id of found(gone)) rows.add(id)
  return rows
}
