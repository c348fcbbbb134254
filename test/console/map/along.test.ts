import t from 'tap'
import { partAt, pointAt, profileOf, roadRows, routeLines } from '../../../src/console/map/route/along.js'
import type { RouteFeature, RouteResult } from '../../../src/console/map/state.js'

type Wanted = Partial<RouteFeature['properties']> & { line?: [number, number][] }

/** Roads of 100 m at 60 km/h, one behind the other to the east. */
function roadsOf(wanted: readonly Wanted[]): RouteFeature[] {
  return wanted.map(({ line, ...properties }, i) => ({
    type: 'Feature',
    geometry: {
      type: 'LineString',
      coordinates: line ?? [
        [i, 0],
        [i + 1, 0],
      ],
    },
    properties: {
      ...{ edge_id: i, length: 100, speed: 60, risk: 0, notes: [], name: '', waypoint: false },
      ...{ time: 0.1 / 60, ...properties },
    },
  }))
}

function resultOf(features: RouteFeature[], totalCost: number, turnCost = 0): RouteResult {
  const time = features.reduce((sum, { properties }) => sum + properties.time, 0)
  const rest = { length: 0, max_risk: 0, avr_risk: 0, exposure: 0 }
  return { ...rest, features, time, total_cost: totalCost, turn_cost: turnCost }
}

t.test(
  'roadRows: consecutive roads of one name are one row, with the highest risk and all notes',
  async (t) => {
    const rows = roadRows(
      roadsOf([
        { name: 'A', risk: 1, notes: ['toll'] },
        { name: 'A', risk: 7, length: 300, time: 0.6 / 60, notes: ['toll', 'ford'] },
        { name: '' },
        { name: '' },
        { name: 'A' },
      ]),
    )
    t.same(
      rows.map(({ name, length, from, risk, notes }) => [name, length, from, risk, notes]),
      [
        ['A', 400, 0, 7, ['toll', 'ford']],
        ['', 200, 400, 0, []],
        ['A', 100, 600, 0, []],
      ],
    )
    t.ok(Math.abs((rows[0]?.speed ?? 0) - 400 / 1000 / (0.7 / 60)) < 1e-9, 'average by time')
    t.same(roadRows([]), [])
    t.equal(roadRows(roadsOf([{ length: 0, time: 0 }]))[0]?.speed, 0)
  },
)

t.test('routeLines: roads of one level are one line; another level and another leg begin one', async (t) => {
  const lines = routeLines(
    roadsOf([{ risk: 2 }, { risk: 2 }, { risk: 3, waypoint: true }, { risk: 3, waypoint: true }]),
    { key: 'around' },
  )
  t.same(
    lines.map(({ geometry, properties }) => [geometry.coordinates.length, properties]),
    [
      [3, { key: 'around', risk: 2, leg: 0 }],
      [2, { key: 'around', risk: 3, leg: 0 }],
      [2, { key: 'around', risk: 3, leg: 1 }],
    ],
  )
  t.same(routeLines([]), [])
})

t.test('profileOf: the excess of all roads is that of the route', async (t) => {
  const roads = roadsOf([{ risk: 0 }, { risk: 5 }, { risk: 10 }])
  const curve = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9]
  const whole = profileOf(resultOf(roads, (0.1 / 60) * (1 + 2 + 10) + 1, 1), [curve])
  t.same(
    whole.map(({ from, to, risk, factor }) => [from, to, risk, Math.round(factor * 1e6) / 1e6]),
    [
      [0, 100, 0, 1],
      [100, 200, 5, 2],
      [200, 300, 10, 10],
    ],
  )
  // the roads lie half in their cells
  const half = profileOf(resultOf(roads, (0.1 / 60) * (1 + 1.5 + 5.5)), [curve])
  t.same(
    half.map(({ factor }) => Math.round(factor * 1e6) / 1e6),
    [1, 1.5, 5.5],
  )
  t.same(
    profileOf(resultOf(roads, 9), []).map(({ factor }) => factor),
    [1, 1, 1],
    'no theme, no excess',
  )
})

t.test('partAt, pointAt: the place at a distance, also before the start and beyond the end', async (t) => {
  const roads = roadsOf([{ name: 'A' }, { name: 'B', line: [[1, 0], [1, 0], [1, 2], [1, 4]] }]) // biome-ignore format: one row
  const parts = profileOf(resultOf(roads, 0), [])
  t.same(
    [-5, 0, 99, 100, 150, 500].map((metres) => partAt(parts, metres)?.name),
    ['A', 'A', 'A', 'B', 'B', 'B'],
  )
  t.equal(partAt([], 5), undefined)
  t.same(pointAt(roads, 50), [0.5, 0])
  t.same(pointAt(roads, 150), [1, 2])
  t.same(pointAt(roads, 175), [1, 3])
  t.same(pointAt(roads, -1), [0, 0])
  t.same(pointAt(roads, 900), [1, 4])
  t.equal(pointAt([], 0), undefined)
  t.same(pointAt(roadsOf([{ length: 0, line: [[3, 3], [3, 3]] }]), 0), [3, 3], 'a road without a length') // biome-ignore format: one row
})
