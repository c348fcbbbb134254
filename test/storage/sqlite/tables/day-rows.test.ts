import t from 'tap'
import type { DayFilter } from '../../../../src/storage/exchange/day-rows.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../../support/tables.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const HOUR_US = 3_600_000_000

/** Rows 1 to 4 of the hours 0 to 3 of 1970, with the changes 1 to 4. */
async function setUp() {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const record = (k: number) => ({
    ...{ type: 'Feature', geometry: null },
    properties: { k, start_datetime: `1970-01-01 0${k - 1}:00:00+00` },
  })
  const put = (k: number, origin: string, more: object = {}) =>
    tables.put(table, [record(k)], 'skip', { origin, ...more })
  await put(1, '')
  await put(2, '')
  await put(3, VAN)
  await put(4, '')
  const changes = createTableChanges(tables.data.reader)
  const filter = (more: Partial<DayFilter>): DayFilter => ({
    ...{ fromDay: 0, toDay: 99_999, afterChange: 0, untilChange: 99 },
    ...{ conds: null, env: { timeZoneMin: 0, nowUs: 0n } as never, ...more },
  })
  const ids = async (more: Partial<DayFilter>) => {
    const { rows } = await changes.ofDays(table, 0, 100, filter(more))
    t.equal(await changes.countOfDays(table, filter(more)), rows.length)
    return rows.map(({ values }) => Number(values[3]))
  }
  return { tables, table, changes, filter, ids }
}

t.test('day rows: early changes count only with a row that starts late enough', async (t) => {
  const { ids } = await setUp()
  t.same(await ids({}), [1, 2, 3, 4])
  t.same(await ids({ backlog: { untilChange: 3, fromUs: HOUR_US } }), [2, 3, 4])
  t.same(await ids({ backlog: { untilChange: 3, fromUs: 9 * HOUR_US } }), [4], 'the fourth came after it')
  t.same(await ids({ afterChange: 1, untilChange: 3 }), [2, 3])
  t.same(await ids({ conds: { '=': ['k', 3] } }), [3])
  t.same(await ids({ fromDay: 99_999 }), [])
})

t.test('day rows: the version of a row of another node that has none is 0', async (t) => {
  const { tables, table, changes, filter } = await setUp()
  tables.data.writer.prepare('UPDATE x_tbl_0 SET "row version" = 7 WHERE k = 3').run()
  const read = async () =>
    (await changes.ofDays(table, 0, 100, filter({}))).rows.map(({ version }) => version)
  const [first, , sent] = await read()
  t.ok(Number(first) > 0, 'an own row has one from its change')
  t.equal(sent, 7)
  tables.data.writer.prepare('UPDATE x_tbl_0 SET "row version" = NULL WHERE k = 3').run()
  t.equal((await read())[2], 0, 'stored before rows had versions')
})

t.test('day rows: a window ends with its last id', async (t) => {
  const { table, changes, filter } = await setUp()
  t.match(await changes.ofDays(table, 0, 3, filter({})), { rows: { length: 3 }, until: 3, isEnd: false })
  t.match(await changes.ofDays(table, 3, 3, filter({})), { rows: { length: 1 }, until: 4, isEnd: true })
})
