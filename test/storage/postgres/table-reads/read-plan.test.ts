import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import { changedAfterSql } from '../../../../src/storage/postgres/tables/changed-sql.js'
import type { TableQuery } from '../../../../src/storage/tables.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresTables } from '../../../support/postgres-tables.js'
import { feature } from '../../../support/tables.js'

t.test('plans of reads', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  const { register, put, db, read } = await open(t)
  const table = await register('x', [{ name: 'sensor' }, { name: 'n', udtName: 'int8' }], ['sensor', 'n'])
  const at = (n: number) => new Date(1.7e12 + n * 1000).toISOString()
  const row = (n: number) =>
    feature(n % 1000 === 0 ? null : [139 + (n % 997) / 997, 35 + (n % 991) / 991], {
      ...{ sensor: `s${n % 500}`, n, start_datetime: at(n), end_datetime: at(n) },
    })
  for (let from = 0; from < 20_000; from += 5000)
    await put(
      table,
      Array.from({ length: 5000 }, (_, n) => row(from + n)),
    )
  const plans: string[] = []
  const { lists } = db.read
  Object.assign(db.read, {
    lists: async (...[text, values, kind]: Parameters<typeof lists>) => {
      if (kind === 'once') plans.push((await lists(`EXPLAIN ${text}`, values, kind)).flat().join('\n'))
      return await lists(text, values, kind)
    },
  })
  const area = prepareArea({
    type: 'LineString',
    coordinates: [
      [139.1, 35.1],
      [139.12, 35.12],
    ],
  })
  const fromUs = BigInt(1.7e12 + 10_000 * 1000) * 1000n
  const queries: [string, TableQuery, number][] = [
    ['rows_N_place', { area }, 0],
    ['rows_N_nowhere', { area, isNowhereIn: true }, 20],
    ['rows_N_period', { span: { fromUs, untilUs: fromUs + 50_000_000n } }, 50],
    ['rows_N_key', { conds: { '=': ['sensor', 's5'] }, order: '-n' }, 40],
    ['rows_N_key', { conds: { and: [{ '=': ['sensor', 's5'] }, { '=': ['n', 505] }] } }, 1],
  ]
  for (const [index, query, count] of queries) {
    plans.length = 0
    t.ok((await read(table, query)).length >= count, index)
    t.match(plans[0], index.replace('N', String(table.tableId)), index)
    t.notMatch(plans.join('\n'), `Seq Scan on rows_${table.tableId}`, index)
  }
})

t.test('plans of changes', { skip: noPostgres() }, async (t) => {
  const open = await postgresTables(t)
  const { register, put, db } = await open(t)
  const table = await register('x', [{ name: 'n', udtName: 'int8' }], ['n'])
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => feature(null, { n: from + n }))
  await put(table, rows(0, 500))
  await put(table, rows(0, 1))
  await put(table, rows(500, 3000))
  const plan = async (after: number) => {
    const text = `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${changedAfterSql(table, 't.origin')}`
    return (await db.read.lists(text, [after, 100], 'once')).flat().join('\n')
  }
  const filtered = [...(await plan(501)).matchAll(/Rows Removed by Filter: (\d+)/g)].map(([, count]) =>
    Number(count),
  )
  t.ok(Math.max(0, ...filtered) <= 100, `behind an old override a page looks at a page of ids: ${filtered}`)
})
