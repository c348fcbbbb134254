import t from 'tap'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { columnOf, feature } from '../../../support/tables.js'

const KEYED = [{ name: 'k', udtName: 'int4' as const }, { name: 'v' }]

t.test('loader tables of several processes', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)

  await t.test('processes: writers of one table take turns, and no change is passed by', async (t) => {
    const here = await open(t)
    const processes = [here, here.another(), here.another()]
    const table = await here.register('x', KEYED, ['k'])
    let isDone = false
    const seen: number[] = []
    const follow = async () => {
      for (let after = 0; ; ) {
        const wasDone = isDone
        const rows = await here.changes.after(table, after, 7)
        for (const { change } of rows) seen.push(change)
        after = rows.at(-1)?.change ?? after
        if (wasDone && rows.length === 0) return
      }
    }
    const following = follow()
    await Promise.all(
      processes.flatMap(({ put }, at) =>
        Array.from({ length: 20 }, (_, n) =>
          put(table, [feature([n, at], { k: n }), feature(null, { k: 1000 * (at + 1) + n })], 'override'),
        ),
      ),
    )
    isDone = true
    await following
    t.equal(await here.changes.last(table), 120)
    t.same(
      seen,
      [...new Set(seen)].sort((a, b) => a - b),
      'in their order',
    )
    const rows = await here.changes.after(table, 0, 1000)
    t.same(
      rows.map(({ change }) => change).filter((change) => !seen.includes(change)),
      [],
    )
    t.equal(rows.length, 80)
    t.same(
      (await here.read(table)).map(({ rowId }) => rowId),
      Array.from({ length: 80 }, (_, at) => at + 1),
    )
  })

  await t.test('processes: columns, tables and drops of another process are seen', async (t) => {
    const here = await open(t)
    const there = here.another()
    const table = await here.register('x', KEYED, ['k'])
    await here.put(table, [feature(null, { k: 1 })])
    t.same(await there.reader.find('x'), table)
    const grown = await there.addColumns(table, [columnOf({ name: 'more', udtName: 'int8' })])
    // the definition of a moment ago
    t.match(await here.put(table, [feature(null, { k: 1, v: 'a' }), feature(null, { k: 2 })], 'override'), {
      update: 1,
    })
    t.same(await here.reader.find('x'), grown)
    await here.put(grown, [feature(null, { k: 2, more: 7 })], 'override')
    t.same(await there.values(grown, 'more'), [null, 7])
    await there.store.drop(grown)
    await rejectsWith(t, here.put(table, [feature(null, { k: 3 })]), 'UNKNOWN_TABLE')
    here.store.forget(table)
    await rejectsWith(t, here.put(table, [feature(null, { k: 3 })]), 'UNKNOWN_TABLE')
    await rejectsWith(t, here.reader.count(table, {}), 'UNKNOWN_TABLE')
    const pages = here.reader.pages(await here.register('y', KEYED, ['k']), {})
    const y = await there.reader.find('y')
    if (y !== undefined) await there.store.drop(y)
    await rejectsWith(t, pages.next(), 'UNKNOWN_TABLE')
  })

  await t.test('processes: a sweep of files waits for calls that store some, and they for it', async (t) => {
    const here = await open(t)
    const there = here.another()
    const file = {
      ...{ nameColumn: 'n', typeColumn: 't', prefixIdColumn: 'p', pathIdColumn: 'i' },
      relativePathProperty: 'at',
    }
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      ...['n', 't', 'i'].map((name) => ({ name })),
      { name: 'p', udtName: 'int4' as const },
      { name: 'f', udtName: 'file' as const, file },
    ]
    const table = await here.register('x', columns, ['k'])
    let isKept: (digest: string) => void = () => undefined
    const bytesAreKept = new Promise<string>((resolve) => {
      isKept = resolve
    })
    let isAsked: () => void = () => undefined
    const bytesAreAsked = new Promise<void>((resolve) => {
      isAsked = resolve
    })
    const record = feature(null, { k: 1, f: 'AAAA', n: 'name', i: 'path' })
    const putFile = () => {
      isAsked()
      return bytesAreKept
    }
    const putting = here.put(table, [record], 'skip', { putFile })
    await bytesAreAsked
    const order: string[] = []
    const sweeping = there.store.withUsedFiles(async (used) => {
      order.push('sweep')
      return [...used]
    })
    // long enough for the transaction to be kept awake
    await new Promise((resolve) => setTimeout(resolve, 50))
    order.push('kept')
    isKept('digest')
    await putting
    t.same(await sweeping, ['digest'])
    t.same(order, ['kept', 'sweep'])
    let isSwept: () => void = () => undefined
    const swept = new Promise<void>((resolve) => {
      isSwept = resolve
    })
    const long = there.store.withUsedFiles(() => swept)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    isSwept()
    await long
    await t.rejects(
      there.store.withUsedFiles(() => Promise.reject(new Error('the sweep failed'))),
      /the sweep failed/,
    )
  })

  await t.test('processes: what an index of PostgreSQL cannot hold is refused by name', async (t) => {
    const here = await open(t)
    const table = await here.register('x', [{ name: 'a' }, { name: 'b' }], ['a', 'b'])
    const long = (length: number) =>
      Array.from({ length }, (_, at) => String.fromCharCode(97 + ((at * 7919) % 26))).join('')
    await here.put(table, [feature(null, { a: long(2000), b: long(600) })])
    const records = [feature(null, { a: 'x', b: 'y' }), feature(null, { a: long(2000), b: long(601) })]
    await rejectsWith(t, here.put(table, records), 'BAD_RECORD', { data: { index: 1, column: 'b' } })
    const [refused, stored] = await Promise.allSettled([
      here.put(table, records.slice(1)),
      here.put(table, records.slice(0, 1)),
    ])
    t.same([refused.status, stored.status], ['rejected', 'fulfilled'])
    t.equal((await here.read(table)).length, 2)
  })

  await t.test('processes: a call that the database does not take leaves those beside it', async (t) => {
    const here = await open(t)
    const table = await here.register('x', KEYED, ['k'])
    await here.db.write((rows) => rows.run(`ALTER TABLE rows_${table.tableId} ADD CHECK (c4 <> 'no')`))
    const results = await Promise.allSettled(
      ['yes', 'no', 'too'].map((v, k) => here.put(table, [feature(null, { k, v })])),
    )
    t.same(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.same((await here.values(table, 'v')).sort(), ['too', 'yes'])
  })
})
