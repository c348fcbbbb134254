import t from 'tap'
import { dijkstra } from '../../../src/api/routing/dijkstra.js'
import { matrix } from '../../../src/api/routing/matrix.js'
import { nearest } from '../../../src/api/routing/nearest.js'
import type { Network } from '../../support/make-graph.js'
import { openSearch } from '../../support/search.js'

/** Two streets of 716 m, the north one apart from the main network, and one-way exits from a third. */
const ISLANDS: Network = {
  junctions: [[10, 50], [10.01, 50], [10, 50.002], [10.01, 50.002], [10.02, 50], [10.02, 50.002]], // biome-ignore format: pairs
  roads: [
    { from: 0, to: 1, speed: [50, 50], name: 'Main Street' },
    { from: 2, to: 3, speed: [50, 50], name: 'Island Street', isMain: false },
    { from: 1, to: 4, speed: [50, 0], name: 'Exit', isMain: false },
    { from: 4, to: 5, speed: [50, 50], name: 'Beyond', isMain: false },
  ],
}
const base = { themes: {}, start_datetime: '2026-01-01 12:00:00Z' }
const ON_ISLAND: [number, number][] = [[10.002, 50.0021], [10.008, 50.002]] // biome-ignore format: pairs
const ON_MAIN: [number, number] = [10.005, 50]

t.test('routing.dijkstra: points on one island are routed there', async (t) => {
  const { ask } = openSearch(t, { islands: ISLANDS })
  const [start_lonlat, goal_lonlat] = ON_ISLAND
  const answer = await ask(dijkstra, [{ ...base, start_lonlat, goal_lonlat }])
  t.same(names(answer), ['Island Street'])
  t.match(answer.start_snap, { lonlat: [10.002, 50.002], name: 'Island Street', passed_over: null })
  t.ok(Math.abs(answer.start_snap.distance - 11.12) < 0.01, `${answer.start_snap.distance} m`)
  t.match(answer.goal_snap, { lonlat: [10.008, 50.002], distance: 0, passed_over: null })
  t.notOk('via_snaps' in answer)
})

t.test('routing.dijkstra: an end that no way leads to is moved to the main network, and told', async (t) => {
  const { ask } = openSearch(t, { islands: ISLANDS })
  const question = { ...base, start_lonlat: ON_MAIN, goal_lonlat: ON_ISLAND[1], via: [ON_ISLAND[0]] }
  const answer = await ask(dijkstra, [question])
  t.match(answer.goal_snap, {
    lonlat: [10.008, 50],
    name: 'Main Street',
    passed_over: { lonlat: [10.008, 50.002], distance: 0, name: 'Island Street', reason: 'cut_off' },
  })
  t.ok(answer.goal_snap.distance > 200)
  t.equal(answer.start_snap.passed_over, null)
  t.equal(answer.via_snaps.length, 1)
  t.match(answer.via_snaps[0].passed_over, { name: 'Island Street' })
})

t.test('routing.dijkstra: a road off the main network is used where a way leads there', async (t) => {
  const { ask } = openSearch(t, { islands: ISLANDS })
  const beyond = [10.02, 50.001]
  const there = await ask(dijkstra, [{ ...base, start_lonlat: ON_MAIN, goal_lonlat: beyond }])
  t.same(names(there), ['Main Street', 'Exit', 'Beyond'])
  t.equal(there.goal_snap.passed_over, null)
  const back = await ask(dijkstra, [{ ...base, start_lonlat: beyond, goal_lonlat: ON_MAIN }])
  t.match(back.start_snap, { name: 'Main Street', passed_over: { name: 'Beyond', distance: 0 } })
})

t.test('routing.matrix: points on one island have costs there', async (t) => {
  const { ask } = openSearch(t, { islands: ISLANDS })
  const island = await ask(matrix, [{ sources: ON_ISLAND }])
  t.ok(island.lengths[0][1] > 400 && island.lengths[0][1] < 450, 'along the island')
  const mixed = await ask(matrix, [{ sources: [ON_MAIN, ON_ISLAND[0]] }])
  t.notOk(mixed.costs.flat().includes(null), 'moved to the main network')
})

t.test('routing.nearest: tells a nearer road that a route would not use', async (t) => {
  const { ask } = openSearch(t, { islands: ISLANDS })
  const [, lonlat] = ON_ISLAND
  t.match(await ask(nearest, [{ lonlat }]), {
    lonlat: [10.008, 50],
    edges: [{ name: 'Main Street' }, { name: 'Main Street' }],
    passed_over: { distance: 0, name: 'Island Street', reason: 'cut_off' },
  })
  t.equal((await ask(nearest, [{ lonlat: ON_MAIN }])).passed_over, null)
})

function names(answer: { geojson: { features: { properties: { name: string } }[] } }): string[] {
  return answer.geojson.features.map(({ properties }) => properties.name)
}
