import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { MapContext } from '../../../src/api/map/context.js'
import { mapReads } from '../../../src/api/map/reads.js'
import { riskmap } from '../../../src/api/map/riskmap.js'
import { loadConfig, type Settings } from '../../../src/config/config.js'
import { boxPolygon } from '../../../src/geo/bbox.js'
import { type MeshDegree, meshBox, meshRange, meshRing } from '../../../src/geo/mesh.js'
import { overlapsCell } from '../../../src/geo/mesh-cover.js'
import { shapeOf } from '../../../src/geo/shape.js'
import type { Bbox, Geometry, Position } from '../../../src/geo/types.js'
import { adminCaller } from '../../support/caller.js'
import { inlineReaders } from '../../support/inline-readers.js'
import { readResult } from '../../support/read-stream.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, openTables, type Tables, TIME_ZONE_MIN } from '../../support/tables.js'

interface RiskFeature {
  type: string
  geometry: { type: string; coordinates: Position[][] }
  properties: { theme: string; datetime: string; risk: number }
}
interface Cell {
  geometry: Geometry | null
  risk: number | null
  start?: string
  end?: string
}

function contextOf(tables: Tables, settings: Settings = {}): MapContext {
  const loaded = loadConfig(null, {}, settings)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { signal } = new AbortController()
  const readers = inlineReaders(mapReads({ tables: tables.reader, config: loaded.config, timeZoneMin: 540 }))
  return { readers, signal, caller: adminCaller, timeZoneMin: TIME_ZONE_MIN }
}

async function themeOf(tables: Tables, name: string, cells: Cell[], levelColumn = 'risk'): Promise<void> {
  const columns = [
    { name: levelColumn, udtName: 'int4' as const },
    { name: 'n', udtName: 'int4' as const },
  ]
  const table = tables.register(name, columns, ['n'])
  const records = cells.map(({ geometry, risk, start, end }, n) =>
    feature(geometry, { n, [levelColumn]: risk, start_datetime: start ?? null, end_datetime: end ?? null }),
  )
  await tables.put(table, records)
}

async function ask(tables: Tables, geometry: unknown, properties: object, settings?: Settings) {
  const params = {
    type: 'Feature',
    geometry,
    properties: { start_datetime: HOURS[0], themes: ['flood'], ...properties },
  }
  const { value } = await readResult(await riskmap.call(params, contextOf(tables, settings)))
  const { features, ...rest } = value as { type: string; name: string; features: RiskFeature[] }
  deepStrictEqual(rest, { type: 'FeatureCollection', name: 'requestExtraRiskmapResponse' })
  return features
}

const HOURS = ['2025-06-01T00:00:00+09:00', '2025-06-01T01:00:00+09:00', '2025-06-01T02:00:00+09:00'] as const
const square = (...box: Bbox): Geometry => boxPolygon(box)
const WORLD = square(-180, -90, 180, 90)

t.test('mapserv.riskmap: stored cells have exactly theme, datetime and risk', async (t) => {
  const tables = openTables()
  await themeOf(tables, 'flood', [
    { geometry: square(139, 35, 139.1, 35.1), risk: 3, start: HOURS[0], end: HOURS[1] },
    { geometry: square(139.2, 35, 139.3, 35.1), risk: 12, start: HOURS[0], end: HOURS[1] },
    { geometry: square(139.2, 35, 139.3, 35.1), risk: -1 },
    { geometry: null, risk: 5, start: HOURS[0], end: HOURS[1] },
    { geometry: square(139.2, 35, 139.3, 35.1), risk: null, start: HOURS[0], end: HOURS[1] },
    { geometry: square(10, 10, 11, 11), risk: 5, start: HOURS[0], end: HOURS[1] },
  ])
  const cells = await ask(tables, square(139, 35, 140, 36), {})
  t.same(cells, [
    {
      type: 'Feature',
      geometry: square(139, 35, 139.1, 35.1),
      properties: { theme: 'flood', datetime: HOURS[0], risk: 3 },
    },
    {
      type: 'Feature',
      geometry: square(139.2, 35, 139.3, 35.1),
      properties: { theme: 'flood', datetime: HOURS[0], risk: 10 },
    },
    {
      type: 'Feature',
      geometry: square(139.2, 35, 139.3, 35.1),
      properties: { theme: 'flood', datetime: HOURS[0], risk: 0 }, // its slot has no start: that of the period
    },
  ])
  t.equal((await ask(tables, null, {})).length, 4, 'null is everywhere')
})

t.test('mapserv.riskmap: the period is half-open, and a second long without an end', async (t) => {
  const tables = openTables()
  const geometry = square(139, 35, 139.1, 35.1)
  await themeOf(tables, 'flood', [
    { geometry, risk: 1, start: HOURS[0], end: HOURS[1] },
    { geometry, risk: 2, start: HOURS[1], end: HOURS[2] },
    { geometry, risk: 3, start: HOURS[2] },
  ])
  const risks = async (start_datetime: string, end_datetime?: string) =>
    (await ask(tables, WORLD, { start_datetime, ...(end_datetime && { end_datetime }) })).map(
      (cell) => cell.properties.risk,
    )
  t.same(await risks(HOURS[0]), [1])
  t.same(await risks('2025-06-01 00:59:59'), [1])
  t.same(await risks('2025-06-01 00:59:59.5'), [1, 2])
  t.same(await risks(HOURS[0], HOURS[1]), [1])
  t.same(await risks(HOURS[0], HOURS[2]), [1, 2])
  t.same(await risks(HOURS[1]), [2])
  t.same(await risks('2030-01-01 00:00:00'), [3])
  t.same(await risks('2020-01-01 00:00:00', HOURS[0]), [])
})

t.test(
  'mapserv.riskmap: themes by name, by riskmap_name and by configuration; unknown ones are empty',
  async (t) => {
    const tables = openTables()
    const geometry = square(139, 35, 139.1, 35.1)
    await themeOf(tables, 'flood', [{ geometry, risk: 1 }])
    await themeOf(tables, 'riskmap_rain', [{ geometry, risk: 2 }])
    await themeOf(tables, 'store_of_heat', [{ geometry, risk: 3 }])
    tables.register('notes', [{ name: 'risk', udtName: 'text' }], ['risk'])
    const settings = { riskmap: { themes: { heat: 'store_of_heat', flood2: 'flood' } } }
    const themes = ['rain', 'heat', 'nowhere', 'flood', 'flood', 'notes', 'flood2', 'toString']
    const cells = await ask(tables, WORLD, { themes }, settings)
    t.same(
      cells.map(({ properties }) => [properties.theme, properties.risk]),
      [
        ['rain', 2],
        ['heat', 3],
        ['flood', 1],
        ['flood2', 1],
      ],
    )
    t.same(await ask(tables, WORLD, { themes: [] }), [])
    const renamed = openTables()
    await themeOf(renamed, 'flood', [{ geometry, risk: 4 }], 'danger')
    t.equal((await ask(renamed, WORLD, {}, { riskmap: { levelColumn: 'danger' } }))[0]?.properties.risk, 4)
  },
)

t.test(
  'mapserv.riskmap: with a degree, grid cells with the highest risk that overlaps them by area',
  async (t) => {
    const tables = openTables()
    const cell = meshBox(3, 139 * 80, 35 * 120)
    await themeOf(tables, 'flood', [
      { geometry: square(...cell), risk: 3, start: HOURS[0], end: HOURS[1] },
      {
        geometry: square(cell[0], cell[1], cell[0] + 0.001, cell[1] + 0.001),
        risk: 7,
        start: HOURS[0],
        end: HOURS[1],
      },
      {
        geometry: square(cell[2], cell[1], cell[2] + 0.001, cell[3]),
        risk: 2,
        start: HOURS[0],
        end: HOURS[1],
      },
      {
        geometry: { type: 'Point', coordinates: [cell[0] + 0.005, cell[1] + 0.005] },
        risk: 9,
        start: HOURS[0],
        end: HOURS[1],
      },
      { geometry: square(...cell), risk: 0, start: HOURS[1], end: HOURS[2] },
    ])
    const options = { target_theme_mesh_degree: 3, end_datetime: HOURS[2] }
    const cells = await ask(tables, WORLD_AROUND, options)
    t.same(cells, [
      {
        type: 'Feature',
        geometry: { type: 'Polygon', coordinates: [meshRing(3, 139 * 80, 35 * 120)] },
        properties: { theme: 'flood', datetime: HOURS[0], risk: 7 },
      },
      {
        type: 'Feature',
        geometry: { type: 'Polygon', coordinates: [meshRing(3, 139 * 80 + 1, 35 * 120)] },
        properties: { theme: 'flood', datetime: HOURS[0], risk: 2 },
      },
      {
        type: 'Feature',
        geometry: { type: 'Polygon', coordinates: [meshRing(3, 139 * 80, 35 * 120)] },
        properties: { theme: 'flood', datetime: HOURS[1], risk: 0 },
      },
    ])
    t.same(await ask(tables, null, options), cells, 'everywhere: the grid covers what there is')
    t.same(
      await ask(tables, square(...cell), options),
      [cells[0], cells[2]],
      'an area on the lines of the grid has no neighbours',
    )
    const inside: Geometry = { type: 'Point', coordinates: [cell[2], cell[1] + 0.001] }
    t.same(await ask(tables, inside, options), cells, 'a point on a line has the cells on both sides')
  },
)

const WORLD_AROUND = square(138.9, 34.9, 139.3, 35.2)

t.test('property: mapserv.riskmap: a mesh answer equals each cell of the grid asked alone', async () => {
  const lattice = fc
    .tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 }))
    .map(([x, y]): Position => [139 + x / 400, 35 + y / 600])
  const ring = fc.array(lattice, { minLength: 3, maxLength: 5 }).map((open) => [...open, open[0] as Position])
  const polygon = ring.map((positions): Geometry => ({ type: 'Polygon', coordinates: [positions] }))
  const cells = fc.array(fc.record({ geometry: polygon, risk: fc.integer({ min: 0, max: 10 }) }), {
    maxLength: 6,
  })
  await fc.assert(
    fc.asyncProperty(cells, polygon, fc.constantFrom<MeshDegree>(3, 4), async (list, area, degree) => {
      const tables = openTables()
      await themeOf(tables, 'flood', list)
      const found = await ask(tables, area, { target_theme_mesh_degree: degree })
      const range = meshRange(degree, [138.9, 34.9, 139.2, 35.2])
      const expected: [string, number][] = []
      for (let row = range.south; row <= range.north; row++) {
        for (let column = range.west; column <= range.east; column++) {
          const box = meshBox(degree, column, row)
          if (!overlapsCell(shapeOf(area), box)) continue
          const risks = list
            .filter(({ geometry }) => overlapsCell(shapeOf(geometry), box))
            .map(({ risk }) => risk)
          if (risks.length > 0)
            expected.push([JSON.stringify(meshRing(degree, column, row)), Math.max(...risks)])
        }
      }
      deepStrictEqual(
        found.map(({ geometry, properties }) => [JSON.stringify(geometry.coordinates[0]), properties.risk]),
        expected,
      )
      await tables.data.close()
    }),
    { numRuns: 40 },
  )
})

t.test('mapserv.riskmap: an area of too many cells is refused, not begun', async (t) => {
  const tables = openTables()
  await themeOf(tables, 'flood', [{ geometry: square(0, 0, 40, 40), risk: 1 }])
  await rejectsWith(t, ask(tables, WORLD, { target_theme_mesh_degree: 5 }), 'TOO_MANY_CELLS', {
    data: { limit: 1_000_000 },
    message: /limits\.meshCells/,
  })
  await rejectsWith(t, ask(tables, null, { target_theme_mesh_degree: 5 }), 'TOO_MANY_CELLS')
  const few = { limits: { meshCells: 4 } }
  const [found] = await ask(tables, square(1, 1, 1.01, 1.01), { target_theme_mesh_degree: 1 }, few)
  t.equal(found?.properties.risk, 1)
})

t.test('mapserv.riskmap: a slot without a start begins with the period, stored or on the grid', async (t) => {
  const tables = openTables()
  await themeOf(tables, 'flood', [
    { geometry: square(139, 35, 139.1, 35.1), risk: 2, start: '-infinity', end: 'infinity' },
  ])
  for (const properties of [{}, { end_datetime: null }, { end_datetime: 'infinity' }]) {
    for (const degree of [{}, { target_theme_mesh_degree: 1 }]) {
      const [cell] = await ask(tables, null, { ...properties, ...degree })
      t.same(cell?.properties, { theme: 'flood', datetime: HOURS[0], risk: 2 })
    }
  }
})

t.test('mapserv.riskmap: bad calls', async (t) => {
  const tables = openTables()
  await themeOf(tables, 'flood', [{ geometry: square(0, 0, 1, 1), risk: 1 }])
  const bad: [string, unknown, object, RegExp][] = [
    ['no geometry', undefined, {}, /\$\.geometry/],
    [
      'a bad geometry',
      { type: 'Point', coordinates: [200, 0] },
      {},
      /\$\.geometry\.coordinates\[0\]: found 200/,
    ],
    ['a null start', null, { start_datetime: null }, /\$\.properties\.start_datetime: found null/],
    ['an infinite start', null, { start_datetime: 'infinity', end_datetime: 'infinity' }, /after the start/],
    ['no start', null, { start_datetime: undefined }, /\$\.properties\.start_datetime/],
    [
      'a start that is none',
      null,
      { start_datetime: 'yesterday' },
      /\$\.properties\.start_datetime.*yesterday/,
    ],
    ['an end that is no later', null, { end_datetime: HOURS[0] }, /\$\.properties\.end_datetime/],
    ['themes that are no list', null, { themes: 'flood' }, /\$\.properties\.themes/],
    ['degree 0', null, { target_theme_mesh_degree: 0 }, /\$\.properties\.target_theme_mesh_degree/],
    ['degree 6', null, { target_theme_mesh_degree: 6 }, /\$\.properties\.target_theme_mesh_degree/],
    ['degree 2.5', null, { target_theme_mesh_degree: 2.5 }, /\$\.properties\.target_theme_mesh_degree/],
    ['an unknown property', null, { theme: 'flood' }, /theme/],
  ]
  for (const [name, geometry, properties, message] of bad)
    await t.test(name, (t) =>
      rejectsWith(t, ask(tables, geometry, properties), 'INVALID_PARAMS', { message }),
    )
})
