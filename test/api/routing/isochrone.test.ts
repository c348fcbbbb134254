import t from 'tap'
import { isochrone } from '../../../src/api/routing/isochrone.js'
import { matrix } from '../../../src/api/routing/matrix.js'
import { seeded } from '../../support/random-graph.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { at, town } from '../../support/town.js'

const LEVEL_5 = [0, 0, 0, 0, 0, 9999, 0, 0, 0, 0, 0]
const SIZE = 7

t.test('isochrone: the area contains the junctions within the cost, and they are counted', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town(SIZE) })
  await putCells(addTheme('flood'), [{ box: [10.003, 50.003, 10.007, 50.006], risk: 5 }])
  const junctions = Array.from({ length: SIZE * SIZE }, (_, i) => at(i % SIZE, Math.floor(i / SIZE)))
  const random = seeded(3)
  for (let i = 0; i < 20; i++) {
    const lonlat = i % 5 === 0 ? at(3, 3) : at(random() * 6, random() * 6)
    const risk = i % 2 === 0 ? {} : { themes: { flood: LEVEL_5 }, start_datetime: '2026-01-01 00:00:00' }
    const costs = [0.001 + random() * 0.01, 0.004, 0.02, 500]
    const found = await ask(isochrone, [{ lonlat, costs, ...risk }])
    const table = await ask(matrix, [{ sources: [lonlat], targets: junctions, ...risk }])
    for (const [step, { geometry, properties }] of found.features.entries()) {
      const reached = table.costs[0].map((cost: number) => cost <= Math.floor(costs[step]! * 3.6e6) / 3.6e6)
      const inside = junctions.map(([lng, lat]) => isInside(geometry.coordinates, lng, lat))
      t.same(
        reached.filter((isReached: boolean, junction: number) => isReached && !inside[junction]),
        [],
        `${lonlat} within ${costs[step]} h`,
      )
      t.equal(properties.nodes, reached.filter(Boolean).length)
    }
  }
})

t.test('routing.isochrone: parts that cost too much are holes; closed areas are avoided', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: town(SIZE) })
  await putCells(addTheme('flood'), [{ box: [10.003, 50.003, 10.009, 50.009], risk: 5 }])
  const params = {
    lonlat: at(0, 0),
    costs: [1],
    themes: { flood: LEVEL_5 },
    start_datetime: '2026-01-01 00:00:00',
  }
  const { features } = await ask(isochrone, [params])
  t.equal(features[0].geometry.coordinates.length, 1)
  t.equal(features[0].geometry.coordinates[0].length, 2)
  t.match(features[0].properties, { cost: 1, nodes: SIZE * SIZE - 9, map: 'town' })
  const polygon = {
    type: 'Polygon',
    coordinates: [[at(-1, 2.5), at(9, 2.5), at(9, 2.7), at(-1, 2.7), at(-1, 2.5)]],
  }
  const shut = await ask(isochrone, [{ lonlat: at(0, 0), costs: [1000], avoid_polygons: [polygon] }])
  t.equal(shut.features[0].properties.nodes, SIZE * 3)
  const nothing = await ask(isochrone, [{ lonlat: at(0.5, 0), costs: [1e-6] }])
  t.equal(nothing.features[0].properties.nodes, 0)
  t.ok(isInside(nothing.features[0].geometry.coordinates, ...at(0.5, 0)), 'the surroundings of the start')
})

t.test('routing.isochrone: equal with and without a hierarchy, also beyond int32', async (t) => {
  const [fast, plain] = [true, false].map((isOrdered) =>
    openSearch(
      {
        testdir: () => t.testdir({ [`${isOrdered}`]: {} }),
        teardown: (work: () => unknown) => t.teardown(work),
      },
      { town: town(SIZE) },
      {},
      isOrdered,
    ),
  )
  const params = { lonlat: at(1.3, 2), costs: [0.005, 0.01, 2000] }
  t.same(await fast?.ask(isochrone, [params]), await plain?.ask(isochrone, [params]))
})

t.test('routing.isochrone: bad calls', async (t) => {
  const { ask } = openSearch(t, { town: town() }, { routing: { maxSettledNodes: 5 } }, false)
  const good = { lonlat: at(1, 1), costs: [0.1] }
  for (const more of [
    { costs: [] },
    { costs: [0] },
    { costs: [-1] },
    { costs: 1 },
    { costs: new Array(11).fill(1) },
  ]) {
    await rejectsWith(t, ask(isochrone, [{ ...good, ...more }]), 'INVALID_PARAMS')
  }
  await rejectsWith(t, ask(isochrone, [{ ...good, themes: { flood: LEVEL_5 } }]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.start_datetime' }] },
  })
  await rejectsWith(t, ask(isochrone, [{ ...good, lonlat: [11, 50] }]), 'OUTSIDE_MAP')
  await rejectsWith(t, ask(isochrone, [{ ...good, map: 'none' }]), 'UNKNOWN_MAP')
  await rejectsWith(t, ask(isochrone, [good]), 'SEARCH_TOO_LARGE')
})

/** Even-odd over all rings of a MultiPolygon. */
function isInside(polygons: [number, number][][][], x: number, y: number): boolean {
  let inside = false
  for (const ring of polygons.flat()) {
    for (const [i, [ax, ay]] of ring.slice(1).entries()) {
      const [bx, by] = ring[i] ?? [0, 0]
      if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) inside = !inside
    }
  }
  return inside
}
