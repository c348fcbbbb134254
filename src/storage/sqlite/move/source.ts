import { existsSync } from 'node:fs'
import type { CatalogRow } from '../../catalog-row.js'
import { storedBytes } from '../../columns/value-size.js'
import { KEY_FINGERPRINT } from '../../keyring.js'
import type {
  MovedBytes,
  MovedKind,
  MovedRead,
  MovedRow,
  MovedTable,
  MovedValue,
  MoveSource,
} from '../../move.js'
import { DATA_MIGRATIONS } from '../connection/data-migrations.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { openFile } from '../connection/open-file.js'
import { STATE_MIGRATIONS } from '../connection/state-migrations.js'
import { findTableById } from '../tables/catalog.js'
import { lastChange, lastRowId } from '../tables/change-numbers.js'
import { ROW_CHANGE, ROW_DAY, ROW_ID, ROW_ORIGIN, ROW_SENDER, ROW_VERSION, tableSql } from '../tables/ddl.js'
import { usedDigests } from '../tables/files.js'
import { isCounted } from '../tables/row-digests.js'
import { versionBase } from '../tables/row-versions.js'
import { listBehind } from './behind.js'
import { findFaults } from './faults.js'

/** Tables of `data.db`; all others are of `state.db`. */
const OF_DATA = new Set(['row_origin', 'feed_cursor', 'loader_retention', 'loader_removed_day'])
/** Most bytes of the rows of one page, unless a single one is larger. */
const PAGE_BYTES = 4 * 1024 * 1024

/**
 * Opens the databases of a data directory for reading, each of one state. The caller holds the lock of the directory.
 *
 * @throws Error in one line for databases that are missing, or that another version of this program has written
 */
export function openMoveSource(files: { stateDb: string; dataDb: string }): MoveSource {
  const state = openSnapshot(files.stateDb, STATE_MIGRATIONS.length)
  let data: Db
  try {
    data = openSnapshot(files.dataDb, DATA_MIGRATIONS.length)
  } catch (error) {
    state.close()
    throw error
  }
  const note = (name: string) =>
    statement<string>(state, 'SELECT value FROM meta WHERE name = ?').pluck().get(name)
  const dbOf = (table: string) => (OF_DATA.has(table) ? data : state)
  // one state is read, so what takes a scan of it is read once
  let listed: Promise<MovedTable[]> | undefined
  const tables = () => (listed ??= listTables(data))
  const bytesOf = new Map<MovedKind, MovedBytes[]>()
  return {
    nodeId: note('node_id'),
    keyFingerprint: note(KEY_FINGERPRINT),
    behind: async () => listBehind(state),
    faults: async () => findFaults(data, await tables()),
    countOf: async (table) =>
      Number(
        statement(dbOf(table), `SELECT count(*) FROM ${identifier(table)}`)
          .pluck()
          .get(),
      ),
    read: async (read) => readRows(dbOf(read.table), read),
    async lastId(table) {
      const sql = 'SELECT seq FROM sqlite_sequence WHERE name = ?'
      const isKept = statement(
        dbOf(table),
        "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'",
      ).get()
      return isKept === undefined ? 0 : (statement<number>(dbOf(table), sql).pluck().get(table) ?? 0)
    },
    facts: async () => ({
      epoch: statement<number>(data, 'SELECT max(epoch) FROM feed_epoch').pluck().get() ?? 1,
      lastSeenUs: Number(note('last_seen_us') ?? 0),
    }),
    acts: async () => readActs(state),
    tables,
    tableRows: async (table, afterId, limit) => readTableRows(data, table, afterId, limit),
    async bytes(kind) {
      const found = bytesOf.get(kind) ?? listBytes(state, data, kind)
      bytesOf.set(kind, found)
      return found
    },
    close() {
      data.close()
      state.close()
    },
  }
}

function openSnapshot(file: string, expected: number): Db {
  if (!existsSync(file)) throw new Error(`${file} is missing, expected the data directory of a gateway`)
  const db = openFile(file, { readonly: true, fileMustExist: true })
  try {
    const found = Number(db.pragma('user_version', { simple: true }))
    if (found !== expected)
      throw new Error(
        `${file} has schema version ${found}, expected ${expected}: serve it once with this version of the program, stop it, and try again`,
      )
    db.pragma('temp_store = MEMORY')
    db.exec('BEGIN')
    db.prepare('SELECT count(*) FROM sqlite_schema').get() // fixes the state that is read
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function readRows(db: Db, { table, columns, key, after, limit }: MovedRead): MovedValue[][] {
  const list = (names: readonly string[]) => names.map(identifier).join(', ')
  const where = after === undefined ? '' : `WHERE (${list(key)}) > (${after.map(() => '?').join(', ')})`
  const sql = `SELECT ${list(columns)} FROM ${identifier(table)} ${where} ORDER BY ${list(key)} LIMIT ?`
  const found = statement(db, sql).safeIntegers().raw()
  return found.all(...(after ?? []), limit) as MovedValue[][]
}

function readActs(state: Db): { name: string; atUs: number; event: string }[] {
  const sql = "SELECT name, value FROM meta WHERE name >= 'audit:' AND name < 'audit;' ORDER BY name"
  const found = statement<{ name: string; value: string }>(state, sql).all()
  return found.map(({ name, value }) => ({ name, atUs: Number(name.split(':')[1]), event: value }))
}

async function listTables(data: Db): Promise<MovedTable[]> {
  const sql = `SELECT table_id, data_name, table_name, schema, columns, unique_columns, table_uuid AS uuid,
    created_at_us AS createdAtUs, data_version AS dataVersion FROM loader_table ORDER BY table_id`
  type Found = CatalogRow & { uuid: string; createdAtUs: number; dataVersion: number }
  return statement<Found>(data, sql)
    .all()
    .map(({ uuid, createdAtUs, dataVersion, ...definition }) => {
      const table = requireTable(data, definition.table_id)
      return {
        ...{ definition, uuid, createdAtUs, dataVersion },
        versionsFromUs: versionBase(data, table),
        lastRow: lastRowId(data, table),
        lastChange: lastChange(data, table),
        isCounted: isCounted(data, table),
        rows: Number(
          statement(data, `SELECT count(*) FROM ${tableSql(table)}`)
            .pluck()
            .get(),
        ),
      }
    })
}

function requireTable(data: Db, tableId: number) {
  const table = findTableById(data, tableId)
  if (table === undefined) throw new Error(`found no table ${tableId}, which was just listed`)
  return table
}

type FoundRow = [
  ...[rowId: bigint, originId: bigint, change: bigint, day: bigint],
  ...[version: bigint | null, senderId: bigint | null],
  ...values: MovedRow['values'],
]

function readTableRows(data: Db, { definition }: MovedTable, afterId: number, limit: number): MovedRow[] {
  const table = requireTable(data, definition.table_id)
  const names = table.columns.map(({ name }) => identifier(name)).join(', ')
  const sql = `SELECT ${ROW_ID}, ${ROW_ORIGIN}, coalesce(${ROW_CHANGE}, ${ROW_ID}), ${ROW_DAY}, ${ROW_VERSION},
    ${ROW_SENDER}, ${names} FROM ${tableSql(table)} WHERE ${ROW_ID} > ? ORDER BY ${ROW_ID} LIMIT ?`
  const found = statement(data, sql).raw().safeIntegers().iterate(afterId, limit)
  const rows: MovedRow[] = []
  let bytes = 0
  for (const row of found as IterableIterator<FoundRow>) {
    const [rowId, originId, change, day, version, senderId, ...values] = row
    rows.push({
      rowId: Number(rowId),
      originId: Number(originId),
      change: Number(change),
      day: Number(day),
      version: version === null ? null : Number(version),
      senderId: senderId === null ? null : Number(senderId),
      values,
    })
    for (const value of values) bytes += storedBytes(value)
    if (bytes > PAGE_BYTES) break
  }
  return rows
}

function listBytes(state: Db, data: Db, kind: MovedKind): MovedBytes[] {
  if (kind === 'files')
    return [...new Set(usedDigests(data))]
      .sort()
      .map((sha256) => ({ sha256, sizeBytes: undefined, mayLack: false }))
  const sql =
    kind === 'fleet'
      ? 'SELECT sha256, size_bytes AS sizeBytes, 0 AS mayLack FROM fleet_file ORDER BY sha256'
      : `SELECT sha256, max(size_bytes) AS sizeBytes, min(damaged_at_us IS NOT NULL) AS mayLack
          FROM model GROUP BY sha256 ORDER BY sha256`
  return statement<{ sha256: string; sizeBytes: number; mayLack: number }>(state, sql)
    .all()
    .map((row) => ({ ...row, mayLack: row.mayLack === 1 }))
}
