import t from 'tap'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../../support/tables.js'

const HUB = '11111111-1111-4111-8111-111111111111'
const VAN = '22222222-2222-4222-8222-222222222222'

function record(k: number, v: number) {
  return { type: 'Feature', geometry: null, properties: { k, v } }
}

function setUp() {
  const tables = openTables()
  const table = tables.register(
    'x',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'v', udtName: 'int4' },
    ],
    ['k'],
  )
  const changes = createTableChanges(tables.data.reader)
  const put = (k: number, v: number, origin = '') => tables.put(table, [record(k, v)], 'override', { origin })
  const after = async (change: number, limit = 100) =>
    (await changes.after(table, change, limit)).map(({ change, origin, values }) => ({
      change,
      origin,
      k: Number(values[3]),
      v: Number(values[4]),
    }))
  return { tables, table, changes, put, after }
}

t.test('changes: a put and an override have a number each, and a row keeps its last', async (t) => {
  const { put, after, changes, table } = setUp()
  t.equal(await changes.last(table), 0)
  t.same(await after(0), [])
  await put(1, 10)
  await put(2, 20)
  t.equal(await changes.last(table), 2)
  await put(1, 11)
  await put(3, 30)
  t.same(await after(0), [
    { change: 2, origin: '', k: 2, v: 20 },
    { change: 3, origin: '', k: 1, v: 11 },
    { change: 4, origin: '', k: 3, v: 30 },
  ])
  t.same(
    (await after(3)).map(({ k }) => k),
    [3],
  )
  t.equal(await changes.last(table), 4)
})

t.test('changes: nothing is stored for the numbers of a table without overrides', async (t) => {
  const { tables, put } = setUp()
  for (let k = 0; k < 20; k++) await put(k, k)
  const count = 'SELECT count("row change") FROM x_tbl_0'
  t.equal(tables.data.reader.prepare(count).pluck().get(), 0)
  await put(3, 4)
  t.equal(tables.data.reader.prepare(count).pluck().get(), 1)
})

t.test('changes: a skipped record and a failed call take no number', async (t) => {
  const { tables, table, put, changes, after } = setUp()
  await put(1, 10)
  await tables.put(table, [record(1, 11)], 'skip')
  await t.rejects(tables.put(table, [record(2, 20), record(1, 12)], 'error'))
  t.equal(await changes.last(table), 1)
  await put(5, 50)
  t.same(
    (await after(0)).map(({ change, k }) => [change, k]),
    [
      [1, 1],
      [2, 5],
    ],
  )
})

t.test('changes: one key of several origins is a row of each', async (t) => {
  const { tables, table, put, after } = setUp()
  await put(1, 10)
  await put(1, 11, HUB)
  await put(1, 12, VAN)
  await put(1, 13, HUB)
  t.same(await after(0), [
    { change: 1, origin: '', k: 1, v: 10 },
    { change: 3, origin: VAN, k: 1, v: 12 },
    { change: 4, origin: HUB, k: 1, v: 13 },
  ])
  t.same((await tables.put(table, [record(1, 14)], 'skip', { origin: VAN })).duplicate, 1)
})

t.test(
  'changes: behind an old override a page looks at ids up to where a page of overrides ends',
  async (t) => {
    const { tables, put, table, changes } = setUp()
    for (let k = 0; k < 5; k++) await put(k, k)
    await put(0, 1)
    for (let k = 5; k < 25; k++) await put(k, k)
    const { reader } = tables.data
    const bound: unknown[][] = []
    const prepare = reader.prepare.bind(reader)
    Object.assign(reader, {
      prepare(text: string) {
        const made = prepare(text)
        if (!text.includes('IS NULL')) return made
        t.match(prepare(`EXPLAIN QUERY PLAN ${text}`).all(0, 0, 0), [{ detail: /rowid>\? AND rowid<\?/ }])
        const all = made.all.bind(made)
        return Object.assign(made, {
          all(...params: unknown[]) {
            bound.push(params)
            return all(...params)
          },
        })
      },
    })
    const page = await changes.after(table, 6, 5)
    t.same(
      page.map(({ change }) => change),
      [7, 8, 9, 10, 11],
    )
    t.same(bound, [[6, 11n, 5]], 'ids behind 6, up to 11')
  },
)

t.test('changes: random puts and overrides read in pieces of any size give every change once', async (t) => {
  let seed = 7
  const random = (n: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * n)
  }
  for (let round = 0; round < 20; round++) {
    const { tables, table, changes, after } = setUp()
    const newest = new Map<string, { k: number; v: number; origin: string }>()
    const received = new Map<string, { k: number; v: number; origin: string }>()
    let cursor = 0
    let last = 0
    for (let call = 0; call < 15; call++) {
      const origin = ['', HUB, VAN][random(3)] as string
      const records = Array.from({ length: 1 + random(12) }, () => ({ k: random(40), v: random(1000) }))
      await tables.put(
        table,
        records.map(({ k, v }) => record(k, v)),
        'override',
        { origin },
      )
      for (const { k, v } of records) newest.set(`${origin} ${k}`, { k, v, origin })
      // a reader that falls behind now and then
      for (let piece = random(3); piece > 0; piece--) take(await after(cursor, 1 + random(9)))
    }
    for (let rows = await after(cursor, 7); rows.length > 0; rows = await after(cursor, 7)) take(rows)
    t.same(new Map([...received].sort()), new Map([...newest].sort()), `round ${round}`)
    t.equal(cursor, await changes.last(table))

    function take(rows: Awaited<ReturnType<typeof after>>) {
      for (const { change, origin, k, v } of rows) {
        if (change <= last) t.fail(`change ${change} after ${last}`)
        last = change
        received.set(`${origin} ${k}`, { k, v, origin })
      }
      cursor = last
    }
  }
})

t.test('changes: those of a condition are read window by window, or those of a backlog', async (t) => {
  const { put, changes, table } = setUp()
  for (let k = 1; k <= 6; k++) await put(k, k)
  await put(1, 10) // change 7
  const env = { timeZoneMin: 0, nowUs: 0n }
  const keys = async (after: number, limit: number, filter: object) => {
    const { rows, until } = await changes.matching(table, after, limit, { env, ...filter })
    return [rows.map(({ values }) => Number(values[3])), until]
  }
  t.same(await keys(0, 4, { conds: { '>': ['v', 4] } }), [[], 4], 'a window without a match')
  t.same(await keys(4, 4, { conds: { '>': ['v', 4] } }), [[5, 6, 1], 7])
  for (const conds of [null, undefined]) {
    t.same(await keys(0, 2, { conds }), [[2, 3], 3], 'from change to change')
    t.same(await keys(3, 9, { conds }), [[4, 5, 6, 1], 7], 'to the last')
    t.same(await keys(7, 9, { conds }), [[], 7])
    const backlog = { untilChange: 5, fromUs: 0 }
    t.same(await keys(0, 9, { conds, backlog }), [[6, 1], 7], 'rows without a start are no backlog')
    t.same(await keys(5, 9, { conds, backlog }), [[6, 1], 7])
  }
})
