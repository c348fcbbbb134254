import { hash } from 'node:crypto'
import type { Stored } from '../../columns/column-type.js'
import { addDigest, createRowDigest, type DigestSum, noRows, sumHex } from '../../exchange/row-digest.js'
import type { MovedRow, MovedTable, MoveSource } from '../../move.js'
import { toTable } from '../../records/catalog-row.js'
import { placeOf } from '../../records/place.js'
import { END, LOCATION, START } from '../../records/record-plan.js'
import type { LoaderTable } from '../../tables.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { CHANGE_SQL, columnName, createRowsSql, rowsName, sqlTypeOf } from '../tables/ddl.js'
import { sumNumber } from '../tables/digest-sums.js'
import type { PlannedRow } from '../tables/plan-rows.js'
import { writeNumbered } from '../tables/row-writer.js'
import { readValues } from '../tables/stored-values.js'
import { lockTable } from '../tables/table-state.js'

/** Rows of one transaction. */
const BATCH_ROWS = 2000

/**
 * Copies a loader table with its ids and numbers: feeds and cursors go on. What an earlier call has copied stays.
 *
 * @param throwIfStopped called between transactions
 */
export async function moveTable(
  db: PostgresDb,
  source: MoveSource,
  moved: MovedTable,
  { onRows, throwIfStopped }: { onRows: (count: number) => void; throwIfStopped: () => void },
): Promise<void> {
  const table = toTable(moved.definition)
  await db.write((rows) => register(rows, moved, table))
  const known = await db.read.get<{ last: number }>(
    `SELECT last_row AS last FROM loader_state WHERE table_id = $1`,
    table.tableId,
  )
  for (let after = known?.last ?? 0; ; ) {
    throwIfStopped()
    const found = await source.tableRows(moved, after, BATCH_ROWS)
    const last = found.at(-1)
    if (last === undefined) break
    await db.write((rows) => addRows(rows, table, found))
    after = last.rowId
    onRows(found.length)
  }
  const finish = `UPDATE loader_state SET last_row = $2::bigint, last_change = $3::bigint, data_version = $4::bigint,
    counted = CASE WHEN counted IS NULL THEN NULL ELSE $3::bigint END, gone = $5::bigint WHERE table_id = $1`
  const { lastRow, lastChange, dataVersion } = moved
  const gone = lastRow - moved.rows
  await db.write((rows) => rows.run(finish, table.tableId, lastRow, lastChange, dataVersion, gone))
}

/** Makes a table as it is there, with the same id. */
async function register(rows: Rows, moved: MovedTable, table: LoaderTable): Promise<void> {
  const { definition, uuid, createdAtUs, versionsFromUs, dataVersion, isCounted } = moved
  const made = await rows.run(
    `INSERT INTO loader_table (table_id, table_uuid, data_name, table_name, schema, columns, unique_columns,
       created_at_us, versions_from_us) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (table_id) DO NOTHING`,
    ...[table.tableId, uuid, table.dataName, table.tableName, table.schema],
    ...[definition.columns, definition.unique_columns, createdAtUs, versionsFromUs],
  )
  if (made === 0) return
  await rows.run(
    'INSERT INTO loader_state (table_id, column_count, data_version, counted) VALUES ($1, $2, $3, $4)',
    ...[table.tableId, table.columns.length, dataVersion, isCounted ? 0 : null],
  )
  for (const sql of createRowsSql(table)) await rows.lists(sql, [], 'once')
}

async function addRows(rows: Rows, table: LoaderTable, found: readonly MovedRow[]): Promise<void> {
  const locked = await lockTable(rows, table)
  const fresh = found.filter(({ rowId }) => rowId > locked.lastRow) // a repeat finds its rows
  if (fresh.length === 0) return
  const planned = fresh.map(toPlanned)
  const to = {
    lastRow: fresh.at(-1)?.rowId ?? locked.lastRow,
    lastChange: fresh.reduce((most, { change }) => Math.max(most, change), locked.lastChange),
  }
  // all rows that are there are in the sums, whatever the order of their changes
  const state = { ...locked, counted: locked.counted === null ? null : locked.lastChange }
  await writeNumbered(
    rows,
    { table, state, originId: 0, senderId: null, onDuplicate: 'error' },
    { planned, to },
  )
}

function toPlanned(
  { rowId, originId, change, day, version, senderId, values }: MovedRow,
  index: number,
): PlannedRow {
  const [box] = placeOf({
    location: values[LOCATION] as Uint8Array | null,
    start_datetime: values[START] as bigint | null,
    end_datetime: values[END] as bigint | null,
  })
  return {
    index,
    row: { values, box, day, version, from: { originId, senderId } },
    rowId,
    change,
    old: undefined,
  }
}

/** Compares the rows of a table of both sides, and the sums of their days. @returns what differs */
export async function compareTable(
  { read }: Pick<PostgresDb, 'read'>,
  source: MoveSource,
  moved: MovedTable,
  onRows: (count: number) => void,
): Promise<string[]> {
  const table = toTable(moved.definition)
  const before = createSums(table)
  for (let after = 0; ; ) {
    const found = await source.tableRows(moved, after, BATCH_ROWS)
    const last = found.at(-1)
    if (last === undefined) break
    for (const row of found) before.add(row)
    after = last.rowId
    onRows(found.length)
  }
  const now = createSums(table)
  const isThere = await read.get('SELECT 1 FROM loader_table WHERE table_uuid = $1', moved.uuid)
  if (isThere !== undefined) await addStored(read, table, now)
  const faults = now.text() === before.text() ? [] : [`found ${now.text()}, expected ${before.text()}`]
  const days = moved.isCounted ? await daysText(read, table) : before.days()
  if (days !== before.days()) faults.push('the sums of its days are others than those of its rows')
  return faults.map((fault) => `${table.dataName}: ${fault}`)
}

/** Values of a row before those of its columns. */
const HEAD = 6

async function addStored(read: Rows, table: LoaderTable, sums: Sums): Promise<void> {
  const types = table.columns.map(sqlTypeOf)
  const columns = [...table.columns.keys()].map((slot) => `t.${columnName(slot)}`)
  const sql = `SELECT t.row_id, t.origin, ${CHANGE_SQL}, t.day, t.version, t.sender, ${columns.join(', ')}
    FROM ${rowsName(table)} AS t WHERE t.row_id > $1::bigint ORDER BY t.row_id LIMIT ${BATCH_ROWS}`
  for (let after = 0; ; ) {
    const found = await read.lists(sql, [after], 'kept')
    for (const row of found) {
      const [rowId, originId, change, day, version, senderId] = row
      sums.add({
        ...{ rowId: Number(rowId), originId: Number(originId), change: Number(change), day: Number(day) },
        version: version == null ? null : Number(version),
        senderId: senderId == null ? null : Number(senderId),
        values: readValues(types, row, HEAD),
      })
    }
    const last = found.at(-1)?.[0]
    if (last == null || found.length < BATCH_ROWS) return
    after = Number(last)
  }
}

interface Sums {
  add(row: MovedRow): void
  /** number of rows, and the digest of them with their ids and numbers */
  text(): string
  /** sums by origin and day */
  days(): string
}

function createSums(table: LoaderTable): Sums {
  const digest = createRowDigest(table.columns)
  const whole = noRows()
  const days = new Map<string, DigestSum>()
  return {
    add({ rowId, originId, change, day, version, senderId, values }) {
      const ofRow = digest(values as readonly Stored[])
      const head = [rowId, originId, change, day, version, senderId].join(' ')
      addDigest(whole, hash('sha256', `${head} ${Buffer.from(ofRow, 'binary').toString('hex')}`, 'binary'))
      const name = `${originId} ${day}`
      const sum = days.get(name) ?? noRows()
      days.set(name, sum)
      addDigest(sum, ofRow)
    },
    text: () => `${whole.rows} rows with the digest ${sumHex(whole)}`,
    days: () =>
      [...days]
        .map(([name, sum]) => `${name} ${sum.rows} ${sumNumber(sum)}`)
        .sort()
        .join('\n'),
  }
}

async function daysText(read: Rows, { tableId }: LoaderTable): Promise<string> {
  const sql = `SELECT origin_id || ' ' || day || ' ' || rows || ' ' || sum AS line
    FROM loader_digest_day WHERE table_id = $1 AND rows <> 0`
  const found = await read.all<{ line: string }>(sql, tableId)
  return found
    .map(({ line }) => line)
    .sort()
    .join('\n')
}
