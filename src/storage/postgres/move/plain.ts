import { hash, randomUUID } from 'node:crypto'
import { addDigest, type DigestSum, noRows, sumHex } from '../../exchange/row-digest.js'
import type { MovedValue, MoveSource } from '../../move.js'
import { storedText } from '../connection/any-text.js'
import type { PostgresDb, Rows, TextRow, Value } from '../connection/database.js'
import type { PlainRow, PlainTable } from './plain-tables.js'
import { noteProgress, progressOf } from './progress.js'

/** Rows of one transaction. */
const BATCH_ROWS = 500

/** Copies a table, batch by batch; what an earlier call has copied is left as it is. */
export async function movePlain(
  db: PostgresDb,
  source: MoveSource,
  table: PlainTable,
  onRows: (count: number) => void,
): Promise<void> {
  const { name, columns, key, identity } = table
  const sql = insertSql(table, await typesOf(db.read, name))
  for (;;) {
    const after = await progressOf(db.read, name)
    const found = await source.read({ table: name, columns, key, after, limit: BATCH_ROWS })
    const last = found.at(-1)
    if (last === undefined) break
    const rows = found.map((row) => toRow(table, row))
    const lists = rows.map((row) => valuesOf(table, row))
    await db.write(async (written) => {
      await written.run(sql, ...(lists[0] ?? []).map((_, at) => lists.map((list) => list[at] ?? null)))
      await noteProgress(
        written,
        name,
        key.map((column) => last[columns.indexOf(column)] ?? null),
      )
    })
    onRows(found.length)
  }
  if (identity === undefined) return
  const lastId = Math.max(await source.lastId(name), 0)
  await db.write((rows) => keepNumbers(rows, { name, identity }, lastId))
}

/** Makes the database give no number again that was given before. */
export async function keepNumbers(
  rows: Rows,
  { name, identity }: { name: string; identity: string },
  lastId: number,
): Promise<void> {
  await rows.once(
    `SELECT setval(pg_get_serial_sequence('${name}', '${identity}'), greatest(found, 1), found > 0)
      FROM (SELECT greatest($1::bigint, (SELECT max(${identity}) FROM ${name})) AS found) AS numbers`,
    lastId,
  )
}

/** Compares a table of both sides. @returns what differs */
export async function comparePlain(
  { read }: Pick<PostgresDb, 'read'>,
  source: MoveSource,
  table: PlainTable,
): Promise<string[]> {
  const { name, columns, key } = table
  const types = await typesOf(read, name)
  const before = noRows()
  for (let after: MovedValue[] | undefined; ; ) {
    const found = await source.read({ table: name, columns, key, after, limit: BATCH_ROWS })
    const last = found.at(-1)
    if (last === undefined) break
    for (const row of found) {
      const changed = toRow(table, row)
      addText(
        before,
        columns.map((column) => plainText(types.get(column), changed[column] ?? null)),
      )
    }
    after = key.map((column) => last[columns.indexOf(column)] ?? null)
  }
  const now = noRows()
  const quoted = (names: readonly string[]) => names.map((column) => `"${column}"`).join(', ')
  const past = key.map((column, at) => `$${at + 1}::${types.get(column)}`).join(', ')
  for (let after: (string | null)[] | undefined; ; ) {
    const where = after === undefined ? '' : `WHERE (${quoted(key)}) > (${past})`
    const sql = `SELECT ${quoted(columns)} FROM ${name} ${where} ORDER BY ${quoted(key)} LIMIT ${BATCH_ROWS}`
    const found = await read.lists(sql, after ?? [], 'once')
    for (const row of found) addText(now, storedTexts(columns, types, row))
    const last = found.at(-1)
    if (last === undefined || found.length < BATCH_ROWS) break
    after = key.map((column) => last[columns.indexOf(column)] ?? null)
  }
  return sumHex(before) === sumHex(now)
    ? []
    : [
        `${name}: found ${now.rows} rows with the digest ${sumHex(now)}, expected ${before.rows} with ${sumHex(before)}`,
      ]
}

function insertSql({ name, columns, added = {} }: PlainTable, types: ReadonlyMap<string, string>): string {
  const all = [...columns, ...Object.keys(added)]
  const params = all.map((column, at) => `$${at + 1}::${types.get(column)}[]`)
  return `INSERT INTO ${name} (${all.map((column) => `"${column}"`).join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT * FROM unnest(${params.join(', ')}) ON CONFLICT DO NOTHING`
}

/** Types of the columns of a table. */
async function typesOf(rows: Rows, table: string): Promise<ReadonlyMap<string, string>> {
  const found = await rows.all<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
      WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    table,
  )
  return new Map(found.map(({ name, type }) => [name, type]))
}

/** Returns a row with the values that the hub stores. */
function toRow({ columns, anyText = [], changed = {} }: PlainTable, values: readonly MovedValue[]): PlainRow {
  return Object.fromEntries(
    columns.map((column, at) => {
      const value = changed[column]?.(values[at] ?? null) ?? values[at] ?? null
      return [column, typeof value === 'string' && anyText.includes(column) ? storedText(value) : value]
    }),
  )
}

function valuesOf({ columns, added = {} }: PlainTable, row: PlainRow): Value[] {
  const known = columns.map((column) => row[column] ?? null)
  return [...known, ...Object.values(added).map((make) => make(row, randomUUID))]
}

/** Text of a value, as that of the other side. */
function plainText(type: string | undefined, value: MovedValue): string | null {
  if (value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (type === 'boolean') return Number(value) === 0 ? 'f' : 't'
  return type === 'double precision' ? String(Number(value)) : String(value)
}

function storedTexts(
  columns: readonly string[],
  types: ReadonlyMap<string, string>,
  row: TextRow,
): (string | null)[] {
  return columns.map((column, at) => {
    const value = row[at] ?? null
    if (value === null) return null
    if (types.get(column) === 'bytea') return value.slice(2)
    return types.get(column) === 'double precision' ? String(Number(value)) : value
  })
}

function addText(sum: DigestSum, texts: readonly (string | null)[]): void {
  addDigest(sum, digestOf(JSON.stringify(texts)))
}

function digestOf(text: string): string {
  return hash('sha256', text, 'binary')
}
