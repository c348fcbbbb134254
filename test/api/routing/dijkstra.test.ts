import t from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { nearest } from '../../../src/api/routing/nearest.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { at, town } from '../../support/town.js'

const LEVEL_5 = [0, 0, 0, 0, 0, 9999, 0, 0, 0, 0, 0]
const base = {
  themes: {},
  start_lonlat: at(0, 0),
  goal_lonlat: at(3, 0),
  start_datetime: '2026-01-01 12:00:00+09',
}

t.test(
  'routing.dijkstra: params in an array of one, or bare; all keys of the contract in the answer',
  async (t) => {
    const { ask } = openSearch(t, { town: town() })
    const answer = await ask(dijkstra, [base])
    t.same(answer, await ask(dijkstra, base))
    t.same(Object.keys(answer), [
      'geojson',
      'length',
      'time',
      'total_cost',
      'turn_cost',
      'max_risk',
      'avr_risk',
      'exposure',
      'start_node',
      'end_node',
      'start_snap',
      'goal_snap',
    ])
    t.same(Object.keys(answer.geojson.features[0].properties), [
      'edge_id',
      'length',
      'speed',
      'risk',
      'waypoint',
      'notes',
      'name',
      'time',
    ])
    t.match(answer, { start_node: 1000, end_node: 1003, max_risk: 0 })
    t.match((await ask(dijkstra, [{ ...base, with_kml: true }])).kml, /^<\?xml.*<kml xmlns/s)
  },
)

t.test('routing.dijkstra: geometry and arcs choose the shape of the route', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  const via = { ...base, via: [at(1, 1)] }
  const whole = await ask(dijkstra, [via])
  const legs = await ask(dijkstra, [{ ...via, arcs: false, geometry: 'polyline6' }])
  t.same({ ...legs, geojson: 0 }, { ...whole, geojson: 0 }, 'nothing but the features differs')
  const sums = ['length', 'time', 'total_cost', 'turn_cost', 'max_risk', 'avr_risk', 'exposure']
  for (const [leg, feature] of legs.geojson.features.entries()) {
    t.match(feature, { type: 'Feature', geometry: null, properties: { leg, waypoint: true } })
    t.same(Object.keys(feature.properties), ['leg', ...sums, 'waypoint', 'polyline6'])
  }
  t.equal(legs.geojson.features.length, 2)
  const bare = await ask(dijkstra, [{ ...via, geometry: 'none' }])
  const withoutLines = whole.geojson.features.map((feature: object) => ({ ...feature, geometry: null }))
  t.same(bare.geojson.features, withoutLines)
  await rejectsWith(t, ask(dijkstra, [{ ...base, geometry: 'wkt' }]), 'INVALID_PARAMS')
})

t.test('routing.dijkstra: service.routeKey names the route', async (t) => {
  const { ask } = openSearch(t, { town: town() }, { service: { routeKey: 'route' } })
  t.equal((await ask(dijkstra, [base])).route.type, 'FeatureCollection')
})

t.test(
  'routing.dijkstra: goes around cells that are valid at start_datetime, through them before and after',
  async (t) => {
    const { ask, addTheme, putCells } = openSearch(t, { town: town() })
    const flood = addTheme('flood')
    const box: [number, number, number, number] = [10.0025, 49.9995, 10.0035, 50.0005]
    await putCells(flood, [{ box, risk: 5, start: '2026-01-01 12:00:00+09', end: '2026-01-01 13:00:00+09' }])
    const linksAt = async (start_datetime: string, themes: Record<string, number[]> = { flood: LEVEL_5 }) =>
      (await ask(dijkstra, [{ ...base, start_datetime, themes }])).geojson.features.length
    t.equal(await linksAt('2026-01-01 11:59:59.999999+09'), 3)
    t.equal(await linksAt('2026-01-01 12:00:00+09'), 5)
    t.equal(await linksAt('2026-01-01T12:59:59+09:00'), 5)
    t.equal(await linksAt('2026-01-01 12:30:00'), 5, 'service.timeZone holds without an offset')
    t.equal(await linksAt('2026-01-01 13:00:00+09'), 3, 'half-open')
    t.equal(await linksAt('2026-01-01 12:30:00+09', { flood: new Array(11).fill(0) }), 3)
  },
)

t.test('routing.dijkstra: new rows are seen by the next call; each answer is of one state', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  const request = [{ ...base, themes: { flood: LEVEL_5 } }]
  t.equal((await ask(dijkstra, request)).geojson.features.length, 3)
  await putCells(flood, [{ box: [10.0025, 49.9995, 10.0035, 50.0005], risk: 5 }])
  t.equal((await ask(dijkstra, request)).geojson.features.length, 5)
})

t.test(
  'routing.dijkstra: the table of a theme has its name, or riskmap_<theme>, or that of riskmap.themes',
  async (t) => {
    const { ask, addTheme } = openSearch(t, { town: town() }, { riskmap: { themes: { fire: 'hot' } } })
    addTheme('flood')
    addTheme('riskmap_wind')
    addTheme('hot')
    for (const theme of ['flood', 'wind', 'riskmap_wind', 'fire', 'hot']) {
      t.ok(await ask(dijkstra, [{ ...base, themes: { [theme]: LEVEL_5 } }]))
    }
    await rejectsWith(t, ask(dijkstra, [{ ...base, themes: { snow: LEVEL_5 } }]), 'UNKNOWN_THEME', {
      message: /^Found theme "snow", which has no table, expected one of: /,
      data: { theme: 'snow' },
    })
    await rejectsWith(t, ask(dijkstra, [{ ...base, themes: { constructor: LEVEL_5 } }]), 'UNKNOWN_THEME')
  },
)

t.test('routing.dijkstra: UNKNOWN_THEME also for a table without levels', async (t) => {
  const { ask, tables } = openSearch(t, { town: town() })
  tables.register('plain', [{ name: 'id', udtName: 'int4' }], ['id'])
  await rejectsWith(t, ask(dijkstra, [{ ...base, themes: { plain: LEVEL_5 } }]), 'UNKNOWN_THEME', {
    message: /"plain", whose table has no integer column risk/,
  })
})

t.test('routing.dijkstra: BAD_SENSITIVITY for anything but 11 finite numbers from 0 up', async (t) => {
  const { ask, addTheme } = openSearch(t, { town: town() })
  addTheme('flood')
  for (const [values, message] of [
    [[], /found 0 values, expected 11/],
    [new Array(12).fill(0), /found 12 values/],
    [[-0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], /found -0.5 for level 0/],
    [[0, '1', 0, 0, 0, 0, 0, 0, 0, 0, 0], /found "1" for level 1/],
    [[0, 0, null, 0, 0, 0, 0, 0, 0, 0, 0], /found null for level 2/],
    [[0, 0, 0, Number.POSITIVE_INFINITY, 0, 0, 0, 0, 0, 0, 0], /found Infinity for level 3/],
    [[0, 0, 0, Number.NaN, 0, 0, 0, 0, 0, 0, 0], /found NaN/],
    [{ 0: 1 }, /expected an array of 11 numbers/],
    [null, /expected an array/],
  ] as const) {
    await rejectsWith(t, ask(dijkstra, [{ ...base, themes: { flood: values } }]), 'BAD_SENSITIVITY', {
      message,
    })
  }
  t.ok(await ask(dijkstra, [{ ...base, themes: { flood: new Array(11).fill(1e6) } }]))
})

t.test('routing.dijkstra: OUTSIDE_MAP names the point and the area', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  await rejectsWith(t, ask(dijkstra, [{ ...base, goal_lonlat: [11, 50] }]), 'OUTSIDE_MAP', {
    message: /goal_lonlat \[11, 50\] lies outside the area of map town/,
    data: { point: 'goal_lonlat', lonlat: [11, 50], areas: [{ map: 'town' }] },
  })
  await rejectsWith(t, ask(dijkstra, [{ ...base, via: [at(1, 1), [9.981, 50]] }]), 'OUTSIDE_MAP', {
    message: /via\[1\] \[9\.981, 50\] has no drivable road within 1000 m/,
    data: { point: 'via[1]', maxSnapM: 1000 },
  })
})

t.test('routing.dijkstra: the map by name, or the first whose area contains all points', async (t) => {
  const far = town()
  far.junctions = far.junctions.map(([lng, lat]) => [lng + 1, lat])
  const { ask } = openSearch(t, { a_far: far, b_here: town(), c_here: town(3) })
  const map = async (more: object) => (await ask(nearest, [{ lonlat: at(1, 1), ...more }])).map
  t.equal(await map({}), 'b_here')
  t.equal(await map({ map: 'c_here' }), 'c_here')
  await rejectsWith(t, ask(nearest, [{ lonlat: at(1, 1), map: 'nowhere' }]), 'UNKNOWN_MAP', {
    message: /Found map "nowhere"; expected one of b_here, c_here, a_far/,
    data: { known: ['a_far', 'b_here', 'c_here'] },
  })
  await rejectsWith(t, ask(dijkstra, [{ ...base, goal_lonlat: [11, 50] }]), 'OUTSIDE_MAP', {
    message: /goal_lonlat \[11, 50\] lies outside the area of map b_here, on which start_lonlat lies; no map/,
    data: { point: 'goal_lonlat', lonlat: [11, 50] },
  })
  await rejectsWith(t, ask(dijkstra, [{ ...base, map: 'a_far' }]), 'OUTSIDE_MAP', {
    data: { point: 'start_lonlat' },
  })
})

t.test('routing.dijkstra: UNKNOWN_MAP, condition no map at all', async (t) => {
  const { ask } = openSearch(t, {})
  await rejectsWith(t, ask(dijkstra, [base]), 'UNKNOWN_MAP', { data: { known: [] } })
})

t.test('routing.dijkstra: the limits on via points, themes, polygons and alternatives', async (t) => {
  const settings = {
    routing: {
      ...{ maxVia: 2, maxThemes: 1, maxAvoidPolygons: 1, maxAvoidPositions: 10 },
      ...{ maxAlternatives: 2, maxSettledNodes: 2 },
    },
  }
  const { ask, addTheme } = openSearch(t, { town: town() }, settings, false)
  addTheme('flood')
  const themes = { flood: LEVEL_5, wind: LEVEL_5 }
  const polygon = { type: 'Polygon', coordinates: [[at(0, 0), at(1, 0), at(1, 1), at(0, 0)]] }
  const via = [at(1, 1), at(2, 2), at(1, 2)]
  await rejectsWith(t, ask(dijkstra, [{ ...base, via }]), 'TOO_MANY_VIA', { data: { found: 3, limit: 2 } })
  await rejectsWith(t, ask(dijkstra, [{ ...base, themes }]), 'TOO_MANY_ITEMS', {
    data: { list: 'themes', limit: 1 },
  })
  await rejectsWith(t, ask(dijkstra, [{ ...base, avoid_polygons: [polygon, polygon] }]), 'TOO_MANY_ITEMS')
  const line = { type: 'Polygon', coordinates: [new Array(12).fill(at(1, 1))] }
  await rejectsWith(t, ask(dijkstra, [{ ...base, avoid_polygons: [line] }]), 'TOO_MANY_ITEMS', {
    message: /^Found 12 positions of avoid_polygons, expected at most 10$/, // before its rings are compared
  })
  await rejectsWith(t, ask(dijkstra, [{ ...base, alternatives: 3 }]), 'TOO_MANY_ITEMS')
  await rejectsWith(t, ask(dijkstra, [base]), 'SEARCH_TOO_LARGE')
})

t.test('routing.dijkstra: INVALID_PARAMS for what the schema refuses, with the path', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  for (const [params, path] of [
    [[], '$'],
    [[base, base], '$'],
    [undefined, '$.themes'],
    [[{ ...base, themes: undefined }], '$.themes'],
    [[{ ...base, themes: [] }], '$.themes'],
    [[{ ...base, start_lonlat: undefined }], '$.start_lonlat'],
    [[{ ...base, start_lonlat: [10] }], '$.start_lonlat'],
    [[{ ...base, start_lonlat: [190, 50] }], '$.start_lonlat'],
    [[{ ...base, start_lonlat: [50, 91] }], '$.start_lonlat'],
    [[{ ...base, goal_lonlat: ['10', 50] }], '$.goal_lonlat[0]'],
    [[{ ...base, goal_lonlat: [10, Number.NaN] }], '$.goal_lonlat[1]'],
    [[{ ...base, start_datetime: '2025-02-30 00:00:00+09' }], '$.start_datetime'],
    [[{ ...base, start_datetime: 0 }], '$.start_datetime'],
    [[{ ...base, via: [at(1, 1), [1]] }], '$.via[1]'],
    [[{ ...base, with_kml: 'yes' }], '$.with_kml'],
    [[{ ...base, alternatives: 0 }], '$.alternatives'],
    [[{ ...base, depart: 'time_dependent', alternatives: 2 }], '$.alternatives'],
    [[{ ...base, avoid_polygons: [{ type: 'Point', coordinates: [1, 2] }] }], '$.avoid_polygons[0].type'],
    [
      [{ ...base, avoid_polygons: [{ type: 'Polygon', coordinates: [[[1, 2]]] }] }],
      '$.avoid_polygons[0].coordinates[0]',
    ],
    [[{ ...base, typo: 1 }], '$'],
  ] as const) {
    await rejectsWith(t, ask(dijkstra, params), 'INVALID_PARAMS', { data: { faults: [{ path }] } })
  }
})

t.test(
  'routing.dijkstra: avoid_polygons close roads that cross them, not those that touch them',
  async (t) => {
    const { ask } = openSearch(t, { town: town() })
    const square = (west: number, south: number, east: number, north: number) => ({
      type: 'Polygon',
      coordinates: [[at(west, south), at(east, south), at(east, north), at(west, north), at(west, south)]],
    })
    const linksWith = async (...avoid_polygons: object[]) =>
      (await ask(dijkstra, [{ ...base, avoid_polygons }])).geojson.features.length
    t.equal(await linksWith(square(1.4, -0.1, 1.6, 0.1)), 5)
    t.equal(
      await linksWith({ type: 'MultiPolygon', coordinates: [square(1.4, -0.1, 1.6, 0.1).coordinates] }),
      5,
    )
    t.equal(
      await linksWith(square(1.4, -0.2, 1.6, 0)),
      3,
      'its edge runs along the road: the road is outside',
    )
    const wall = square(1.4, -0.1, 1.6, 4.1)
    await rejectsWith(t, ask(dijkstra, [{ ...base, avoid_polygons: [wall] }]), 'NO_ROUTE', {
      message: /^Found no path on leg 1, from start_lonlat to goal_lonlat$/,
      data: { leg: 0 },
    })
    const [start, goal] = [square(-0.1, -0.1, 0.1, 0.1), square(2.9, -0.1, 3.1, 0.1)]
    for (const [areas, reason] of [
      [[start], ': start_lonlat lies in the closed area avoid_polygons[0]'],
      [[wall, goal], ': goal_lonlat lies in the closed area avoid_polygons[1]'],
      [
        [goal, start],
        ': start_lonlat lies in the closed area avoid_polygons[1] and goal_lonlat lies in the closed area avoid_polygons[0]',
      ],
    ] as const)
      await rejectsWith(t, ask(dijkstra, [{ ...base, avoid_polygons: areas }]), 'NO_ROUTE', {
        message: new RegExp(
          `^Found no path on leg 1, from start_lonlat to goal_lonlat${reason.replaceAll(/[[\]]/g, '\\$&')}$`,
        ),
      })
  },
)

t.test('routing.dijkstra: a time-dependent departure takes the risk of the moment of arrival', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town() })
  const flood = addTheme('flood')
  await putCells(flood, [
    {
      box: [10.0045, 49.9995, 10.0055, 50.0005],
      risk: 5,
      start: '2026-01-01 11:00:00+09',
      end: '2026-01-01 12:00:10+09',
    },
    {
      box: [10.0025, 49.9995, 10.0035, 50.0005],
      risk: 5,
      start: '2026-01-01 12:00:15+09',
      end: '2026-01-01 13:00:00+09',
    },
  ])
  const request = { ...base, themes: { flood: LEVEL_5 } }
  t.equal((await ask(dijkstra, [request])).geojson.features.length, 5)
  const timed = await ask(dijkstra, [{ ...request, depart: 'time_dependent' }])
  t.equal(timed.geojson.features.length, 3, 'the far cell is gone by then, the near one has not begun')
  t.match(timed, { max_risk: 0 })
  const late = await ask(dijkstra, [
    { ...request, depart: 'time_dependent', start_datetime: '2026-01-01 12:00:10+09' },
  ])
  t.equal(late.geojson.features.length, 5)
})

t.test('routing.dijkstra: INVALID_PARAMS for closed areas that are none', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  const square = [at(1, 1), at(2, 1), at(2, 2), at(1, 2), at(1, 1)]
  const line = [at(1, 1), at(2, 1), at(3, 1), at(1, 1)]
  for (const [type, coordinates, path] of [
    ['Polygon', [], '$.avoid_polygons[0].coordinates'],
    ['MultiPolygon', [], '$.avoid_polygons[0].coordinates'],
    ['MultiPolygon', [[square], []], '$.avoid_polygons[0].coordinates[1]'],
    ['Polygon', [line], '$.avoid_polygons[0].coordinates[0]'],
    ['Polygon', [square, line], '$.avoid_polygons[0].coordinates[1]'],
    ['MultiPolygon', [[square], [line]], '$.avoid_polygons[0].coordinates[1][0]'],
  ] as const) {
    const params = [{ ...base, avoid_polygons: [{ type, coordinates }] }]
    await rejectsWith(t, ask(dijkstra, params), 'INVALID_PARAMS', { data: { faults: [{ path }] } })
  }
})
