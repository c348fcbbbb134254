import path from 'node:path'
import t, { type Test } from 'tap'
import { usedDigests } from '../../../../src/storage/sqlite/tables/files.js'
import { openDatasets } from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, openTables } from '../../../support/tables.js'

const FILE = {
  nameColumn: 'name',
  typeColumn: 'type',
  prefixIdColumn: 'prefix',
  pathIdColumn: 'path',
  relativePathProperty: 'where',
}

function opened(t: Test) {
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  const datasets = openDatasets(file)
  t.teardown(async () => {
    await datasets.close()
    tables.data.close()
  })
  const text = ['name', 'type', 'path'].map((name) => ({ name }))
  const columns = [
    { name: 'k', udtName: 'int4' as const },
    { name: 'photo', udtName: 'file' as const, file: FILE },
    { name: 'prefix', udtName: 'int4' as const },
  ]
  return { tables, store: datasets.store, table: tables.register('events', [...columns, ...text], ['k']) }
}

const photo = (k: number, text: string, where = `folder/${k}`) =>
  feature(null, { k, photo: Buffer.from(text).toString('base64'), where })
const digestOf = (text: string) => `digest of ${Buffer.from(text).toString('hex')}`

t.test('usedDigests: files that only a citation still sees are in use', async (t) => {
  const { tables, store, table } = opened(t)
  await tables.put(table, [photo(1, 'first'), feature(null, { k: 2 })])
  const { longForm } = await store.cite('c', 'events')
  await tables.put(table, [photo(1, 'second')], 'override')
  t.same([...new Set(usedDigests(tables.data.reader))].sort(), [digestOf('first'), digestOf('second')].sort())
  await store.uncite(longForm)
  t.same([...usedDigests(tables.data.reader)], [digestOf('second')])
})

t.test('usedDigests: more files than are read at a time', async (t) => {
  const { tables, table } = opened(t)
  await tables.put(
    table,
    Array.from({ length: 1001 }, (_, k) => photo(k, `${k}`)),
  )
  t.equal(new Set(usedDigests(tables.data.reader)).size, 1001)
})

t.test('files: a path without a folder names the file alone, in a folder of its own', async (t) => {
  const { tables, table } = opened(t)
  await tables.put(table, [photo(1, 'first', 'a.jpg')])
  const [row] = await tables.read(table, { columns: ['name', 'path', 'prefix'] })
  t.same(row?.properties, { name: 'a.jpg', path: 'path1', prefix: 1 })
})

t.test(
  'files: two records of one path id and name are refused, in a call and against the table',
  async (t) => {
    const { tables, table } = opened(t)
    const at = (k: number, text: string) => photo(k, text, 'folder/a.jpg')
    const refusal = {
      message:
        /path: found path "folder" with the file name "a\.jpg", the place of another file of this table/,
      data: { index: 1 },
    }
    await rejectsWith(t, tables.put(table, [at(1, 'first'), at(2, 'second')]), 'BAD_RECORD', refusal)
    t.same(await tables.read(table), [], 'nothing of the call is stored')
    await tables.put(table, [at(1, 'first')])
    await rejectsWith(t, tables.put(table, [photo(3, 'third'), at(2, 'second')]), 'BAD_RECORD', refusal)
    await tables.put(table, [at(1, 'newer')], 'override')
    await tables.put(table, [photo(2, 'second', 'folder/b.jpg'), photo(3, 'third', 'other/a.jpg')])
    t.equal((await tables.read(table)).length, 3, 'its own place, and places that differ in either part')
  },
)
