import t from 'tap'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { feature } from '../../../support/tables.js'

t.test('plan of a write', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)

  await t.test('a write searches the indexes, whatever the statistics of the table', async (t) => {
    const { db, context, register, put } = await open(t)
    const columns = [
      { name: 'sensor', udtName: 'bpchar' as const },
      { name: 'n', udtName: 'int4' as const },
      { name: 'v' },
    ]
    const table = await register('x', columns, ['sensor', 'n'])
    const rows = (from: number) =>
      Array.from({ length: 500 }, (_, n) => feature([n % 90, 0], { sensor: `s${n % 7}`, n: from + n }))
    for (let from = 0; from < 5000; from += 500) await put(table, rows(from))
    let plan = ''
    const { write } = db
    Object.assign(context.db, {
      write: (work: Parameters<typeof write>[0], options: Parameters<typeof write>[1]) =>
        write(async (given, attempt) => {
          const lists: typeof given.lists = async (text, values, kind) => {
            const isFirst = plan === '' && text.startsWith('WITH given')
            if (!isFirst) return await given.lists(text, values, kind)
            plan = (await given.lists(`EXPLAIN ${text}`, values, 'once')).flat().join('\n')
            return await given.lists(text, values, kind)
          }
          return await work({ ...given, lists }, attempt)
        }, options),
    })
    await put(table, rows(5000))
    t.notMatch(plan, new RegExp(`Seq Scan on rows_${table.tableId}`))
    t.notMatch(plan, /Hash Join|Merge Join|Materialize/)
    t.match(plan, new RegExp(`Index Scan using rows_${table.tableId}_key`))
    t.match(plan, new RegExp(`Index Scan using rows_${table.tableId}_pkey`))
  })

  await t.test('a call of new rows takes one statement between BEGIN and COMMIT', async (t) => {
    const { db, context, register, put } = await open(t)
    const table = await register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
    await put(table, [feature(null, { k: 0 })])
    let statements = 0
    const { write } = db
    Object.assign(context.db, {
      write: (work: Parameters<typeof write>[0], options: Parameters<typeof write>[1]) =>
        write((rows, attempt) => {
          const counted = new Proxy(rows, {
            get(target, name: keyof typeof rows) {
              statements++
              return target[name]
            },
          })
          return work(counted, attempt)
        }, options),
    })
    await put(
      table,
      Array.from({ length: 100 }, (_, k) => feature([k, 0], { k: k + 1 })),
    )
    t.equal(statements, 1)
    statements = 0
    await put(
      table,
      Array.from({ length: 100 }, (_, k) => feature([k, 0], { k: k + 50 })),
      'override',
    )
    t.equal(statements, 2, 'two where keys exist')
  })
})
