import type { LoaderTable } from '../../tables.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import type { Catalog } from '../tables/catalog.js'
import { AGE_SQL, rowsName } from '../tables/ddl.js'

/*
 * A table with a rule has an index of ages, and the ids that no row has are counted once. Both read all of its rows. A small table
 * gets them with its rule; a large one afterwards, by the process that has the task, while rows are written. Nothing goes before.
 */

/** Largest id up to which a table is small: 0.1 s, during which its writers wait. */
const SMALL_ROWS = 100_000
/** Time for one of the statements that read all rows of a table, ms: an hour for a billion rows and more. */
const WHOLE_TABLE_MS = 4 * 3_600_000

const indexName = (table: Pick<LoaderTable, 'tableId'>) => `${rowsName(table)}_age`
const indexSql = (table: Pick<LoaderTable, 'tableId'>) =>
  `${indexName(table)} ON ${rowsName(table)} ((${AGE_SQL}), row_id)`

/** SQL of the validity of a table's index of ages; null for a table without one. */
export const isOrderedSql = (table: Pick<LoaderTable, 'tableId'>): string =>
  `(SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('${indexName(table)}'))`

/** Prepares a small table for its rule, in a transaction that holds its lock. @param lastRow largest id that was given */
export async function prepareSmall(rows: Rows, table: LoaderTable, lastRow: number): Promise<void> {
  if (lastRow > SMALL_ROWS) return
  await rows.lists(`CREATE INDEX IF NOT EXISTS ${indexSql(table)}`, [], 'once')
  const count = `UPDATE loader_state SET gone = last_row - (SELECT count(*) FROM ${rowsName(table)})
    WHERE table_id = $1 AND gone IS NULL`
  await rows.run(count, table.tableId)
}

/**
 * Prepares the tables that have a rule and are not prepared, beside their writers, and takes the index from those that have no
 * rule any more. Cost: some seconds for a million rows.
 *
 * @param signal ends it, also in the middle of a statement: the next call drops what is half built
 */
export async function prepareTables(db: PostgresDb, catalog: Catalog, signal?: AbortSignal): Promise<void> {
  // before the rules: the index of a rule that comes meanwhile is not one without a rule
  const indexed = await indexedTables(db)
  const ruled = await db.read.all<{ id: number }>(
    'SELECT table_id AS id FROM loader_retention ORDER BY table_id',
  )
  const wanted = new Set(ruled.map(({ id }) => id))
  for (const tableId of indexed) if (!wanted.has(tableId)) await dropIndex(db, { tableId }, signal)
  for (const tableId of wanted) {
    signal?.throwIfAborted()
    const table = await catalog.findById(db.read, tableId)
    if (table !== undefined) await prepareOne(db, table, signal)
  }
}

/** Returns the ids of the tables that have an index of ages, also one whose building was cut off. */
async function indexedTables(db: PostgresDb): Promise<number[]> {
  const found = await db.read.all<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'i' AND relname ~ '^rows_[0-9]+_age$'`,
  )
  return found.map(({ name }) => Number(name.split('_')[1]))
}

async function dropIndex(
  db: PostgresDb,
  table: Pick<LoaderTable, 'tableId'>,
  signal?: AbortSignal,
): Promise<void> {
  await db.alone(`DROP INDEX CONCURRENTLY IF EXISTS ${indexName(table)}`, WHOLE_TABLE_MS, signal)
}

async function prepareOne(db: PostgresDb, table: LoaderTable, signal?: AbortSignal): Promise<void> {
  const found = await db.read.get<{ isOrdered: boolean | null; gone: number | null }>(
    `SELECT ${isOrderedSql(table)} AS "isOrdered", gone FROM loader_state WHERE table_id = $1`,
    table.tableId,
  )
  if (found === undefined) return // no test: it was dropped meanwhile
  if (found.isOrdered === false) await dropIndex(db, table, signal)
  if (found.isOrdered !== true)
    await db.alone(`CREATE INDEX CONCURRENTLY ${indexSql(table)}`, WHOLE_TABLE_MS, signal)
  if (found.gone === null) await countGone(db, table, signal)
}

/** Counts the ids without a row, as of one state: none goes while they are not counted. */
async function countGone(db: PostgresDb, table: LoaderTable, signal?: AbortSignal): Promise<void> {
  const sql = `SELECT last_row - (SELECT count(*) FROM ${rowsName(table)}) AS gone FROM loader_state
    WHERE table_id = ${table.tableId}`
  const [row] = await db.alone<{ gone: number }>(sql, WHOLE_TABLE_MS, signal)
  const keep = 'UPDATE loader_state SET gone = $2 WHERE table_id = $1 AND gone IS NULL'
  if (row !== undefined) await db.write((rows) => rows.run(keep, table.tableId, row.gone))
}
