import t from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { isochrone } from '../../../src/api/routing/isochrone.js'
import { matrix } from '../../../src/api/routing/matrix.js'
import { allLinks, headOf, type Network, tailOf } from '../../support/make-graph.js'
import { openSearch } from '../../support/search.js'
import { at, unevenTown } from '../../support/town.js'

const H = { start_datetime: '2026-01-01 00:00:00', themes: {} }

/** A town where every turn of one link into another, but straight back, has a price of its own. */
function pricedTown(): Network {
  const network = unevenTown(4)
  const links = allLinks(network)
  network.noUTurn = links
  network.turnCosts = links.flatMap((from) =>
    links
      .filter((to) => tailOf(network, to) === headOf(network, from) && to !== (from ^ 1))
      .map((to) => ({ from, to, ms: ((from * 7 + to * 13) % 11) * 100 })),
  )
  return network
}

const POINTS = [at(0.2, 0), at(2.7, 1), at(1, 2.4), at(3, 3), at(0, 2.5)]

type Features = { properties: { time: number; turn_cost?: number; edge_id: number; waypoint: boolean } }[]

t.test(
  'turn costs: total_cost is the driving time and the prices of the turns, each of them told',
  async (t) => {
    const network = pricedTown()
    const { ask } = openSearch(t, { town: network })
    const priceOf = (from: number, to: number) =>
      network.turnCosts?.find((turn) => turn.from === from && turn.to === to)?.ms ?? 0
    let priced = 0
    for (const start_lonlat of POINTS) {
      for (const goal_lonlat of POINTS) {
        const route = await ask(dijkstra, [{ ...H, start_lonlat, goal_lonlat, via: [POINTS[1]] }])
        const features = route.geojson.features as Features
        const sum = (of: (one: Features[number]['properties']) => number) =>
          features.reduce((total, { properties }) => total + of(properties), 0)
        const turnsH = sum(({ turn_cost }) => turn_cost ?? 0)
        t.ok(Math.abs(turnsH - route.turn_cost) < 1e-10)
        t.ok(Math.abs(route.total_cost - route.time - turnsH) < 1e-10, 'turns are no driving time')
        for (const [i, { properties }] of features.entries()) {
          const before = features[i - 1]?.properties
          // behind a via point within a road the same road goes on
          const isWhole = before !== undefined && before.edge_id !== properties.edge_id
          const expectedMs = isWhole && !before.waypoint ? priceOf(before.edge_id, properties.edge_id) : 0
          if (isWhole && before.waypoint) continue
          t.equal(Math.round((properties.turn_cost ?? 0) * 3_600_000), expectedMs)
          t.not(properties.turn_cost, 0, 'absent where it is 0')
          if (expectedMs > 0) priced++
        }
      }
    }
    t.ok(priced > 50, `${priced} turns had a price`)
  },
)

t.test('turn costs: matrix, time-dependent departures and isochrones have the costs of routes', async (t) => {
  const { ask } = openSearch(t, { town: pricedTown() })
  const { costs, times } = await ask(matrix, [{ sources: POINTS }])
  for (const [row, start_lonlat] of POINTS.entries()) {
    for (const [column, goal_lonlat] of POINTS.entries()) {
      const route = await ask(dijkstra, [{ ...H, start_lonlat, goal_lonlat }])
      t.ok(Math.abs(costs[row][column] - route.total_cost) < 2e-12)
      t.ok(Math.abs(times[row][column] - route.time) < 2e-12)
      const timed = await ask(dijkstra, [{ ...H, start_lonlat, goal_lonlat, depart: 'time_dependent' }])
      t.same([timed.total_cost, timed.turn_cost], [route.total_cost, route.turn_cost])
    }
  }
  // a junction is in the area of exactly the costs of its route and more
  const corner = await ask(dijkstra, [{ ...H, start_lonlat: POINTS[0], goal_lonlat: at(3, 3) }])
  const limits = [corner.total_cost - 1e-6, corner.total_cost + 1e-6]
  const { features } = await ask(isochrone, [{ lonlat: POINTS[0], costs: limits }])
  const [less, enough] = features.map(({ properties }: { properties: { nodes: number } }) => properties.nodes)
  t.equal(enough, less + 1)
  t.ok(corner.turn_cost > 0)
})

t.test('turn costs: alternatives are compared with the prices of their turns', async (t) => {
  const { ask } = openSearch(t, { town: pricedTown() })
  const route = await ask(dijkstra, [
    { ...H, start_lonlat: at(0, 0), goal_lonlat: at(3, 3), alternatives: 3 },
  ])
  t.ok(route.alternatives.length > 0)
  for (const other of route.alternatives) {
    t.ok(Math.abs(other.total_cost - other.time - other.turn_cost) < 1e-10)
    t.ok(other.total_cost >= route.total_cost)
  }
})

t.test('turn costs: risk multiplies driving times, not the prices of turns', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: pricedTown() })
  await putCells(addTheme('flood'), [{ box: [9, 49, 11, 51], risk: 5 }])
  const themes = { flood: [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0] }
  const route = await ask(dijkstra, [{ ...H, themes, start_lonlat: at(0.5, 0), goal_lonlat: at(3, 2.5) }])
  t.ok(route.turn_cost > 0)
  t.ok(Math.abs(route.total_cost - route.time * 4 - route.turn_cost) < 1e-10)
})
