import type { Test } from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import type { FeatureQuery, FeatureSource } from '../../../../src/storage/features.js'
import { rejectsWith } from '../../rejects-with.js'
import { feature } from '../../tables.js'
import type { OpenTables } from './world.js'

/** Loader tables as sources of features. */
export async function conformFeatures(t: Test, open: OpenTables): Promise<void> {
  await t.test('features: a table as a source: columns, pages, counts, version', async (t) => {
    const { register, put, features } = await open(t, { pageRows: 3 })
    const columns = [
      { name: 'k', udtName: 'int4' as const },
      { name: 'secret', isEncrypted: true },
      { name: 'shape', udtName: 'geometry' as const },
    ]
    const table = await register('x', columns, ['k'])
    const sources = features(false)
    const source = await sources.find('table', 'x')
    if (source === undefined) throw new Error('found no source')
    t.match(source, {
      kind: 'table',
      name: 'x',
      description: 'Data loader table event.x_tbl_0',
      hasGeometry: true,
      hasPeriod: true,
    })
    t.same(
      source.columns.map(({ name, isQueryable }) => [name, isQueryable]),
      [
        ['start_datetime', true],
        ['end_datetime', true],
        ['k', true],
        ['secret', false],
        ['shape', false],
      ],
    )
    t.same(
      (await features(true).find('table', 'x'))?.columns.map(({ name }) => name),
      ['start_datetime', 'end_datetime', 'k', 'shape'],
    )
    t.equal(await sources.find('table', 'x_tbl_0'), undefined, 'one address')
    t.equal(await sources.find('table', 'y'), undefined)
    t.equal(await sources.find('dataset', 'x'), undefined)
    t.equal(await sources.find('citation', 'x'), undefined)
    t.same(
      (await sources.list('table')).map(({ name }) => name),
      ['x'],
    )
    t.same(await sources.list('dataset'), [])
    t.same(await sources.list('citation'), [])

    t.same(await source.extent(), { bbox: undefined, interval: undefined })
    const before = await source.version()
    const rows = Array.from({ length: 8 }, (_, k) =>
      feature(k === 3 ? null : [k, 1], {
        k,
        start_datetime: `2025-01-0${k + 1}T00:00:00Z`,
        end_datetime: `2025-01-0${k + 1}T00:00:00Z`,
      }),
    )
    await put(table, rows)
    t.not(await source.version(), before)
    const ids = async (query: FeatureQuery, of: FeatureSource = source) => {
      const found: number[] = []
      for await (const page of of.pages(query)) found.push(...page.map(({ rowId }) => rowId))
      return found
    }
    const area = prepareArea({
      type: 'LineString',
      coordinates: [
        [1, 1],
        [5, 1],
      ],
    })
    t.same(await ids({}), [1, 2, 3, 4, 5, 6, 7, 8])
    t.same(await ids({ area }), [2, 3, 4, 5, 6], 'those without a place, too')
    t.equal(await source.count({ area }), 5)
    t.same(await ids({ area, afterId: 3, limit: 2 }), [4, 5])
    t.same(await ids({ beforeId: 7, isFromEnd: true, limit: 4 }), [3, 4, 5, 6])
    t.same(await ids({ area, isFromEnd: true, limit: 2 }), [5, 6])
    t.same(await ids({ conds: { '>': ['k', 5] } }), [7, 8])
    const dayUs = (day: number) => BigInt(Date.UTC(2025, 0, day)) * 1000n
    t.same(await ids({ span: { fromUs: dayUs(3), untilUs: dayUs(5) } }), [3, 4])
    t.equal(await source.count({}), 8)
    await rejectsWith(t, ids({ conds: { '=': ['secret', 'a'] } }), 'BAD_CONDITION')

    const { bbox, interval } = await source.extent()
    const [west = 9, south = 9, east = -9, north = -9] = bbox ?? []
    t.ok(west <= 0 && south <= 1 && east >= 7 && north >= 1, 'the rows are within')
    t.ok(west > -1 && east < 8, 'and it is not much wider')
    t.ok((interval?.[0] ?? 0n) <= dayUs(1) && (interval?.[1] ?? 0n) >= dayUs(8))
    await put(table, [feature([90, 80], { k: 100 })])
    t.same((await source.extent()).interval, [null, null], 'open ends')
  })
}
