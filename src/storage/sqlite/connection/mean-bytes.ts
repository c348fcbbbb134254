import type { Db } from './database.js'

/** Rows whose values stand for those of a table. */
const SAMPLE_ROWS = 20

/**
 * Returns the mean length of a column's values in the first rows of a table, bytes. The head of a value has
 * its length, so that no value is read.
 *
 * @param table quoted name, with an alias that `column` uses
 * @param column its SQL
 */
export function meanBytes(db: Db, table: string, column: string): number {
  const sample = `SELECT ${column} AS value FROM ${table} LIMIT ${SAMPLE_ROWS}`
  const sql = `SELECT coalesce(avg(octet_length(value)), 0) FROM (${sample})`
  return Number(db.prepare(sql).pluck().get())
}
