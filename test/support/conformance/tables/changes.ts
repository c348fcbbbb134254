import type { Test } from 'tap'
import { rejectsWith } from '../../rejects-with.js'
import { feature, NOW_US, TIME_ZONE_MIN } from '../../tables.js'
import type { OpenTables } from './world.js'

const ENV = { timeZoneMin: TIME_ZONE_MIN, nowUs: BigInt(NOW_US) }

/** Rows in the order of their changes. */
export async function conformChanges(t: Test, open: OpenTables): Promise<void> {
  await t.test('changes: each row once, as it is now, with the number of its last change', async (t) => {
    const { register, put, changes } = await open(t)
    const table = await register(
      'x',
      [{ name: 'k', udtName: 'int4' }, { name: 'v' }, { name: 'on', udtName: 'bool' }],
      ['k'],
    )
    t.equal(await changes.last(table), 0)
    t.same(await changes.after(table, 0, 10), [])
    const row = (k: number, v: string) => feature([1, 2], { k, v, on: k > 1 })
    await put(table, [row(1, 'a'), row(2, 'b'), row(3, 'c')])
    await put(table, [row(1, 'd'), row(4, 'e')], 'override')
    t.equal(await changes.last(table), 5)
    const all = await changes.after(table, 0, 10)
    t.same(
      all.map(({ change, values }) => [change, values[3], values[4]]),
      [
        [2, 2n, 'b'],
        [3, 3n, 'c'],
        [4, 1n, 'd'],
        [5, 4n, 'e'],
      ],
    )
    t.same(
      all.map(({ values }) => values[5]),
      [1n, 1n, 0n, 1n],
    )
    const day = Math.floor(NOW_US / 86_400_000_000)
    for (const { origin, sender, day: of, version, change } of all)
      t.same([origin, sender, of, version - change], ['', '', day, (all[0]?.version ?? 0) - 2])
    t.ok((all[0]?.version ?? 0) >= NOW_US, 'versions are counted from the time of the registration')
    t.same(
      (await changes.after(table, 3, 10)).map(({ change }) => change),
      [4, 5],
    )
    t.same(
      (await changes.after(table, 0, 3)).map(({ change }) => change),
      [2, 3, 4],
    )
    t.same(await changes.after(table, 5, 10), [])
  })

  await t.test('changes: those of a condition, in windows of numbers', async (t) => {
    const { register, put, changes } = await open(t)
    const table = await register(
      'x',
      [
        { name: 'k', udtName: 'int4' },
        { name: 'shape', udtName: 'geometry' },
      ],
      ['k'],
    )
    const row = (k: number) =>
      feature([k, 2], {
        k,
        shape: k % 3 === 0 ? null : { type: 'Point', coordinates: [k % 3, 0] },
        start_datetime: `2025-01-0${(k % 9) + 1}`,
      })
    await put(
      table,
      Array.from({ length: 20 }, (_, k) => row(k)),
    )
    await put(table, [row(3), row(5)], 'override')
    const ask = async (
      after: number,
      limit: number,
      conds?: unknown,
      backlog?: { untilChange: number; fromUs: number },
    ) => {
      const { rows, until } = await changes.matching(table, after, limit, { conds, env: ENV, backlog })
      return [rows.map(({ values }) => Number(values[3])), until]
    }
    t.same(await ask(0, 100), [[0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 3, 5], 22])
    t.same(await ask(0, 100, null), await ask(0, 100))
    t.same(await ask(18, 3), [[18, 19, 3], 21])
    t.same(await ask(0, 10, { '>=': ['k', 6] }), [[6, 7, 8, 9], 10])
    t.same(await ask(10, 100, { '<': ['k', 12] }), [[10, 11, 3, 5], 22])
    t.same(await ask(0, 100, { intersects: ['shape', 'POINT(1 0)'] }), [[1, 4, 7, 10, 13, 16, 19], 22])
    t.same(await ask(0, 100, { not: { intersects: ['shape', 'POINT(1 0)'] } }), [[2, 8, 11, 14, 17, 5], 22])
    t.same(await ask(0, 100, { intersects: ['shape', { type: 'GeometryCollection', geometries: [] }] }), [
      [],
      22,
    ])
    const fromUs = Date.parse('2025-01-08T00:00:00+09:00') * 1000
    t.same(await ask(0, 100, {}, { untilChange: 19, fromUs }), [[7, 8, 16, 17, 19, 3, 5], 22])
    t.same(await ask(19, 100, undefined, { untilChange: 19, fromUs }), [[19, 3, 5], 22])
    await rejectsWith(t, ask(0, 10, { '=': ['nope', 1] }), 'BAD_CONDITION')
  })
}
