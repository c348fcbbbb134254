import t from 'tap'
import { addDigest, createRowDigest, noRows, sumHex } from '../../../../src/storage/exchange/row-digest.js'
import { transaction } from '../../../../src/storage/sqlite/connection/database.js'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { dropTable } from '../../../../src/storage/sqlite/tables/catalog.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { putSentRows } from '../../../../src/storage/sqlite/tables/sent-rows.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { NOW_US, openTables, type Tables } from '../../../support/tables.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const DAY_US = 86_400_000_000n
const noPause = () => undefined

function setUp() {
  const tables = openTables()
  const table = tables.register(
    'x',
    [
      { name: 'k', udtName: 'int4', isNullable: false },
      { name: 'v', udtName: 'float8' },
      { name: 'note', udtName: 'text' },
    ],
    ['k'],
  )
  const digests = createTableDigests(tables.data)
  const put = (k: number, v: number, dayOffset = 0n) =>
    tables.put(table, [recordOf(k, v)], 'override', {
      env: { nowUs: BigInt(NOW_US) + dayOffset * DAY_US, timeZoneMin: 0 } as never,
    })
  return { tables, table, digests, put }
}

const recordOf = (k: number, v: number) => ({
  ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [k / 10, 1] } },
  properties: { k, v, note: `n${v}`, start_datetime: '2025-01-02 03:04:05+00' },
})

/** Sums by origin and day as text, from the rows as they are. */
async function sumsOfRows({ data }: Tables, table: LoaderTable): Promise<string[]> {
  const digest = createRowDigest(table.columns)
  const rows = await createTableChanges(data.reader).after(table, 0, 100_000)
  const groups = Map.groupBy(rows, ({ origin, day }) => `${origin} ${day}`)
  return [...groups]
    .map(([name, group]) => {
      const sum = noRows()
      for (const { values } of group) addDigest(sum, digest(values))
      return `${name} ${sum.rows} ${sumHex(sum)}`
    })
    .sort()
}

async function kept({ digests, table }: ReturnType<typeof setUp>): Promise<string[]> {
  const sums = await digests.read(table, null)
  if (sums?.isWhole !== true) throw new Error('rows are left to count')
  return sums.days.map(({ origin, day, sum }) => `${origin} ${day} ${sum.rows} ${sumHex(sum)}`).sort()
}

t.test('digests: a table that is not counted has none, and costs none', async (t) => {
  const { tables, table, digests, put } = setUp()
  await put(1, 1)
  t.equal(await digests.read(table, null), undefined)
  t.equal(await digests.count(table, 10), true)
  t.equal(tables.data.reader.prepare('SELECT count(*) FROM loader_digest_day').pluck().get(), 0)
})

t.test(
  'digests: any order of puts, overrides, received rows and counting has the sums of the rows',
  async (t) => {
    let seed = 11
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let round = 0; round < 8; round++) {
      const all = setUp()
      const { tables, table, digests, put } = all
      for (let k = 0; k < 30; k++) await put(k, 0)
      await digests.begin(table)
      for (let step = 0; step < 60; step++) {
        const what = random(10)
        if (what < 4) await put(random(40), random(5), BigInt(random(3)))
        else if (what < 6)
          await tables.put(
            table,
            [recordOf(random(40), 1), recordOf(random(40), 2), recordOf(3, 3)],
            'override',
          )
        else if (what < 7) await tables.put(table, [recordOf(random(40), 1)], 'skip')
        else if (what < 9) await receive(tables, table, random)
        else await digests.count(table, 1 + random(20))
        if (step === 20) await tables.put(table, [recordOf(1, 1), {}], 'override').catch(() => undefined)
      }
      while (!(await digests.count(table, 7)));
      t.same(await kept(all), await sumsOfRows(tables, table), `round ${round}`)
      await put(1, 99)
      await receive(tables, table, random)
      t.same(await kept(all), await sumsOfRows(tables, table), 'kept with each write')
    }
  },
)

async function receive(tables: Tables, table: LoaderTable, random: (below: number) => number): Promise<void> {
  const rows = Array.from({ length: 3 }, () => ({
    day: 20_000 + random(3),
    version: random(4),
    values: [null, null, null, BigInt(random(20)), random(3) / 10, null],
  }))
  const { writer } = tables.data
  writer.exec('BEGIN')
  await putSentRows(writer, table, { origin: VAN, sender: VAN, rows }, noPause)
  writer.exec('COMMIT')
}

t.test('digests: rows that another program writes are noticed, and counted again', async (t) => {
  const all = setUp()
  const { tables, table, digests, put } = all
  for (let k = 0; k < 10; k++) await put(k, k)
  await put(3, 33)
  await digests.begin(table)
  t.equal(await digests.count(table, 100), true)
  const before = await kept(all)
  const edits = [
    'UPDATE x_tbl_0 SET v = 5 WHERE k = 4',
    'UPDATE x_tbl_0 SET "row day" = 1 WHERE k = 3',
    'DELETE FROM x_tbl_0 WHERE k = 5',
    'DELETE FROM x_tbl_0 WHERE k = 3',
    `DROP INDEX x_tbl_0_key; INSERT INTO x_tbl_0 SELECT start_datetime, end_datetime, location, k, v, note, 100,
      "row origin", "row change", "row day", "row version", "row sender" FROM x_tbl_0 WHERE k = 2`,
    `DELETE FROM x_tbl_0 WHERE k = 4; INSERT INTO x_tbl_0 (k, v, "row id") VALUES (77, 1, 5)`,
    'INSERT INTO x_tbl_0 (k, v) VALUES (77, 1)',
    `INSERT INTO x_tbl_0 (k, v, "row change") VALUES (77, 1, 4)`,
  ]
  for (const sql of edits) {
    tables.data.writer.exec(`SAVEPOINT edit; ${sql}`)
    const sums = await digests.read(table, null)
    t.equal(sums?.isWhole, false, sql)
    t.match(await digests.uncounted(), [{ table: { dataName: 'x' } }])
    while (!(await digests.count(table, 4)));
    t.same(await kept(all), await sumsOfRows(tables, table))
    t.notSame(await kept(all), before)
    tables.data.writer.exec('ROLLBACK TO edit; RELEASE edit')
  }
  t.same(await kept(all), before)
  t.same(await digests.uncounted(), [])
})

t.test(
  'digests: rows that another program adds are noticed where ids are missing, and before the next write',
  async (t) => {
    const all = setUp()
    const { tables, table, digests, put } = all
    for (let k = 0; k < 10; k++) await put(k, k)
    tables.data.writer.exec('DELETE FROM x_tbl_0 WHERE k IN (2, 6)')
    await digests.begin(table)
    t.equal((await digests.read(table, null))?.isWhole, true)
    await put(20, 1)
    t.equal((await digests.read(table, null))?.isWhole, true)
    tables.data.writer.exec('INSERT INTO x_tbl_0 (k, v, "row change") VALUES (77, 1, 4)')
    await put(21, 1)
    await put(3, 33)
    t.equal((await digests.read(table, null))?.isWhole, false)
    t.equal(await digests.count(table, 100), false, 'a row with a number of before is in no sum')
    t.match(await digests.uncounted(), [{ isStale: true }])
    t.equal(await digests.count(table, 100), true)
    t.same(await kept(all), await sumsOfRows(tables, table))
    t.same(await digests.uncounted(), [])
  },
)

t.test('digests: a write before rows are counted again spoils nothing', async (t) => {
  const all = setUp()
  const { tables, table, digests, put } = all
  for (let k = 0; k < 10; k++) await put(k, k)
  await digests.begin(table)
  await digests.count(table, 100)
  tables.data.writer.exec('DELETE FROM x_tbl_0 WHERE k = 9')
  await put(4, 44)
  await put(20, 1)
  t.match(await digests.uncounted(), [{ isStale: true, share: 0 }])
  await digests.count(table, 3)
  await put(5, 55)
  await put(0, 55)
  while (!(await digests.count(table, 3)));
  t.same(await kept(all), await sumsOfRows(tables, table))
  await digests.restart(table)
  t.match(await digests.uncounted(), [{ share: 0 }])
})

t.test('digests: a dropped table takes its sums along', async (t) => {
  const { tables, table, digests, put } = setUp()
  await put(1, 1)
  await digests.begin(table)
  await digests.count(table, 100)
  transaction(tables.data.writer, () => dropTable(tables.data.writer, table))
  for (const name of ['loader_digest', 'loader_digest_day'])
    t.equal(tables.data.reader.prepare(`SELECT count(*) FROM ${name}`).pluck().get(), 0)
  t.equal(await digests.count(table, 100), true)
  await digests.begin(table)
})
