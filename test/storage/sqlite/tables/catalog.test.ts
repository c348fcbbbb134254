import { execFileSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { dropTable, findTable, listTables } from '../../../../src/storage/sqlite/tables/catalog.js'
import { findFile, usedDigests } from '../../../../src/storage/sqlite/tables/files.js'
import { ALL_COLUMNS } from '../../../support/any-record.js'
import { feature, openTables } from '../../../support/tables.js'
import { throwsWith } from '../../../support/throws.js'

t.test('catalogue: any name of the contract makes a table that works', async (t) => {
  const tables = openTables()
  const names = [
    'a',
    'A.b-c_9',
    '観測',
    'select',
    'table',
    'x'.repeat(63),
    '..',
    '-',
    '9',
    'é',
    '_rowid_',
    'x_tbl_0',
    'x_tbl_0_rtree',
    'constructor',
    '__proto__',
    'loader_table',
  ]
  for (const name of names) {
    const table = tables.register(
      name,
      [
        { name: 'rowid', udtName: 'int4' },
        { name: 'oid' },
        { name: '_rowid_' },
        { name: 'value' },
        { name: 't' },
        { name: 'select' },
        { name: 'id' },
      ],
      ['rowid'],
    )
    t.equal(table.tableName, `${name}_tbl_0`)
    await tables.put(table, [feature([139, 35], { rowid: 1, value: 'v', t: 't' })])
    await tables.put(table, [feature([140, 35], { rowid: 1, value: 'w', select: 's' })], 'override')
    const [row] = await tables.read(table, {
      conds: { '=': ['select', 's'] },
      order: 'value',
      columns: ['value'],
    })
    t.same(row?.properties, { value: 'w' }, name)
  }
  t.same(
    listTables(tables.data.reader).map(({ dataName }) => dataName),
    [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  )
})

t.test('catalogue: the same name again, also in another case, is refused and changes nothing', async (t) => {
  const tables = openTables()
  const table = tables.register('Flood', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(table, [feature(null, { k: 1 })])
  const again = throwsWith(t, () => tables.register('Flood', [{ name: 'z' }], ['z']), 'ALREADY_REGISTERED')
  t.match(again.message, /is registered/)
  const other = throwsWith(t, () => tables.register('fLOOD', [{ name: 'z' }], ['z']), 'ALREADY_REGISTERED')
  t.match(other, { message: /in the case of letters only/, data: { registered: 'Flood' } })
  tables.register('ÉTÉ', [{ name: 'k' }], ['k'])
  tables.register('été', [{ name: 'k' }], ['k'])
  t.equal((await tables.read(table)).length, 1)
  t.equal(listTables(tables.data.reader).length, 3)
})

t.test('catalogue: what is dropped leaves nothing, and its name can be used again', async (t) => {
  const tables = openTables()
  const { writer } = tables.data
  const names = () => writer.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'x%'").pluck().all()
  const first = tables.register('x', ALL_COLUMNS, ['id'])
  await tables.put(first, [feature([1, 2], { id: 1, photo: 'AAEC', photo_name: 'a', photo_path: 'p' })])
  t.same([...usedDigests(writer)].length, 1)
  t.equal(findFile(writer, first, { prefixId: 1, pathId: 'p', name: 'a' }), 'digest of 000102')
  t.equal(findFile(writer, first, { prefixId: 2, pathId: 'p', name: 'a' }), undefined)
  transaction(writer, () => dropTable(writer, first))
  t.same(names(), [])
  t.same([...usedDigests(writer)], [])
  t.equal(findTable(writer, 'x'), undefined)
  t.same(writer.prepare('SELECT * FROM loader_segment').all(), [])
  const second = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  t.not(second.tableId, first.tableId, 'no cache takes the new table for the old one')
  await tables.put(second, [feature(null, { k: 1 })])
  t.same(
    (await tables.read(second)).map(({ properties }) => properties.k),
    [1],
  )
})

t.test('catalogue: the table makes sense in the sqlite3 shell', async (t) => {
  const shell = findShell()
  if (shell === undefined) return t.comment('skipped: the sqlite3 shell is not installed')
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  const table = tables.register('観測.1', ALL_COLUMNS, ['id'])
  await tables.put(table, [
    feature([139.5, 35.5], {
      id: 7,
      start_datetime: '2025-01-02 03:04:05+09',
      a_text: 'Ueno',
      a_float8: 'NaN',
      a_date: '2025-01-02',
      a_bool: true,
      secret: 'x',
    }),
    feature(null, { id: '9223372036854775807', a_float8: 'Infinity', a_time: '03:04' }),
  ])
  tables.data.close()
  const ask = (sql: string) => execFileSync(shell, ['-readonly', file, sql], { encoding: 'utf8' }).trim()
  t.equal(
    ask(
      'SELECT id, datetime(start_datetime / 1000000, \'unixepoch\'), a_text, a_float8, a_date, a_bool FROM "観測.1_tbl_0" ORDER BY id',
    ),
    '7|2025-01-01 18:04:05|Ueno|NaN|2025-01-02|1\n9223372036854775807|||Inf||',
  )
  t.equal(
    ask('SELECT hex(location) FROM "観測.1_tbl_0" WHERE id = 7'),
    '01010000000000000000706140' + '0000000000C04140',
  )
  t.equal(
    ask(
      'SELECT row_count FROM "観測.1_tbl_0_rtree" WHERE min_lng <= 139.5 AND max_lng >= 139.5 AND min_lat <= 35.5 AND max_lat >= 35.5',
    ),
    '1',
  )
  const schema = ask("SELECT sql FROM sqlite_schema WHERE name = '観測.1_tbl_0'")
  for (const line of [
    '-- timestamptz: microseconds since 1970 UTC',
    '-- geometry: geometry as little-endian WKB',
    '-- bpchar(16): padded with spaces to its length',
    '-- varchar: encrypted with AES-256-GCM',
    'STRICT',
    'INTEGER NOT NULL',
  ])
    t.ok(schema.includes(line), line)
  t.match(
    schema,
    /^CREATE TABLE[^\n]+\n\s+"start_datetime" INTEGER, [^\n]+\n\s+"end_datetime" INTEGER, [^\n]+\n\s+"location" BLOB/,
  )
  t.equal(ask('PRAGMA integrity_check'), 'ok')
})

function findShell(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v sqlite3'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
