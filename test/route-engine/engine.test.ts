import t from 'tap'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import { matrix } from '../../src/api/routing/matrix.js'
import { createEngine } from '../../src/route-engine/engine.js'
import type { LoadedMap } from '../../src/route-engine/maps.js'
import { buildHierarchy } from '../../src/routing/cch/hierarchy.js'
import { rankNodes } from '../../src/routing/cch/order.js'
import { searchBytes } from '../../src/routing/cch/search.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { gridGraph, seeded } from '../support/random-graph.js'
import { rejectsWith } from '../support/rejects-with.js'
import { openSearch } from '../support/search.js'
import { at, unevenTown } from '../support/town.js'
import { workOf } from '../support/work.js'

const LEVEL_5 = [0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 10]
const NEVER = [0, 0, 0, 0, 0, 9999, 9999, 9999, 9999, 9999, 9999]

t.test('routes, matrices and their bytes are the same with and without a hierarchy', async (t) => {
  const network = unevenTown(9)
  const sides = [true, false].map((isOrdered) =>
    openSearch(
      {
        testdir: () => t.testdir({ [`${isOrdered}`]: {} }),
        teardown: (work: () => unknown) => t.teardown(work),
      },
      { town: network },
      {},
      isOrdered,
    ),
  )
  for (const { addTheme, putCells } of sides) {
    await putCells(addTheme('flood'), [{ box: [10.002, 50.001, 10.009, 50.009], risk: 6 }])
  }
  const random = seeded(4)
  const spot = () => at(random() * 8, random() * 8)
  const polygon = {
    type: 'Polygon',
    coordinates: [[at(3, 3.5), at(5.5, 3.5), at(5.5, 4.5), at(3, 4.5), at(3, 3.5)]],
  }
  for (let i = 0; i < 60; i++) {
    const themes = [{}, { flood: LEVEL_5 }, { flood: NEVER }][i % 3]
    const request = {
      themes,
      start_lonlat: spot(),
      goal_lonlat: spot(),
      via: i % 4 === 0 ? [spot(), spot(), spot()] : [],
      reorder_waypoints: i % 8 === 0,
      alternatives: i % 5 === 0 ? 3 : 1,
      ...(i % 7 === 0 ? { avoid_polygons: [polygon] } : {}),
      start_datetime: '2026-01-01 00:00:00',
    }
    const [fast, plain] = await Promise.all(
      sides.map((side) => side.ask(dijkstra, [request]).catch((error: Error) => error.message)),
    )
    t.same(fast, plain, `request ${i}`)
  }
  const points = Array.from({ length: 12 }, spot)
  const params = [
    { sources: points, targets: points, themes: { flood: LEVEL_5 }, start_datetime: '2026-01-01 00:00:00' },
  ]
  const [fast, plain] = await Promise.all(sides.map((side) => side.ask(matrix, params)))
  t.same(fast, plain)
})

t.test('a risk table that changes while searches run: every answer is of one of its states', async (t) => {
  const { ask, addTheme, putCells } = openSearch(t, { town: unevenTown(9) })
  const table = addTheme('flood')
  const request = {
    themes: { flood: LEVEL_5 },
    start_lonlat: at(0.3, 0),
    goal_lonlat: at(7.6, 8),
    start_datetime: '2026-01-01 00:00:00',
  }
  const cellOf = (state: number) => ({
    box: [10 + state * 0.002 - 0.0005, 49.99, 10 + state * 0.002 + 0.0005, 50.03] as [
      number,
      number,
      number,
      number,
    ],
    risk: 6,
  })
  const states = 7
  const answers: { from: number; to: number; cost: number }[] = []
  const costs: number[] = []
  let state = 0
  for (; state < states; state++) {
    const searches = Array.from({ length: 6 }, async () => {
      const from = state
      const { total_cost } = await ask(dijkstra, [request])
      answers.push({ from, to: state, cost: total_cost })
    })
    const change = putCells(table, [cellOf(state)])
    await Promise.all([...searches, change])
  }
  const fresh = openSearch(
    { testdir: () => t.testdir({ fresh: {} }), teardown: (work: () => unknown) => t.teardown(work) },
    { town: unevenTown(9) },
    {},
    false,
  )
  const freshTable = fresh.addTheme('flood')
  for (let i = 0; i <= states; i++) {
    costs.push((await fresh.ask(dijkstra, [request])).total_cost)
    if (i < states) await fresh.putCells(freshTable, [cellOf(i)])
  }
  t.ok(new Set(costs).size > 3, `the states differ: ${costs}`)
  for (const { from, to, cost } of answers) {
    t.ok(costs.slice(from, to + 2).includes(cost), `${cost} between states ${from} and ${to + 1}`)
  }
})

t.test('prepare: owners have turns, whatever the number of weights that each waits for', async (t) => {
  const graph = gridGraph(60, 60, seeded(5))
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  const map = { graph: graph as unknown as Graph, hierarchy } as LoadedMap
  const engine = createEngine()
  const made: string[] = []
  const prepare = async (owner: string) => {
    const weights = graph.weights.slice()
    engine.register(map, { weights, kind: 'int32', bases: [] })
    await engine.prepare(weights, workOf({ owner }))
    made.push(owner)
  }
  await Promise.all(['many', 'many', 'many', 'many', 'many', 'one'].map(prepare))
  t.equal(made.join(' '), 'many many one many many many')
})

t.test('prepare: a caller who hangs up before its turn begins nothing', async (t) => {
  const graph = gridGraph(60, 60, seeded(3))
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  const map = { graph: graph as unknown as Graph, hierarchy } as LoadedMap
  let offered = 0
  const offer = () => void offered++
  const engine = createEngine({ minTriangles: 0, silenceMs: 1, isFree: () => true, offer })
  const [first, second] = [graph.weights, graph.weights.slice()]
  for (const weights of [first, second]) engine.register(map, { weights, kind: 'int32', bases: [] })
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const made = engine.prepare(first)
  const stopped = engine.prepare(second, workOf({ cancel }))
  cancel[0] = 1
  await made
  await rejectsWith(t, stopped, 'CANCELLED')
  t.equal(offered, 1)
})

t.test('prepare: runs in slices; a cancel flag ends it, and the next one continues', async (t) => {
  const graph = gridGraph(160, 160, seeded(2))
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  const map = { graph: graph as unknown as Graph, hierarchy } as LoadedMap
  const engine = createEngine()
  let bytes = 0
  engine.register(map, {
    weights: graph.weights,
    kind: 'float64',
    bases: [],
    onBytes: (taken) => {
      bytes = taken
    },
  })
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const stopped = engine.prepare(graph.weights, workOf({ cancel }))
  const waiting = engine.prepare(graph.weights)
  cancel[0] = 1
  await rejectsWith(t, stopped, 'CANCELLED')
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await waiting
  isDone = true
  t.ok(turns > 1, `${turns} turns for others`)
  t.equal(bytes, hierarchy.arcCount * 16 + searchBytes(hierarchy))
  const ends = [{ node: 7, costMs: 0 }]
  const control = { maxSettledNodes: 0 }
  const targets = [{ node: 25_000, costMs: 0 }]
  t.ok(engine.searchWith(map, graph.weights).one(ends, targets, { maxSettledNodes: 1 }), 'settles no nodes')
  t.notOk(
    engine.searchWith(map, graph.weights.slice()).one(ends, targets, control),
    'other weights: the plain search',
  )
})

t.test('profiles: metrics are counted, and dropped beyond routing.profileCacheBytes', async (t) => {
  const settings = { routing: { profileCacheBytes: 40_000 } }
  const { ask, addTheme, putCells, call } = openSearch(t, { town: unevenTown(9) }, settings)
  await putCells(addTheme('flood'), [{ box: [10.002, 50.001, 10.009, 50.009], risk: 6 }])
  const stats = () => call('status', null) as { profileBytes: number; profileCount: number }
  let largest = 0
  for (let i = 0; i < 30; i++) {
    const flood = LEVEL_5.map((x) => x * (i + 1))
    const ends = { start_lonlat: at(0, 0), goal_lonlat: at(8, 8) }
    await ask(dijkstra, [{ themes: { flood }, ...ends, start_datetime: '2026-01-01 00:00:00' }])
    largest = Math.max(largest, stats().profileBytes)
  }
  t.ok(largest <= 40_000, `${largest} bytes`)
  t.ok(stats().profileCount > 1, `${stats().profileCount} profiles`)
  t.ok(stats().profileBytes / stats().profileCount > 288 * 4 * 1.5, 'more than the weights')
})
