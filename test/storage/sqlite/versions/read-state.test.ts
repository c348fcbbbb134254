import { copyFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { StateQuery } from '../../../../src/storage/datasets/states.js'
import { findCitation } from '../../../../src/storage/sqlite/citations/catalog.js'
import { retryBusy, transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { findDataset } from '../../../../src/storage/sqlite/datasets/catalog.js'
import { findTable } from '../../../../src/storage/sqlite/tables/catalog.js'
import { versionNames } from '../../../../src/storage/sqlite/tables/version-names.js'
import { planState } from '../../../../src/storage/sqlite/versions/plan.js'
import { countState } from '../../../../src/storage/sqlite/versions/read-state.js'
import { keyIdsSql, stateSql } from '../../../../src/storage/sqlite/versions/state-sql.js'
import { currentState } from '../../../../src/storage/sqlite/versions/versioned-table.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
  vacuum,
} from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

type Tap = { testdir(): string; teardown(work: () => unknown): unknown }

const PATHS = { conds: '$.condition', order: '$.order', columns: '$.columns' }
const ENV = { timeZoneMin: 0, nowUs: 0n }

async function withRows(t: Tap, rowCount: number): Promise<OpenedDatasets> {
  const opened = openDatasets(path.join(t.testdir(), 'data.db'), 100)
  t.teardown(() => opened.close())
  await opened.store.create(definition('d', columns('a int', 'b text', 'v int', 'g geometry?'), ['a', 'b']))
  const record = (k: number) => [k, `b${k % 7}`, k % 10, `POINT(${k % 180} ${k % 90})`]
  await opened.store.put(
    'd',
    Array.from({ length: rowCount }, (_, k) => record(k)),
    'error',
  )
  return opened
}

const queryPlan = ({ data }: OpenedDatasets, sql: string, params: unknown) =>
  (data.reader.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(params) as { detail: string }[]).map(
    ({ detail }) => detail,
  )

t.test(
  'state: versions are found by the row id and the end of their range, keys and boxes by their indexes',
  async (t) => {
    const opened = await withRows(t, 10)
    await opened.store.cite('c', 'd')
    const citation = findCitation(opened.data.reader, 'c')
    if (citation === undefined) throw new Error('no citation')
    const { state } = citation
    const rows = queryPlan(opened, stateSql(state, '1', 'count(*)'), { ids: '[1]', tx: 5 }).join('\n')
    t.match(rows, /SEARCH c USING INTEGER PRIMARY KEY \(rowid=\?\)/)
    t.match(rows, /SEARCH x USING COVERING INDEX \S+_history_row \(row id=\? AND to tx>\?\)/)
    t.notMatch(rows, /SCAN [cxh]\b/)
    const condition = { and: [{ '=': ['a', 3] }, { '>': ['b', 'b'] }, { '<>': ['v', 0] }] }
    const plan = planState(opened.data.reader, state, { conds: condition }, { env: ENV, paths: PATHS })
    t.same(
      plan.keyTerms.map(({ sql }) => sql),
      ['"a" = ?', '"b" > ?'],
    )
    const keys = opened.data.reader
      .prepare(`EXPLAIN QUERY PLAN ${keyIdsSql(state, plan.keyTerms)}`)
      .all({ count: 1 }, 3, 'b', 3, 'b')
    t.match(JSON.stringify(keys), /_key \(a=\? AND b>\?\).*_gone_key \(a=\? AND b>\?\)/)
    const none = { or: [{ '=': ['a', 3] }, { '=': ['a', 4] }] }
    t.same(
      planState(opened.data.reader, state, { conds: none }, { env: ENV, paths: PATHS }).keyTerms,
      [],
      'not what every match satisfies',
    )
    t.same(
      planState(opened.data.reader, state, { conds: { '=': ['b', 'x'] } }, { env: ENV, paths: PATHS })
        .keyTerms,
      [],
      'not the first of the key',
    )
  },
)

t.test('state: conditions, pages and orders over more rows than one step', async (t) => {
  const opened = await withRows(t, 9000)
  const { store } = opened
  const { longForm } = await store.cite('c', 'd')
  await store.deleteRecords('d', { '=': ['v', 3] })
  await store.put(
    'd',
    Array.from({ length: 500 }, (_, k) => [k * 17, `b${(k * 17) % 7}`, -1, null]),
    'update',
  )
  const keys = async (query: object): Promise<number[]> =>
    (await allRecords(store, longForm, { columns: ['a'], ...query })).map(({ a }) => a as number)
  const all = Array.from({ length: 9000 }, (_, k) => k)
  const three = all.filter((k) => k % 10 === 3)
  t.same(await keys({}), all)
  t.same(await keys({ conds: { '=': ['v', 3] } }), three)
  t.same(await keys({ offset: 8500, limit: 3 }), [8500, 8501, 8502])
  t.same(await keys({ conds: { '=': ['v', 3] }, offset: 700, limit: 2 }), three.slice(700, 702))
  t.same(
    await keys({ conds: { '=': ['v', 3] }, offset: 702, limit: 2 }),
    three.slice(702, 704),
    'from a bookmark',
  )
  t.same(await keys({ conds: { between: ['a', 4000, 4004] } }), [4000, 4001, 4002, 4003, 4004])
  t.same(await keys({ order: ['-v', '-a'], offset: 1, limit: 2 }), [8989, 8979])
  t.same(await keys({ conds: { in: ['a', [9, 7, 8999, 12_000]] } }), [7, 9, 8999])
  const box = {
    type: 'Polygon',
    coordinates: [
      [
        [0.5, 0.5],
        [3.5, 0.5],
        [3.5, 3.5],
        [0.5, 3.5],
        [0.5, 0.5],
      ],
    ],
  }
  t.same(
    await keys({ conds: { within: ['g', box] } }),
    all.filter((k) => k % 180 > 0 && k % 180 < 4),
  )
  t.same(
    await keys({ conds: { and: [{ within: ['g', box] }, { '>': ['a', 8000] }] }, offset: 2, limit: 2 }),
    [8103, 8281],
  )
  await store.settled()
  t.same(await keys({ offset: 8500, limit: 3 }), [8500, 8501, 8502], 'by the row index')
  t.same(await keys({ offset: 9000 }), [])
})

t.test('state: a copy of the file, and the schema growing, change nothing of a citation', async (t) => {
  const opened = await withRows(t, 300)
  const { store, data } = opened
  const { longForm } = await store.cite('c', 'd')
  await store.settled()
  const before = await allRecords(store, longForm)
  await store.put(
    'd',
    before.map(({ a, b }) => [a, b, 0, null]),
    'update',
  )
  // what an ALTER TABLE of a later release would do
  const { table_name, columns: text } = data.reader
    .prepare('SELECT table_name, columns FROM dataset')
    .get() as { table_name: string; columns: string }
  const [added] = columns('later text?')
  await data.lock.run(() =>
    retryBusy(() =>
      transaction(data.writer, () => {
        for (const name of [table_name, `${table_name}_history`])
          data.writer.exec(`ALTER TABLE "${name}" ADD COLUMN later TEXT`)
        data.writer
          .prepare('UPDATE dataset SET columns = ?')
          .run(JSON.stringify([...JSON.parse(text), added]))
      }),
    ),
  )
  t.same(await allRecords(store, longForm), before)
  t.equal((await store.columns('d')).length, 5)
  t.equal((await store.columns('c')).length, 4)
  await store.put('d', [[1000, 'b', 1, null, 'new column']], 'error')
  await store.cite('c', 'd')
  t.match((await allRecords(store, 'c', { conds: { '=': ['a', 1000] } }))[0], { later: 'new column' })
  t.same(await allRecords(store, longForm), before)
  data.writer.pragma('wal_checkpoint(TRUNCATE)')
  const copy = path.join(t.testdirName, 'copy.db')
  copyFileSync(path.join(t.testdirName, 'data.db'), copy)
  const restored = openDatasets(copy)
  t.teardown(() => restored.close())
  t.same(await allRecords(restored.store, longForm), before)
})

t.test(
  'state: a loader table costs nothing before its first citation, and nothing after its last',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    const tables = openTables(file)
    t.teardown(() => tables.data.close())
    const opened = openDatasets(file)
    const { store, data } = opened
    t.teardown(opened.close)
    const table = tables.register('events', [{ name: 'k', udtName: 'int4', isNullable: true }], ['k'])
    const schema = () =>
      data.reader
        .prepare("SELECT type || ' ' || name FROM sqlite_schema WHERE tbl_name LIKE 'events%' ORDER BY 1")
        .pluck()
        .all()
    const before = schema()
    const { longForm } = await store.cite('c', 'events')
    t.same(
      schema().filter((name) => !before.includes(name)),
      [
        'index events_tbl_0_1_gone_key',
        'index events_tbl_0_1_history_row',
        'table events_tbl_0_1_gone',
        'table events_tbl_0_1_history',
        'table events_tbl_0_1_since',
        'trigger events_tbl_0_1_on_delete',
        'trigger events_tbl_0_1_on_update',
      ],
    )
    t.same(table.columns.length, (await store.columns('events')).length)
    await store.uncite(longForm)
    t.same(
      schema().filter((name) => String(name).startsWith('trigger')),
      [],
      'nothing is kept any more',
    )
    await vacuum(opened)
    t.same(schema(), before)
    await store.cite('c', 'events')
    t.equal((await allRecords(store, 'c')).length, 0, 'cited again')
  },
)

t.test(
  'state: rows of a loader table are found where they were, also after its index was merged',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    const tables = openTables(file)
    t.teardown(() => tables.data.close())
    const opened = openDatasets(file)
    const { store, data } = opened
    t.teardown(opened.close)
    const table = tables.register('events', [{ name: 'k', udtName: 'int4', isNullable: true }], ['k'])
    const put = (x: number) =>
      data.lock.run(() =>
        tables.put(
          table,
          Array.from({ length: 20 }, (_, k) => ({
            type: 'Feature',
            geometry: { type: 'Point', coordinates: [x, k] },
            properties: { k },
          })),
          'override',
        ),
      )
    await put(0)
    const { longForm } = await store.cite('c', 'events')
    for (let x = 1; x <= 40; x++) await put(x) // merges come with the eighth segment
    const segments = data.reader.prepare('SELECT count(*) FROM loader_segment').pluck().get() as number
    t.ok(segments < 20, `${segments} segments of 41 calls`)
    const found = await allRecords(store, longForm, {
      columns: ['k'],
      conds: { intersects: ['location', 'POINT(0 7)'] },
    })
    t.same(found, [{ k: 7 }])
    t.same(await allRecords(store, longForm, { conds: { intersects: ['location', 'POINT(40 7)'] } }), [])
    t.ok(findTable(data.reader, 'events'))
  },
)

t.test('state: the last rows come in ascending order, along the table and by an index', async (t) => {
  const opened = await withRows(t, 5000)
  await opened.store.cite('c', 'd')
  const citation = await opened.stores.citations.find('c')
  if (citation === undefined) throw new Error('no citation')
  const last = async (query: StateQuery) => {
    const options = { env: ENV, pageRows: 2, pause: () => undefined }
    const { pages } = await citation.read({ isFromEnd: true, columns: ['a'], ...query }, options)
    const keys: number[] = []
    for await (const page of pages) keys.push(...page.map(([, key]) => Number(key)))
    return keys
  }
  t.same(await last({ limit: 5 }), [4995, 4996, 4997, 4998, 4999])
  t.same(await last({ limit: 3, beforeId: 11 }), [7, 8, 9])
  t.same(await last({ limit: 2, conds: { '=': ['v', 3] }, beforeId: 100 }), [83, 93])
  t.same(await last({ limit: 3, conds: { '>=': ['a', 10] }, beforeId: 21 }), [17, 18, 19], 'by the key')
})

t.test('state: in an empty area there are no rows to read, count or delete', async (t) => {
  const opened = await withRows(t, 5)
  const conds = { intersects: ['g', 'GEOMETRYCOLLECTION EMPTY'] }
  await opened.store.cite('c', 'd')
  t.same(await allRecords(opened.store, 'c', { conds }), [])
  t.equal(await opened.store.deleteRecords('d', { intersects: ['g', 'GEOMETRYCOLLECTION EMPTY'] }), 0)
  const table = findDataset(opened.data.reader, 'd')?.table
  if (table === undefined) throw new Error('no dataset')
  const reading = { db: opened.data.reader, env: ENV, pageRows: 5, pause: () => undefined }
  t.equal(await countState(reading, currentState(table), { conds }), 0)
  t.equal(await countState(reading, currentState(table), {}), 5)
})

t.test(
  'state: more rows of a key or place than an index is asked for are found along the table',
  async (t) => {
    const opened = await withRows(t, 1)
    const { data } = opened
    const table = findDataset(data.reader, 'd')?.table
    if (table === undefined) throw new Error('no dataset')
    const { current, rtree } = versionNames(table)
    const more = 'WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 50002)'
    data.writer.exec(`${more} INSERT INTO ${current} (a, b, v, g, "row id", "from tx")
      SELECT c.a, 'x' || i, c.v, c.g, i, c."from tx" FROM n, ${current} AS c WHERE c."row id" = 1;
    ${more} INSERT INTO ${rtree(3)} SELECT i, 0, 0, 0, 0 FROM n;
    UPDATE dataset SET next_row_id = 50003`)
    const reading = { db: data.reader, env: ENV, pageRows: 1000, pause: () => undefined }
    const count = (conds: unknown) => countState(reading, currentState(table), { conds })
    t.equal(await count({ '=': ['a', 0] }), 50_002)
    t.equal(await count({ intersects: ['g', 'POINT(0 0)'] }), 50_002)
    t.equal(await count({ intersects: ['g', 'POINT(1 0)'] }), 0)
  },
)

t.test(
  'state: the time of a version is read of current rows, and is open where none is recorded',
  async (t) => {
    const file = path.join(t.testdir(), 'data.db')
    const tables = openTables(file)
    t.teardown(() => tables.data.close())
    const opened = openDatasets(file)
    t.teardown(opened.close)
    const columnsOf = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'shape', udtName: 'geometry' as const },
    ]
    const table = tables.register('events', columnsOf, ['k'])
    const put = (k: number, shape: string) => tables.put(table, [feature([k, 0], { k, shape })], 'override')
    await put(1, 'POINT(5 5)')
    await put(2, 'POINT(6 6)')
    await opened.store.cite('c', 'events')
    await put(2, 'POINT(7 7)')
    const conds = { intersects: ['shape', 'POINT(6 6)'] }
    t.same(await allRecords(opened.store, 'c', { columns: ['k'], conds }), [{ k: 2 }], 'not by an index')
    const range = { columns: ['k', '_transaction_range'] }
    t.match(await allRecords(opened.store, 'c', range), [
      { k: 1, _transaction_range: '(,)' },
      { k: 2, _transaction_range: '(,)' },
    ])
    await opened.store.create(definition('d', columns('k int')))
    await opened.store.put('d', [[1]], 'error')
    const state = await opened.stores.datasets.find('d', 0)
    const options = { env: ENV, pageRows: 2, pause: () => undefined }
    const { pages } = (await state?.read(range, options)) ?? {}
    t.same((await pages?.next())?.value, [[1n, 1n, BigInt(opened.clock.us)]])
  },
)

t.test('state: an area of a large cited table is searched with pauses', async (t) => {
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  t.teardown(() => tables.data.close())
  const opened = openDatasets(file)
  t.teardown(opened.close)
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(
    table,
    Array.from({ length: 9000 }, (_, k) => feature([k % 180, k % 90], { k })),
  )
  await opened.store.cite('c', 'events')
  const citation = await opened.stores.citations.find('c')
  let pauses = 0
  const options = { env: ENV, pageRows: 9000, pause: () => void pauses++ }
  const conds = { within: ['location', 'POLYGON((-1 -1, 180 -1, 180 90, -1 90, -1 -1))'] }
  const { pages } = (await citation?.read({ columns: ['k'], conds }, options)) ?? {}
  let count = 0
  for await (const page of pages ?? []) count += page.length
  t.equal(count, 9000)
  t.ok(pauses > 5, `${pauses} pauses: between runs, and one for each step of ids`)
})

t.test('state: order of texts that do not fit into memory at once', async (t) => {
  const { store, close } = openDatasets(path.join(t.testdir(), 'data.db'), 50)
  t.teardown(close)
  await store.create(definition('long', columns('k int', 'note text'), ['k']))
  const text = 'x'.repeat(100_000)
  const at = (k: number) => (k * 37) % 200
  const records = Array.from({ length: 200 }, (_, k) => [k, `${String(at(k)).padStart(3, '0')}${text}`])
  await store.put('long', records, 'error')
  await store.cite('c', 'long')
  const order = async (query: StateQuery) =>
    (await allRecords(store, 'c', { columns: ['k'], ...query })).map(({ k }) => at(Number(k)))
  const all = Array.from({ length: 200 }, (_, place) => place)
  t.same(await order({ order: 'note' }), all, '40 MB of keys')
  t.same(await order({ order: '-note', offset: 150, limit: 20 }), all.toReversed().slice(150, 170))
})
