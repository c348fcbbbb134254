import type { Test } from 'tap'
import type { DayFilter } from '../../../../src/storage/exchange/day-rows.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

const FAR = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
const HOUR_US = 3_600_000_000
const DAY_US = 86_400_000_000n

/** Rows by the days of their last writes. */
export async function conformDays(t: Test, open: OpenTables): Promise<void> {
  await t.test('day rows: by days, changes and conditions, in the order of the ids', async (t) => {
    const { register, put, changes, env } = await open(t)
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'shape', udtName: 'geometry' as const },
    ]
    const table = await register('x', columns, ['k'])
    const record = (k: number) =>
      feature([k, 0], {
        k,
        shape: k === 2 ? null : { type: 'Point', coordinates: [k % 2, 0] },
        start_datetime: `1970-01-01 0${k}:00:00+00`,
      })
    const write = (ks: number[], day: number, origin = '') =>
      put(table, ks.map(record), 'override', { origin, env: { ...env, nowUs: BigInt(day) * DAY_US } })
    await write([1, 2], 10)
    await write([3], 11, FAR)
    await write([4, 5], 12)
    await write([1], 13)
    const filter = (more: Partial<DayFilter>): DayFilter => ({
      ...{ fromDay: 0, toDay: 99_999, afterChange: 0, untilChange: 99, conds: null, env },
      ...more,
    })
    const keys = async (more: Partial<DayFilter>) => {
      const { rows } = await changes.ofDays(table, 0, 100, filter(more))
      t.equal(await changes.countOfDays(table, filter(more)), rows.length)
      return rows.map(({ values }) => Number(values[3]))
    }
    t.same(await keys({}), [1, 2, 3, 4, 5])
    t.same(await keys({ fromDay: 11, toDay: 12 }), [3, 4, 5])
    t.same(await keys({ fromDay: 13 }), [1])
    t.same(await keys({ fromDay: 14 }), [])
    t.same(await keys({ afterChange: 2, untilChange: 4 }), [3, 4])
    t.same(await keys({ conds: { '>=': ['k', 4] } }), [4, 5])
    t.same(await keys({ conds: { intersects: ['shape', 'POINT(1 0)'] } }), [1, 3, 5])
    t.same(await keys({ conds: { not: { intersects: ['shape', 'POINT(1 0)'] } }, toDay: 12 }), [4])
    t.same(await keys({ conds: { intersects: ['shape', 'GEOMETRYCOLLECTION EMPTY'] } }), [])
    t.same(await keys({ backlog: { untilChange: 4, fromUs: 3 * HOUR_US } }), [1, 3, 4, 5])
    t.same(await keys({ backlog: { untilChange: 99, fromUs: 9 * HOUR_US } }), [])
    const { rows } = await changes.ofDays(table, 0, 100, filter({}))
    t.same(
      rows.map(({ rowId, change, origin, day }) => [rowId, change, origin, day]),
      [
        [1, 6, '', 13],
        [2, 2, '', 10],
        [3, 3, FAR, 11],
        [4, 4, '', 12],
        [5, 5, '', 12],
      ],
    )
    const after = await changes.after(table, 0, 100)
    for (const { change, version } of rows)
      t.equal(version, after.find((row) => row.change === change)?.version)
    t.match(await changes.ofDays(table, 0, 3, filter({})), { rows: { length: 3 }, until: 3, isEnd: false })
    t.match(await changes.ofDays(table, 3, 3, filter({})), { rows: { length: 2 }, until: 5, isEnd: true })
    t.match(await changes.ofDays(table, 5, 3, filter({})), { rows: { length: 0 }, until: 5, isEnd: true })
    const empty = await register('empty', columns, ['k'])
    t.match(await changes.ofDays(empty, 0, 3, filter({})), { rows: { length: 0 }, isEnd: true })
    t.equal(await changes.countOfDays(empty, filter({})), 0)
  })
}
