import type { Test } from 'tap'
import { rejectsWith } from '../../rejects-with.js'
import { columnOf, feature, NOW_US } from '../../tables.js'
import type { OpenTables } from './world.js'

const KEY = { name: 'k', udtName: 'int4' as const }

/** Registering, finding, listing, growing and dropping tables. */
export async function conformCatalog(t: Test, open: OpenTables): Promise<void> {
  await t.test('catalogue: a table has its definition, and is found by every name', async (t) => {
    const { store, reader, register } = await open(t)
    const columns = [
      { ...KEY, isNullable: false, columnDefault: '7' },
      { name: 'Grüße_with-a.dot', udtName: 'varchar' as const, length: 9 },
      { name: 'select', isEncrypted: true },
      { name: '__proto__' },
    ]
    const table = await register('flood.2025', columns, ['k', 'Grüße_with-a.dot'])
    t.match(table, { dataName: 'flood.2025', tableName: 'flood.2025_tbl_0', schema: 'event' })
    t.same(table.columns.slice(3), columns.map(columnOf))
    t.same(table.uniqueColumns, ['k', 'Grüße_with-a.dot'])
    const names = ['flood.2025', 'flood.2025_tbl_0', 'event.flood.2025_tbl_0', 'ddc:flood.2025']
    for (const name of [...names, 'ddc:event.flood.2025_tbl_0']) {
      t.same(await reader.find(name), table, name)
      t.equal((await store.find(name))?.tableId, table.tableId, name)
    }
    const others = ['flood', 'Flood.2025', 'FLOOD.2025_tbl_0', 'other.flood.2025_tbl_0', '', 'ddc:', 'a\0']
    for (const name of [...others, '__proto__']) t.equal(await reader.find(name), undefined, name)
    const named = await register('event.flood.2025_tbl_0', [KEY], ['k'])
    t.equal((await reader.find('event.flood.2025_tbl_0'))?.tableId, named.tableId, 'a data_name comes first')
  })

  await t.test('catalogue: tables are listed by name, in the order of its bytes', async (t) => {
    const { store, reader, register } = await open(t)
    t.same(await reader.list(), [])
    const names = ['b', 'Z', 'ä', 'a', 'a-b', 'a.b', '\u{1f30a}']
    for (const name of names) await register(name, [KEY], ['k'])
    const listed = (await store.list()).map(({ dataName }) => dataName)
    t.same(
      listed,
      [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    )
    t.same(await reader.list(), await store.list())
  })

  await t.test(
    'catalogue: a name that is taken is refused, also in other case of ASCII letters',
    async (t) => {
      const { register } = await open(t)
      await register('Flood', [KEY], ['k'])
      await rejectsWith(t, register('Flood', [KEY], ['k']), 'ALREADY_REGISTERED', {
        data: { data_name: 'Flood', registered: 'Flood' },
      })
      await rejectsWith(t, register('flooD', [KEY], ['k']), 'ALREADY_REGISTERED', {
        data: { data_name: 'flooD', registered: 'Flood' },
      })
      await register('ä', [KEY], ['k'])
      t.equal((await register('Ä', [KEY], ['k'])).dataName, 'Ä')
    },
  )

  await t.test('catalogue: a dropped table is gone, and made again it is another one', async (t) => {
    const { store, reader, register, put, read, options } = await open(t)
    const table = await register('x', [KEY], ['k'])
    await put(table, [feature([1, 2], { k: 1 })])
    t.ok((await reader.dataVersion(table)) > 0)
    await store.drop(table)
    t.equal(await reader.find('x'), undefined)
    t.equal(await reader.dataVersion(table), -1)
    await rejectsWith(t, store.drop(table), 'UNKNOWN_TABLE')
    await rejectsWith(t, read(table), 'UNKNOWN_TABLE')
    const again = await register('x', [KEY], ['k'])
    t.ok(again.tableId > table.tableId)
    t.same(await read(again), [])
    await rejectsWith(t, store.put(table, [feature(null, { k: 1 })], options('skip')), 'UNKNOWN_TABLE')
    t.same(await read(again), [], 'nothing went to the new one')
  })

  await t.test('catalogue: columns are added without values', async (t) => {
    const { addColumns, reader, register, put, values } = await open(t)
    const table = await register('x', [KEY], ['k'])
    await put(table, [feature(null, { k: 1 })])
    const version = await reader.dataVersion(table)
    const added = [columnOf({ name: 'note' }), columnOf({ name: 'shape', udtName: 'geometry' })]
    const now = await addColumns(table, added)
    t.same(now.columns.slice(-2), added)
    t.same(await reader.find('x'), now)
    t.ok((await reader.dataVersion(table)) > version)
    await put(now, [feature(null, { k: 2, note: 'a', shape: { type: 'Point', coordinates: [1, 2] } })])
    await put(table, [feature(null, { k: 3, note: 'b' })])
    t.same(await values(now, 'note'), [null, 'a', 'b'])
    t.same(await values(now, 'k', { conds: { intersects: ['shape', 'POINT(1 2)'] } }), [2])
    await rejectsWith(t, addColumns(now, [columnOf({ name: 'NOTE' })]), 'INVALID_PARAMS')
    await rejectsWith(t, addColumns(now, [columnOf({ name: 'start_datetime' })]), 'INVALID_PARAMS')
    t.equal((await reader.find('x'))?.columns.length, now.columns.length)
    const other = { dataName: 'x', tableId: table.tableId + 1000 }
    await rejectsWith(t, addColumns(other, [columnOf({ name: 'new' })]), 'UNKNOWN_TABLE')
  })

  await t.test('catalogue: tables of one name that are registered at once', async (t) => {
    const { store, register } = await open(t)
    const made = await Promise.allSettled([1, 2, 3].map(() => register('x', [KEY], ['k'])))
    t.same(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
    t.equal((await store.list()).length, 1)
    t.ok(NOW_US > 0)
  })
}
