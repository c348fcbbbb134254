import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type PreparedArea, prepareArea } from '../../../../src/geo/prepared-area.js'
import { reproject, toMercator } from '../../../../src/geo/reproject.js'
import type { Geometry } from '../../../../src/geo/types.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { createDatasetTables } from '../../../../src/storage/sqlite/datasets/table-reader.js'
import { createFeatureSources } from '../../../../src/storage/sqlite/features/sources.js'
import type { TableQuery, TableRow } from '../../../../src/storage/tables.js'
import { boxRing } from '../../../support/boxes.js'
import {
  allRecords,
  columns,
  definition,
  type OpenedDatasets,
  openDatasets,
} from '../../../support/datasets.js'
import { anyGeometry, latticePosition } from '../../../support/geometries.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { feature, NOW_US, openTables, TIME_ZONE_MIN } from '../../../support/tables.js'

function opened(t: Pick<Test, 'testdir' | 'teardown'>) {
  const datasets = openDatasets(`${t.testdir()}/data.db`)
  t.teardown(() => datasets.close())
  return { ...datasets, ...readersOf(datasets) }
}

function readersOf({ data }: OpenedDatasets) {
  const common = { timeZoneMin: TIME_ZONE_MIN, pageRows: 5, nowUs: () => NOW_US }
  const tables = createDatasetTables(data.reader, common)
  const keyring = createKeyring(new Uint8Array(32).fill(7))
  const sources = createFeatureSources(data.reader, { ...common, tables, keyring, isOpen: false })
  return {
    tables,
    sources,
    async rows(name: string, query: TableQuery): Promise<TableRow[]> {
      const table = await tables.find(name)
      if (table === undefined) throw new Error(`no table ${name}`)
      return (await Array.fromAsync(tables.pages(table, query))).flat()
    },
    async features(name: string, area: PreparedArea): Promise<TableRow[]> {
      const source = await sources.find('dataset', name)
      if (source === undefined) throw new Error(`no collection ${name}`)
      return (await Array.fromAsync(source.pages({ area }))).flat()
    },
  }
}

/** Geometries on a lattice of degrees: edges that run along a parallel or a meridian are the same in both systems. */
const boxes = fc
  .tuple(
    fc.integer({ min: -9, max: 9 }),
    fc.integer({ min: -9, max: 9 }),
    fc.nat({ max: 5 }),
    fc.nat({ max: 5 }),
  )
  .map(([west, south, width, height]): Geometry => {
    const [east, north] = [west + width, south + height]
    if (width === 0 && height === 0) return { type: 'Point', coordinates: [west, south] }
    if (width === 0 || height === 0)
      return {
        type: 'LineString',
        coordinates: [
          [west, south],
          [east, north],
        ],
      }
    const ring = boxRing(west, south, east, north)
    return { type: 'Polygon', coordinates: [ring] }
  })

t.test(
  'property: a dataset in EPSG:3857 gives the rows of the same one in EPSG:4326, by area and by condition',
  async (t) => {
    const { store, rows, features } = opened(t)
    await store.create(definition('degrees', columns('k int', 'place geometry(Geometry,4326)'), ['k']))
    await store.create(definition('metres', columns('k int', 'place geometry(Geometry,3857)'), ['k']))
    const places = fc.sample(boxes, { numRuns: 60, seed: 13 })
    await store.put(
      'degrees',
      places.map((place, k) => [k, place]),
      'error',
    )
    await store.put(
      'metres',
      places.map((place, k) => [k, reproject(place, 4326, 3857)]),
      'error',
    )
    const keys = (found: TableRow[]) => found.map(({ properties }) => properties.k)
    await fc.assert(
      fc.asyncProperty(boxes, fc.constantFrom('intersects', 'within'), async (geometry, operator) => {
        const area = prepareArea(geometry)
        const expected = keys(await rows('degrees', { area }))
        t.same(keys(await rows('metres', { area })), expected, 'event data')
        t.same(keys(await features('metres', area)), expected, 'OGC')
        const conds = { [operator]: ['place', geometry] }
        const matching = keys(await rows('degrees', { conds }))
        t.same(keys(await rows('metres', { conds })), matching, 'conditions')
        t.same(await store.deleteRecords('metres', { and: [conds, { '=': ['k', -1] }] }), 0)
      }),
      { numRuns: 60 },
    )
  },
)

t.test('EPSG:3857: features are in WGS 84, records as they were put', async (t) => {
  const { store, rows, features, sources } = opened(t)
  await store.create(definition('d', columns('k int', 'place geometry(Point,3857)'), ['k']))
  const [x, y] = toMercator(139.5, 35.5)
  await store.put('d', [[1, { type: 'Point', coordinates: [x, y, 8] }]], 'error')
  const everywhere = prepareArea({ type: 'Point', coordinates: [139.5, 35.5] })
  for (const [found] of [await rows('d', {}), await features('d', everywhere)]) {
    const [lng = 0, lat = 0, height] = found?.geometry?.type === 'Point' ? found.geometry.coordinates : []
    t.ok(Math.abs(lng - 139.5) < 1e-9 && Math.abs(lat - 35.5) < 1e-9 && height === 8, `${lng} ${lat}`)
  }
  const { bbox } = (await (await sources.find('dataset', 'd'))?.extent()) ?? {}
  t.ok(bbox !== undefined && Math.abs(bbox[0] - 139.5) < 1e-4 && Math.abs(bbox[3] - 35.5) < 1e-4, `${bbox}`)
  await store.cite('c', 'd')
  const [record] = await allRecords(store, 'c', {
    conds: { within: ['place', `SRID=3857;POINT(${x} ${y})`] },
  })
  t.same(record, { k: 1, place: { type: 'Point', coordinates: [x, y, 8] } })
})

t.test('a system that cannot be converted: an area is refused, EWKT in the system is compared', async (t) => {
  const { store, rows, features, sources } = opened(t)
  await store.create(definition('d', columns('k int', 'place geometry(Point,2451)'), ['k']))
  await store.put('d', [[1, 'SRID=2451;POINT(-12000 5000)']], 'error')
  const area = prepareArea({ type: 'Point', coordinates: [139.5, 35.5] })
  await rejectsWith(t, rows('d', { area }), 'INVALID_PARAMS', {
    data: {
      faults: [
        {
          path: '$.geometry',
          message:
            'found a search area in EPSG:4326 for the column place in EPSG:2451, which the gateway cannot convert, expected no area, or a condition like {"intersects": ["place", "SRID=2451;POINT(1 2)"]}',
        },
      ],
    },
  })
  await rejectsWith(t, rows('d', { conds: { intersects: ['place', area.geometry] } }), 'BAD_CONDITION', {
    data: {
      path: '$.properties.conds["intersects"][1]',
      found: 'a geometry in EPSG:4326 for a column in EPSG:2451, which the gateway cannot convert',
      expected: 'EWKT in the system of the column, like "SRID=2451;POINT(1 2)"',
    },
  })
  const conds = (wkt: string) => ({ conds: { intersects: ['place', wkt] } })
  t.equal((await rows('d', conds('SRID=2451;POINT(-12000 5000)'))).length, 1)
  t.equal((await rows('d', conds('SRID=2451;POINT(-12000 5001)'))).length, 0)
  t.equal((await sources.find('dataset', 'd'))?.hasGeometry, false)
  const [found] = await features('d', area)
  t.match(found, { geometry: null, properties: { place: { coordinates: [-12_000, 5000] } } })
})

t.test('loader tables: a geometry column of another system is compared in it', async (t) => {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register(
    'd',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'metres', udtName: 'geometry', srid: 3857 },
      { name: 'plain', udtName: 'geometry', srid: 0 },
    ],
    ['k'],
  )
  const [x, y] = toMercator(139.5, 35.5)
  await tables.put(table, [feature(null, { k: 1, metres: `POINT(${x} ${y})`, plain: 'POINT(12345 1)' })])
  const count = async (conds: unknown) => (await tables.read(table, { conds })).length
  const around: Geometry = {
    type: 'Polygon',
    coordinates: [
      [
        [139, 35],
        [140, 35],
        [140, 36],
        [139, 36],
        [139, 35],
      ],
    ],
  }
  t.equal(await count({ within: ['metres', around] }), 1)
  t.equal(await count({ intersects: ['metres', 'POINT(1 1)'] }), 0)
  t.equal(await count({ intersects: ['metres', `SRID=3857;POINT(${x} ${y})`] }), 1)
  t.equal(await count({ intersects: ['metres', `SRID=0;POINT(1 1)`] }), 0, 'SRID 0 states no system')
  t.equal(await count({ intersects: ['plain', 'POINT(12345 1)'] }), 1, 'a column without a system')
})

t.test('property: geometries of any type are compared without a fault', async (t) => {
  const { store, rows } = opened(t)
  await store.create(definition('d', columns('place geometry(Geometry,3857)')))
  await fc.assert(
    fc.asyncProperty(anyGeometry(latticePosition(20)), async (geometry) => {
      t.type(await rows('d', { area: prepareArea(geometry) }), Array)
      t.type(await rows('d', { conds: { within: ['place', geometry] } }), Array)
    }),
    { numRuns: 50 },
  )
})
