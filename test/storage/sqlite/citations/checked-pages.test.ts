import path from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Datasets } from '../../../../src/datasets/datasets.js'
import type { DataDb } from '../../../../src/storage/sqlite/connection/data-db.js'
import { openDatasetStores } from '../../../../src/storage/sqlite/dataset-stores.js'
import { ROW_ID } from '../../../../src/storage/sqlite/tables/ddl.js'
import { createPause } from '../../../../src/storage/work/pause.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
} from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'

type Query = Parameters<Datasets['read']>[1]

const ROWS = 300

/** A citation of 300 rows whose page digests are computed; the rows 101 to 190 were changed and deleted since. */
async function cited(t: Test, file = ':memory:'): Promise<OpenedDatasets> {
  const opened = openDatasets(file)
  t.teardown(() => opened.close())
  const { store } = opened
  const text = (n: number) => `text ${n % 7}`
  await store.create(definition('d', columns('k integer', 'name text', 'v double precision?'), ['k']))
  const rows = Array.from({ length: ROWS }, (_, n) => [n + 1, text(n), n % 5 === 0 ? null : n / 3])
  await store.put('d', rows, 'error')
  await store.cite('c', 'd')
  await store.settled()
  await store.put(
    'd',
    rows.slice(100, 150).map(([k]) => [k, 'later', 0]),
    'update',
  )
  await store.deleteRecords('d', { '>': ['k', 150] })
  return opened
}

/** Changes the value of one cited row wherever it is, without the triggers that would keep the former one. */
function flip({ writer }: DataDb, k: number): void {
  dropTriggers(writer)
  const tables = find(
    writer,
    `SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c
     WHERE m.type = 'table' AND m.name LIKE 'prov%' AND c.name = 'name'`,
  )
  const changes = tables.map(
    (table) =>
      writer.prepare(`UPDATE "${table}" SET name = 'flipped' WHERE k = ? AND name <> 'later'`).run(k).changes,
  )
  if (changes.reduce((sum, n) => sum + n, 0) !== 1)
    throw new Error(`changed ${changes} rows of ${tables}, expected one`)
}

function find(db: DataDb['writer'], sql: string): string[] {
  return db.prepare<[], string>(sql).pluck().all()
}

function dropTriggers(db: DataDb['writer']): void {
  for (const name of find(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'"))
    db.exec(`DROP TRIGGER "${name}"`)
}

const READS: [what: string, query: Query, touches: (k: number) => boolean][] = [
  ['all rows', {}, () => true],
  ['some columns', { columns: ['k'] }, () => true],
  ['an order', { order: '-name' }, () => true],
  ['a first page', { limit: 40 }, (k) => k < 64],
  ['a page in the middle', { limit: 70, offset: 100 }, (k) => k >= 64 && k < 192],
  ['a last page', { offset: 250 }, (k) => k >= 192],
  ['one row by its key', { conds: { '=': ['k', 130] } }, (k) => k >= 128 && k < 192],
  ['few rows by a condition', { conds: { '<': ['k', 3] } }, (k) => k < 64],
]

t.test('citation: reads through digests give what the rows are', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const first = await cited(t, file)
  const checked = []
  for (const [, query] of READS) checked.push(await allRecords(first.store, 'c', query))
  first.data.writer.exec('UPDATE citation SET page_digests = NULL')
  const plain = openDatasetStores(first.data).citations
  for (const [at, [what, query]] of READS.entries()) {
    const citation = await plain.find('c')
    const env = { timeZoneMin: 0, nowUs: 0n }
    const result = await citation?.read(query, { env, pageRows: 7, pause: createPause(undefined, 5) })
    const rows = []
    for await (const page of result?.pages ?? []) rows.push(...page)
    const names = result?.columns.map(({ name }) => name) ?? []
    t.same(
      checked[at],
      rows.map(([, ...values]) => Object.fromEntries(names.map((name, n) => [name, toNumber(values[n])]))),
      what,
    )
  }
})

/** Integers as the API prints them. */
function toNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

for (const k of [1, 63, 64, 100, 130, 200, 300]) {
  t.test(`citation: a changed value in row ${k} is an error to each read of its page`, async (t) => {
    const { store, data } = await cited(t)
    flip(data, k)
    for (const [what, query, touches] of READS) {
      if (touches(k)) {
        await rejectsWith(t, allRecords(store, 'c', query), 'CITATION_DAMAGED', {
          data: { citation_label: 'c' },
        })
      } else t.ok((await allRecords(store, 'c', query)).length > 0, what)
    }
  })
}

t.test('citation: rows that are missing, or that were not cited, are errors', async (t) => {
  for (const sql of [
    'DELETE FROM %t WHERE k BETWEEN 64 AND 90',
    'DELETE FROM %t WHERE k BETWEEN 64 AND 127',
    'DELETE FROM %t WHERE k >= 250',
    'DELETE FROM %t',
  ]) {
    const opened = openDatasets()
    t.teardown(() => opened.close())
    await opened.store.create(definition('d', columns('k integer'), ['k']))
    await opened.store.put(
      'd',
      Array.from({ length: ROWS }, (_, n) => [n + 1]),
      'error',
    )
    await opened.store.cite('c', 'd')
    await opened.store.settled()
    const table = opened.data.writer.prepare('SELECT table_name FROM dataset').pluck().get()
    dropTriggers(opened.data.writer)
    opened.data.writer.exec(sql.replace('%t', `"${table}"`))
    await rejectsWith(t, allRecords(opened.store, 'c'), 'CITATION_DAMAGED', {})
  }
})

t.test('citation: a row on a page that had none when it was cited is an error', async (t) => {
  const { store, data, close } = openDatasets()
  t.teardown(close)
  await store.create(definition('d', columns('k integer'), ['k']))
  await store.put(
    'd',
    Array.from({ length: ROWS }, (_, n) => [n + 1]),
    'error',
  )
  await store.deleteRecords('d', { '>=': ['k', 250] })
  await store.cite('c', 'd')
  await store.settled()
  t.equal((await allRecords(store, 'c')).length, 249)
  const table = data.writer.prepare('SELECT table_name FROM dataset').pluck().get()
  dropTriggers(data.writer)
  data.writer.exec(`
    CREATE TEMP TABLE copied AS SELECT * FROM "${table}" WHERE k = 249;
    UPDATE copied SET k = 290, ${ROW_ID} = 290;
    INSERT INTO "${table}" SELECT * FROM copied`)
  await rejectsWith(t, allRecords(store, 'c'), 'CITATION_DAMAGED', { data: { citation_label: 'c' } })
})

t.test('citation: a stored value that its column cannot hold is an error', async (t) => {
  const { store, data, close } = openDatasets()
  t.teardown(close)
  await store.create(definition('d', columns('k integer', 'at timestamptz'), ['k']))
  await store.put('d', [[1, '2026-01-01T00:00:00Z']], 'error')
  await store.cite('c', 'd')
  await store.settled()
  t.equal((await allRecords(store, 'c')).length, 1)
  const table = data.writer.prepare('SELECT table_name FROM dataset').pluck().get()
  dropTriggers(data.writer)
  data.writer.exec(`UPDATE "${table}" SET at = 9000000000000000000`)
  await rejectsWith(t, allRecords(store, 'c'), 'CITATION_DAMAGED', { data: { citation_label: 'c' } })
})

t.test('citation: a page that is too large to hold back is compared before its rows are given', async (t) => {
  const { store, data, close } = openDatasets()
  t.teardown(close)
  await store.create(definition('d', columns('k integer', 'name text'), ['k']))
  const rows = Array.from({ length: 150 }, (_, n) => [n + 1, `${n % 10}`.repeat(10_000)])
  await store.put('d', rows, 'error')
  await store.cite('c', 'd')
  await store.settled()
  t.same(
    await allRecords(store, 'c'),
    rows.map(([k, name]) => ({ k, name })),
  )
  flip(data, 126) // behind the rows of its page that fill what is held back
  const pages = await store.read('c', {})
  const given: unknown[] = []
  await rejectsWith(
    t,
    (async () => {
      for await (const page of pages) given.push(...page)
    })(),
    'CITATION_DAMAGED',
    { data: { citation_label: 'c' } },
  )
  t.ok(given.length <= 63, `${given.length} rows were given before the damaged page, expected at most 63`)
})

t.test('property: random queries of a sound citation are answered', async (t) => {
  const { store } = await cited(t)
  const query = fc.record(
    {
      offset: fc.nat(320),
      limit: fc.nat(320),
      order: fc.constantFrom('k', '-k', 'name'),
      conds: fc.nat(320).map((k) => ({ '>=': ['k', k] })),
      columns: fc.constantFrom(['k'], ['name', 'k']),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(query, async (found) => {
      const from = (found.conds?.['>='][1] as number | undefined) ?? 1
      const matching = ROWS + 1 - Math.max(1, from)
      const expected = Math.min(found.limit ?? ROWS, Math.max(0, matching - (found.offset ?? 0)))
      return (await allRecords(store, 'c', found)).length === expected
    }),
    { numRuns: 200 },
  )
})

t.test(
  'citation: one of version 0.1.0 gets digests at the next start; if it was changed, it fails',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    for (const isChanged of [false, true]) {
      const first = isChanged ? openDatasets(file) : await cited(t, file)
      if (isChanged) flip(first.data, 20)
      first.data.writer.exec('UPDATE citation SET page_digests = NULL') // as the migration leaves it
      await first.close()
      const second = openDatasets(file)
      await second.store.settled()
      if (isChanged) await rejectsWith(t, allRecords(second.store, 'c', { limit: 1 }), 'CITATION_DAMAGED', {})
      else t.equal((await allRecords(second.store, 'c')).length, ROWS)
      const [info] = await second.store.listCitations({})
      t.match(info?.checksum, /^[0-9a-f]{64}$/, 'the checksum stays')
      await second.close()
    }
  },
)
