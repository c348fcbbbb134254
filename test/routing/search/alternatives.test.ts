import t from 'tap'
import type { RouteFeature } from '../../../src/route-answer/features.js'
import { MAX_COST_RATIO, MAX_SHARED } from '../../../src/routing/search/alternatives.js'
import type { RouteAnswer } from '../../support/routes.js'
import { ask, at, town } from '../../support/town.js'

t.test('findAlternatives: further routes differ from each other and are not much longer', async (t) => {
  const best = ask(town(), { points: [at(0, 0), at(4, 4)] })
  const answer = ask(town(), { points: [at(0, 0), at(4, 4)], wishes: { alternatives: 4 } })
  const others = answer.alternatives as RouteAnswer[]
  t.ok(others.length >= 2, `${others.length} further routes`)
  t.same(
    { ...answer, alternatives: undefined },
    { ...best, alternatives: undefined },
    'the best one stays first',
  )
  const routes = [answer, ...others]
  for (const [i, route] of routes.entries()) {
    t.ok(route.total_cost <= answer.total_cost * MAX_COST_RATIO)
    t.same(featuresOf(route)[0]?.geometry.coordinates[0], at(0, 0))
    t.same(featuresOf(route).at(-1)?.geometry.coordinates.at(-1), at(4, 4))
    for (const other of routes.slice(0, i)) {
      const links = new Set(featuresOf(other).map((f) => f.properties.edge_id))
      const shared = featuresOf(route).filter((f) => links.has(f.properties.edge_id))
      const sharedH = shared.reduce((sum, f) => sum + f.properties.time, 0)
      t.ok(sharedH <= route.time * MAX_SHARED + 1e-6, `shares ${(sharedH / route.time).toFixed(2)}`)
    }
  }
})

t.test('findAlternatives: none, condition a single road or nothing to drive', async (t) => {
  const road = {
    junctions: [at(0, 0), at(1, 0), at(2, 0)],
    roads: [
      { from: 0, to: 1, speed: [50, 50] as [number, number] },
      { from: 1, to: 2, speed: [50, 50] as [number, number] },
    ],
  }
  const wishes = { alternatives: 5 }
  t.same(ask(road, { points: [at(0, 0), at(2, 0)], wishes }).alternatives, [])
  t.same(ask(town(), { points: [at(0.1, 0), at(0.9, 0)], wishes: { alternatives: 5 } }).alternatives, [])
  t.same(ask(town(), { points: [at(1, 1), at(1, 1)], wishes }).alternatives, [])
  t.equal(ask(town(), { points: [at(0, 0), at(2, 0)] }).alternatives, undefined)
})

t.test('findAlternatives: no route that is much longer', async (t) => {
  const between = (farY: number) => ({
    junctions: [at(0, 0), at(2, 0), at(1, farY)],
    roads: [
      { from: 0, to: 1, speed: [50, 50] as [number, number] },
      { from: 0, to: 2, speed: [50, 50] as [number, number] },
      { from: 2, to: 1, speed: [50, 50] as [number, number] },
    ],
  })
  const further = (farY: number) =>
    (
      ask(between(farY), { points: [at(0, 0), at(2, 0)], wishes: { alternatives: 2 } })
        .alternatives as RouteAnswer[]
    ).length
  t.equal(further(0.5), 1, '1.27 times as long')
  t.equal(further(1), 0, '1.85 times as long')
})

t.test('findAlternatives: goes through the via points as the best route does', async (t) => {
  const via = at(4, 0)
  const answer = ask(town(), { points: [at(0, 0), via, at(4, 4)], wishes: { alternatives: 3 } })
  for (const route of answer.alternatives as RouteAnswer[]) {
    const stops = featuresOf(route).filter((f) => f.properties.waypoint)
    t.same(
      stops.map((f) => f.geometry.coordinates.at(-1)),
      [via, at(4, 4)],
    )
  }
})

function featuresOf(answer: RouteAnswer): RouteFeature[] {
  return (answer.geojson as { features: RouteFeature[] }).features
}
