import { randomUUID } from 'node:crypto'
import type { CatalogRow } from '../../catalog-row.js'
import { alreadyRegistered, tableNameOf, toTable } from '../../records/catalog-row.js'
import { droppedMeanwhile } from '../../records/read-records.js'
import type { LoaderTable, TableDefinition, TableRef } from '../../tables.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { createRowsSql, rowsName } from './ddl.js'

const COLUMNS = 'table_id, data_name, table_name, schema, columns, unique_columns'
const SELECT = `SELECT ${COLUMNS} FROM loader_table`
/** A name of a table comes before a shown one, which may be another table's `data_name`. */
const FIND = `SELECT ${COLUMNS} FROM (
    SELECT 1 AS place, * FROM loader_table WHERE data_name = $1
    UNION ALL SELECT 2, * FROM loader_table WHERE lower(table_name) = lower($1 COLLATE "C") AND table_name = $1
    UNION ALL SELECT 3, * FROM loader_table WHERE schema || '.' || table_name = $1
  ) AS found ORDER BY place LIMIT 1`

/** Parsed definitions by table id, which is never given again. One holds while its columns are the same. */
export interface Catalog {
  /** Finds by `data_name`, `table_name` or `schema.table_name`, each also with the prefix `ddc:`. */
  find(rows: Rows, name: string): Promise<LoaderTable | undefined>
  findById(rows: Rows, tableId: number): Promise<LoaderTable | undefined>
  /** Returns every table, ordered by `data_name`. */
  list(rows: Rows): Promise<LoaderTable[]>
  /**
   * Returns a definition: one that was read a moment ago, as by a call that found the table by its name, else as it
   * is now.
   */
  recent(rows: Rows, table: TableRef): Promise<LoaderTable | undefined>
  /** The same for an id. */
  recentById(rows: Rows, tableId: number): Promise<LoaderTable | undefined>
  /** Returns a definition that was read before, maybe with fewer columns than the table has by now. */
  known(table: TableRef): LoaderTable | undefined
  forget(table: TableRef): void
}

/** Age up to which a definition counts as recent, ms. */
const RECENT_MS = 1000

/** Creates the catalogue of one process. @param nowMs clock */
export function createCatalog(nowMs = () => performance.now()): Catalog {
  const cache = new Map<number, { columns: string; table: LoaderTable; readAtMs: number }>()
  const cached = (row: CatalogRow): LoaderTable => {
    const known = cache.get(row.table_id)
    const table = known?.columns === row.columns ? known.table : toTable(row)
    cache.set(row.table_id, { columns: row.columns, table, readAtMs: nowMs() })
    return table
  }
  const findById = async (rows: Rows, tableId: number) => {
    const row = await rows.get<CatalogRow>(`${SELECT} WHERE table_id = $1`, tableId)
    return row === undefined ? undefined : cached(row)
  }
  const recentById = async (rows: Rows, tableId: number) => {
    const known = cache.get(tableId)
    const isRecent = known !== undefined && nowMs() - known.readAtMs < RECENT_MS
    return isRecent ? known.table : await findById(rows, tableId)
  }
  const isNamed = (table: LoaderTable | undefined, { dataName }: TableRef) =>
    table?.dataName === dataName ? table : undefined
  return {
    async find(rows, name) {
      const plain = name.startsWith('ddc:') ? name.slice('ddc:'.length) : name
      if (plain.includes('\0')) return undefined // no text of PostgreSQL has it
      const row = await rows.get<CatalogRow>(FIND, plain)
      return row === undefined ? undefined : cached(row)
    },
    findById,
    recent: async (rows, ref) => isNamed(await recentById(rows, ref.tableId), ref),
    recentById,
    list: async (rows) => (await rows.all<CatalogRow>(`${SELECT} ORDER BY data_name`)).map(cached),
    known: (ref) => isNamed(cache.get(ref.tableId)?.table, ref),
    forget: ({ tableId }) => void cache.delete(tableId),
  }
}

/**
 * Creates a table.
 *
 * @param nowUs µs UTC
 * @throws AppError ALREADY_REGISTERED, also for a name that differs in the case of ASCII letters only
 */
export async function registerTable(
  db: PostgresDb,
  { dataName, schema, columns, uniqueColumns }: TableDefinition,
  nowUs: number,
): Promise<LoaderTable> {
  const tableName = tableNameOf(dataName)
  const tableUuid = randomUUID()
  const texts = { columns: JSON.stringify(columns), unique_columns: JSON.stringify(uniqueColumns) }
  return await db.write(async (rows, { isRepeat }) => {
    const made = isRepeat
      ? await rows.get<CatalogRow>(`${SELECT} WHERE table_uuid = $1`, tableUuid)
      : undefined
    if (made !== undefined) return toTable(made)
    const [row] = await rows.all<{ table_id: number }>(
      `INSERT INTO loader_table (table_uuid, data_name, table_name, schema, columns, unique_columns, created_at_us,
         versions_from_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING RETURNING table_id`,
      ...[tableUuid, dataName, tableName, schema, texts.columns, texts.unique_columns, nowUs],
    )
    if (row === undefined) {
      const taken = 'SELECT data_name FROM loader_table WHERE lower(table_name) = lower($1 COLLATE "C")'
      throw alreadyRegistered(dataName, writtenRow(await rows.get<CatalogRow>(taken, tableName)).data_name)
    }
    const table = toTable({
      ...{ table_id: row.table_id, data_name: dataName, table_name: tableName, schema },
      ...texts,
    })
    const state = 'INSERT INTO loader_state (table_id, column_count, gone) VALUES ($1, $2, 0)'
    await rows.run(state, table.tableId, table.columns.length)
    for (const sql of createRowsSql(table)) await rows.lists(sql, [], 'once')
    return table
  })
}

/**
 * Removes a table and its rows. The bytes of its files remain until the next sweep.
 *
 * @throws AppError UNKNOWN_TABLE
 */
export async function dropTable(db: PostgresDb, { tableId, dataName }: TableRef): Promise<void> {
  await db.write(async (rows, { isRepeat }) => {
    // after the writers of the table
    const locked = await rows.get('SELECT 1 FROM loader_state WHERE table_id = $1 FOR UPDATE', tableId)
    if (locked === undefined) {
      if (isRepeat) return
      throw droppedMeanwhile(dataName)
    }
    await rows.run('DELETE FROM loader_change WHERE table_id = $1', tableId)
    await rows.run('DELETE FROM loader_table WHERE table_id = $1', tableId)
    await rows.lists(`DROP TABLE ${rowsName({ tableId })}`, [], 'once')
  })
}

/**
 * Returns a number that grows with every call that changes rows of the table; undefined when the table does not
 * exist.
 */
export async function dataVersionOf(rows: Rows, { tableId }: TableRef): Promise<number | undefined> {
  const sql = 'SELECT data_version AS version FROM loader_state WHERE table_id = $1'
  return (await rows.get<{ version: number }>(sql, tableId))?.version
}
