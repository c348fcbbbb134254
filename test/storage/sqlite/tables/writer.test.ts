import t from 'tap'
import type { Bbox } from '../../../../src/geo/types.js'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { changeTimes } from '../../../../src/storage/sqlite/tables/changes.js'
import { MAX_SEGMENT_ROWS } from '../../../../src/storage/sqlite/tables/segment-index.js'
import { createRowWriter } from '../../../../src/storage/sqlite/tables/writer.js'
import type { Column, IfExists } from '../../../../src/storage/tables.js'
import { openTables } from '../../../support/tables.js'
import { throwsWith } from '../../../support/throws.js'

interface Row {
  k: number
  v?: string
  box?: Bbox
  startUs?: bigint
  endUs?: bigint
}

/** A table of one key and one value, and what is stored of it. */
function setUp(columns: Partial<Column>[] = [{ name: 'k', udtName: 'int4' }, { name: 'v' }], unique = ['k']) {
  const tables = openTables()
  const db = tables.data.writer
  const table = tables.register('x', columns, unique)
  const write = (ifExists: IfExists, rows: Iterable<Row>) =>
    transaction(db, () => {
      const writer = createRowWriter(db, table, { ifExists }, { timeZoneMin: 0, nowUs: 0n })
      for (const { box, startUs = null, endUs = null, ...given } of rows) {
        const known: Record<string, unknown> = { ...given, start_datetime: startUs, end_datetime: endUs }
        const values = table.columns.map(({ name }) => (known[name] ?? null) as bigint | string | null)
        writer.put({ values, box, startUs, endUs, files: [] })
      }
      return { ...writer.counters, isMergeDue: writer.finish(MAX_SEGMENT_ROWS) }
    })
  const one = (sql: string) => db.prepare(sql).pluck().get()
  return {
    tables,
    table,
    write,
    entries: () => one('SELECT total(row_count) FROM loader_segment'),
    segments: () => db.prepare('SELECT row_count FROM loader_segment ORDER BY first_run').pluck().all(),
    moved: () => one('SELECT moved_rows FROM loader_table'),
    values: () => db.prepare('SELECT k, v FROM x_tbl_0 ORDER BY k').raw().all(),
    version: () => tables.reader.dataVersion(table),
  }
}

t.test('writer: counts what became of each row, by the answer to an existing key', async (t) => {
  const { write, values } = setUp()
  const counts = { upload: 0, duplicate: 0, insert: 0, update: 0, isMergeDue: false }
  const rows = (...pairs: [number, string][]) => pairs.map(([k, v]) => ({ k, v }))
  t.same(write('error', rows([1, 'a'], [2, 'b'])), { ...counts, upload: 2, insert: 2 })
  t.same(write('skip', rows([1, 'c'], [3, 'd'])), { ...counts, upload: 2, duplicate: 1, insert: 1 })
  t.same(write('override', rows([2, 'e'], [4, 'f'])), {
    ...counts,
    upload: 2,
    duplicate: 1,
    insert: 1,
    update: 1,
  })
  t.same(values(), [
    [1, 'a'],
    [2, 'e'],
    [3, 'd'],
    [4, 'f'],
  ])
})

t.test(
  'writer: a call that changes no row changes neither version nor index, and no merge is due',
  async (t) => {
    const { write, entries, version } = setUp()
    write('error', [{ k: 1 }])
    t.same([await version(), entries()], [1, 1])
    t.equal(write('skip', [{ k: 1, box: [1, 1, 1, 1], startUs: 5n }]).isMergeDue, false)
    t.equal(write('override', []).isMergeDue, false)
    t.same([await version(), entries()], [1, 1])
  },
)

t.test(
  'writer: a row that is replaced at its place keeps its entry; a moved one gets a second',
  async (t) => {
    const { write, entries, moved } = setUp()
    write('error', [{ k: 1, startUs: 0n, endUs: 86_400_000_000n }])
    t.same([entries(), moved()], [1, 0])
    write('override', [{ k: 1, v: 'new', startUs: 0n, endUs: 86_400_000_000n }])
    t.same([entries(), moved()], [1, 0], 'the same place and span')
    write('override', [{ k: 1, box: [1, 2, 3, 4], startUs: 0n, endUs: 86_400_000_000n }])
    t.same([entries(), moved()], [2, 1], 'another box')
    write('override', [{ k: 1, startUs: 0n, endUs: 2n * 86_400_000_000n }])
    t.same([entries(), moved()], [3, 2], 'another span')
  },
)

t.test('writer: instants of all rows are logged, also of those that were replaced later', async (t) => {
  const { tables, table, write } = setUp()
  write('override', [
    { k: 1, startUs: 10n, endUs: 20n },
    { k: 2, startUs: 30n },
  ])
  write('override', [{ k: 1, endUs: 40n }])
  write('skip', [{ k: 1, startUs: 50n, endUs: 60n }])
  t.same(changeTimes(tables.data.reader, table), [10n, 20n, 30n, 40n], 'a skipped row has none')
})

t.test('writer: RECORD_EXISTS has the number of the row and its key', async (t) => {
  const { write } = setUp(
    [{ name: 'k', udtName: 'int4' }, { name: 'v' }, { name: 'raw', udtName: 'bytea' }],
    ['v', 'raw', 'k'],
  )
  const raw = new Uint8Array(3)
  const rows = [
    { k: 1, v: 'a', raw },
    { k: 2, v: 'a', raw },
    { k: 1, v: 'a', raw },
  ]
  const { data, message } = throwsWith(t, () => write('error', rows), 'RECORD_EXISTS')
  t.same(data, { index: 2, unique_columns: ['v', 'raw', 'k'] })
  t.equal(message, 'a record with v "a", raw (3 bytes), k 1 already exists')
})

t.test('writer: more rows than a segment holds become several segments', async (t) => {
  const { write, segments } = setUp([{ name: 'k', udtName: 'int4' }])
  const rows = function* (count: number) {
    for (let k = 0; k < count; k++) yield { k }
  }
  write('error', rows(MAX_SEGMENT_ROWS + 1))
  t.same(segments(), [MAX_SEGMENT_ROWS, 1])
})

t.test(
  'row writer: overrides and new rows alternate; a key is stored as the last row shows it',
  async (t) => {
    const set = setUp([{ name: 'k', udtName: 'bpchar' }, { name: 'v' }], ['k'])
    const { write, tables, table } = set
    const rows = (...pairs: [string, string][]) => pairs.map(([k, v]) => ({ k, v })) as unknown as Row[]
    write('error', rows(['1', 'a'], ['2', 'b']))
    const given = rows(['1', 'c'], ['3', 'd'], ['2 ', 'e'], ['2 ', 'f'], ['4', 'g'], ['4', 'h'], ['5', 'i'])
    t.match(write('override', given), { upload: 7, duplicate: 4, insert: 3, update: 4 })
    const stored = await tables.read(table)
    t.same(stored.map(({ properties: { k, v } }) => [String(k), v]).toSorted(), [
      ['1', 'c'],
      ['2 ', 'f'],
      ['3', 'd'],
      ['4', 'h'],
      ['5', 'i'],
    ])
    const changes = tables.data.reader
      .prepare(`SELECT coalesce("row change", "row id") AS n FROM "x_tbl_0"`)
      .pluck()
      .all()
    t.equal(new Set(changes).size, 5, 'a number of its own for each row')
  },
)
