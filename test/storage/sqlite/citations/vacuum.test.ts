import t from 'tap'
import type { VacuumCounts } from '../../../../src/storage/datasets/citations.js'
import { createVacuum } from '../../../../src/storage/sqlite/citations/vacuum.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
  vacuum,
} from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

const tableNames = ({ data }: OpenedDatasets) =>
  data.reader
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'prov_%' AND name NOT LIKE '%rtree%_%' ESCAPE '\\' ORDER BY 1",
    )
    .pluck()
    .all()

async function filled(t: Tap, rowCount = 10) {
  const opened = openDatasets(`${t.testdir()}/data.db`)
  t.teardown(() => opened.close())
  await opened.store.create(definition('d', columns('k int', 'v text', 'g geometry?'), ['k']))
  await put(opened, 'one', rowCount)
  return opened
}

type Tap = { testdir(): string; teardown(work: () => unknown): unknown }

const put = ({ store }: OpenedDatasets, v: string, rowCount = 10) =>
  store.put(
    'd',
    Array.from({ length: rowCount }, (_, k) => [k, v, `POINT(${k} ${v.length})`]),
    'update',
  )

t.test(
  'vacuum: versions that a citation sees stay, also when it was made right after they were written',
  async (t) => {
    const opened = await filled(t)
    const first = await opened.store.cite('a', 'd')
    await put(opened, 'two')
    t.same(await vacuum(opened), { versions: 0, tables: 0 })
    const records = await allRecords(opened.store, first.longForm)
    t.same(
      records.map(({ v }) => v),
      Array(10).fill('one'),
    )
  },
)

t.test(
  'vacuum: versions go with their last citation, and with them ids and places of deleted rows',
  async (t) => {
    const opened = await filled(t)
    const { store, data } = opened
    const first = await store.cite('a', 'd')
    await put(opened, 'second')
    const second = await store.cite('a', 'd')
    await store.deleteRecords('d', { '<': ['k', 5] })
    await store.uncite(first.longForm)
    const seen: VacuumCounts[] = []
    t.same(await vacuum(opened, (counts) => seen.push({ ...counts })), { versions: 10, tables: 0 })
    t.same(seen, [{ versions: 10, tables: 0 }])
    t.equal((await allRecords(store, second.longForm)).length, 10)
    t.same(
      await allRecords(store, second.longForm, {
        columns: ['k'],
        conds: { intersects: ['g', 'POINT(2 6)'] },
      }),
      [{ k: 2 }],
    )
    await store.uncite('a')
    t.same(await vacuum(opened), { versions: 5, tables: 0 })
    for (const name of tableNames(opened) as string[]) {
      if (/_(history|gone|past_2)$/.test(name))
        t.equal(
          data.reader.prepare(`SELECT count(*) FROM "${name}"`).pluck().get(),
          0,
          name.replace(/[0-9a-f]{32}/, ''),
        )
    }
  },
)

t.test('vacuum: what no citation saw was never kept', async (t) => {
  const opened = await filled(t)
  const { store, data } = opened
  const [history] = (tableNames(opened) as string[]).filter((name) => name.endsWith('_history'))
  const kept = () => data.reader.prepare(`SELECT count(*) FROM "${history}"`).pluck().get()
  for (const v of ['two', 'three', 'four']) await put(opened, v)
  t.equal(kept(), 0)
  await store.cite('a', 'd')
  await put(opened, 'four')
  t.equal(kept(), 0, 'records that change nothing leave their version as it is')
  for (const v of ['five', 'sixth', 'seven']) await put(opened, v)
  t.equal(kept(), 10, 'one version for the citation, none for what came and went after it')
})

t.test('vacuum: tables of deleted datasets go, large ones by vacuum alone', async (t) => {
  const opened = await filled(t)
  const { store, data } = opened
  await store.remove('d')
  t.same(tableNames(opened), [], 'small ones go at once')
  await store.create(definition('d', columns('k int', 'v text', 'g geometry?'), ['k']))
  await put(opened, 'one')
  // a row id beyond the bound makes the table count as large
  data.writer.exec('UPDATE dataset SET next_row_id = 60000')
  await store.put('d', [[100, 'far', null]], 'error')
  await store.remove('d')
  t.equal(tableNames(opened).length, 1)
  t.same(await vacuum(opened), { versions: 0, tables: 1 })
  t.same(tableNames(opened), [])
})

t.test('vacuum: compact returns the space of removed versions', async (t) => {
  const opened = await filled(t, 180)
  const rows = createVacuum(opened.data)
  await opened.store.cite('a', 'd')
  await put(opened, 'two', 180)
  await opened.store.cite('b', 'd')
  await opened.store.uncite('a')
  await vacuum(opened)
  const before = await rows.space()
  t.ok(before.freeBytes > 0 && before.freeBytes < before.totalBytes)
  await rows.compact()
  const after = await rows.space()
  t.equal(after.freeBytes, 0)
  t.ok(after.totalBytes < before.totalBytes)
  t.equal((await allRecords(opened.store, 'b')).length, 180)
})

t.test('vacuum: versions of a loader table go with the citation that saw them', async (t) => {
  const file = `${t.testdir()}/data.db`
  const tables = openTables(file)
  const opened = openDatasets(file)
  t.teardown(async () => {
    await opened.close()
    tables.data.close()
  })
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
  const put = (v: string) =>
    tables.put(
      table,
      [1, 2, 3].map((k) => feature([k, 0], { k, v })),
      'override',
    )
  await put('first')
  const first = await opened.store.cite('a', 'events')
  await put('second')
  const second = await opened.store.cite('a', 'events')
  await put('third')
  await opened.store.uncite(first.longForm)
  t.same(await vacuum(opened), { versions: 3, tables: 0 })
  const kept = await allRecords(opened.store, second.longForm, { columns: ['v'] })
  t.same(kept, Array(3).fill({ v: 'second' }))
})
