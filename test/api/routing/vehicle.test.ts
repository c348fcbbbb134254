import path from 'node:path'
import t, { type Test } from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { isochrone } from '../../../src/api/routing/isochrone.js'
import { matrix } from '../../../src/api/routing/matrix.js'
import { writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { packLimits } from '../../../src/routing/graph/limits.js'
import { makeGraph } from '../../support/make-graph.js'
import { seeded } from '../../support/random-graph.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { at, town, unevenTown } from '../../support/town.js'

const NONE = { heightCm: 0, widthCm: 0, lengthCm: 0, weightKg: 0, axleLoadKg: 0, noHazmat: 0 }
const LEVEL_5 = [0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2]
const base = { themes: {}, start_datetime: '2026-01-01 12:00:00+09' }

/** A town in which a third of all links have a limit of height, once with and once without a hierarchy. */
function limitedTown(t: Test) {
  const graph = makeGraph(unevenTown(9))
  const random = seeded(7)
  const links = Array.from({ length: graph.segmentCount * 2 }, (_, link) => link)
  const low = links.filter(() => random() < 0.33)
  const limits = packLimits(low.map((link) => [link, { ...NONE, heightCm: 300 + (link % 3) * 100 }]))
  const nodeRank = rankNodes(graph, coordinatesOf(graph, graph.meta.bbox))
  const dir = t.testdir({ plain: {}, ordered: {} })
  const sides = ['plain', 'ordered'].map((name) => {
    const testdir = () => path.join(dir, name)
    const search = openSearch({ testdir, teardown: (work) => t.teardown(work) }, {})
    const rank = name === 'ordered' ? nodeRank : undefined
    writeGraphFile(path.join(search.mapsDir, 'town.graph'), { ...graph, limits, nodeRank: rank })
    search.call('reload', null)
    return search
  })
  return { graph, low: new Set(low), sides, random }
}

t.test(
  'vehicle: routes, matrices and areas avoid what is too low, with and without a hierarchy',
  async (t) => {
    const { low, sides, random } = limitedTown(t)
    for (const { addTheme, putCells } of sides)
      await putCells(addTheme('flood'), [{ box: [10.002, 50.001, 10.009, 50.009], risk: 6 }])
    const spot = () => at(random() * 8, random() * 8)
    let detours = 0
    for (let i = 0; i < 60; i++) {
      const height_m = [2.9, 3.5, 4.5, 5.5][i % 4] ?? 0
      const request = {
        ...base,
        themes: i % 3 === 0 ? { flood: LEVEL_5 } : {},
        start_lonlat: spot(),
        goal_lonlat: spot(),
        alternatives: i % 5 === 0 ? 3 : 1,
        depart: i % 5 === 1 ? 'time_dependent' : 'fixed',
      }
      const withVehicle = { ...request, vehicle: { height_m } }
      const [plain, fast] = await Promise.all(
        sides.map((side) => side.ask(dijkstra, [withVehicle]).catch((error: Error) => error.message)),
      )
      t.same(fast, plain, `request ${i}`)
      if (typeof plain === 'string') continue
      for (const route of [plain, ...(plain.alternatives ?? [])])
        for (const { properties } of route.geojson.features) {
          const limitM = low.has(properties.edge_id) ? 3 + (properties.edge_id % 3) : 99
          t.ok(height_m <= limitM, `${height_m} m on a link of ${limitM} m`)
        }
      const free = await sides[0]?.ask(dijkstra, [request])
      t.ok(plain.total_cost >= free.total_cost)
      if (plain.total_cost > free.total_cost) detours++
    }
    t.ok(detours > 5, `${detours} routes go round`)
    const points = Array.from({ length: 6 }, spot)
    const [plain, fast] = await Promise.all(
      sides.map((side) => side.ask(matrix, [{ sources: points, vehicle: { height_m: 3.5 } }])),
    )
    t.same(fast, plain)
    for (const [row, start_lonlat] of points.entries()) {
      for (const [column, goal_lonlat] of points.entries()) {
        const request = { ...base, start_lonlat, goal_lonlat, vehicle: { height_m: 3.5 } }
        const route = await sides[1]?.ask(dijkstra, [request]).catch(() => ({ total_cost: null }))
        t.equal(fast.costs[row][column], route.total_cost, `${row} to ${column}`)
      }
    }
    const reach = { lonlat: at(4, 4), costs: [0.01, 0.02] }
    const [wide, narrow] = await Promise.all(
      [{}, { vehicle: { height_m: 5.5 } }].map((more) => sides[1]?.ask(isochrone, [{ ...reach, ...more }])),
    )
    t.ok(narrow.features[1].properties.nodes < wide.features[1].properties.nodes)
  },
)

t.test('vehicle: INVALID_PARAMS for unknown members, sizes of 0, and maps without limits', async (t) => {
  const { ask } = openSearch(t, { town: town() })
  const request = { ...base, start_lonlat: at(0, 0), goal_lonlat: at(3, 0) }
  for (const vehicle of [{ height: 3 }, { height_m: 0 }, { weight_t: -1 }, { hazmat: 'yes' }, 4])
    await rejectsWith(t, ask(dijkstra, [{ ...request, vehicle }]), 'INVALID_PARAMS')
  await rejectsWith(t, ask(dijkstra, [{ ...request, vehicle: { height_m: 3 } }]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.vehicle', message: /the map "town" was built without limits/ }] },
  })
  await rejectsWith(t, ask(dijkstra, [{ ...request, vehicle: { emergency: true } }]), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.vehicle.emergency', message: /"town" was built without roads for rescue/ }] },
  })
})
