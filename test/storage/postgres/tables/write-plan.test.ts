import t from 'tap'
import { lockTable } from '../../../../src/storage/postgres/tables/table-state.js'
import { writeSqlOf } from '../../../../src/storage/postgres/tables/write-sql.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { feature } from '../../../support/tables.js'

t.test('plan of a write', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)

  await t.test('a write searches the indexes, also by a plan of when the table was empty', async (t) => {
    const { db, register } = await open(t)
    const columns = [
      { name: 'sensor', udtName: 'bpchar' as const },
      { name: 'n', udtName: 'int4' as const },
      { name: 'v' },
    ]
    const table = await register('x', columns, ['sensor', 'n'])
    const { text } = writeSqlOf(table)
    const params = new Set(text.match(/\$\d+/g)).size
    const plan = await db.write(async (rows) => {
      await lockTable(rows, table)
      await rows.lists(`PREPARE write AS ${text}`, [], 'once')
      await rows.lists('SET LOCAL plan_cache_mode = force_generic_plan', [], 'once')
      const nulls = Array.from({ length: params }, () => 'NULL').join(', ')
      return (await rows.lists(`EXPLAIN EXECUTE write(${nulls})`, [], 'once')).flat().join('\n')
    })
    t.notMatch(plan, new RegExp(`Seq Scan on rows_${table.tableId}`), plan)
    t.match(plan, new RegExp(`rows_${table.tableId}_key`))
    t.match(plan, new RegExp(`rows_${table.tableId}_pkey`))
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
