import fc from 'fast-check'
import t from 'tap'
import type { RouteFeature } from '../../../src/route-answer/features.js'
import { snapPoints } from '../../../src/route-engine/locate.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import type { ThemeRisk } from '../../../src/routing/search/overlay.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { solveRoute } from '../../../src/routing/search/solve.js'
import { makeGraph } from '../../support/make-graph.js'
import { overlayOf } from '../../support/random-network.js'
import type { RouteAnswer } from '../../support/routes.js'
import { throwsWith } from '../../support/throws.js'
import { ask, asked, at, town } from '../../support/town.js'

t.test('solveRoute: a route along two streets, link by link, cut at its ends', async (t) => {
  const answer = ask(town(), { points: [at(0.5, 0), at(2, 0.5)] })
  const features = featuresOf(answer)
  t.same(
    features.map(({ properties: p }) => [p.name, p.speed, p.risk, p.waypoint, p.notes]),
    [
      ['Row 0 & <Co>', 50, 0, false, []],
      ['Row 0 & <Co>', 50, 0, false, []],
      ['Column 2', 50, 0, true, []],
    ],
  )
  t.same(features[0]?.geometry.coordinates, [at(0.5, 0), at(1, 0)])
  t.same(features[2]?.geometry.coordinates, [at(2, 0), at(2, 0.5)])
  t.equal(answer.length, sum(features, 'length'))
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
  t.equal(answer.total_cost, answer.time)
})

t.test(
  'solveRoute: start = goal is an empty route of length 0, also through repeated via points',
  async (t) => {
    for (const points of [
      [at(1.2, 1), at(1.2, 1)],
      [at(1, 1), at(1, 1), at(1, 1), at(1, 1)],
    ]) {
      const answer = ask(town(), { points: points as [number, number][], wishes: { withKml: true } })
      t.same(answer.geojson, { type: 'FeatureCollection', features: [] })
      t.match(answer, { length: 0, time: 0, total_cost: 0, max_risk: 0, avr_risk: 0 })
      t.notMatch(answer.kml, 'LineString')
    }
  },
)

t.test(
  'solveRoute: a goal ahead in the same street is reached directly, one behind a one-way start by a detour',
  async (t) => {
    const network = town(3)
    network.roads[0]!.speed = [50, 0]
    const ahead = featuresOf(ask(network, { points: [at(0.2, 0), at(0.7, 0)] }))
    t.same(
      ahead.map((f) => f.properties.edge_id),
      [0],
    )
    const behind = featuresOf(ask(network, { points: [at(0.7, 0), at(0.2, 0)] }))
    t.same(behind.map((f) => f.properties.edge_id)[0], 0)
    t.equal(behind.length, 5, 'around the block, then the same street again')
    t.same(behind.at(-1)?.geometry.coordinates, [at(0, 0), at(0.2, 0)])
  },
)

t.test('solveRoute: a U-turn is allowed at a via point, between two legs', async (t) => {
  const features = featuresOf(ask(town(), { points: [at(0, 0), at(1.5, 0), at(0, 0)] }))
  t.same(
    features.map(({ properties: p }) => [p.edge_id, p.waypoint]),
    [
      [0, false],
      [2, true],
      [3, false],
      [1, true],
    ],
  )
})

t.test('solveRoute: reorder finds the cheapest order and marks it as optimal', async (t) => {
  const points = [at(0, 0), at(4, 0), at(1, 0), at(3, 0), at(2, 0), at(4, 4)]
  const given = ask(town(), { points })
  const answer = ask(town(), { points, wishes: { reorder: true } })
  t.match(answer, { order_is_optimal: true, via_order: [1, 3, 2, 0] })
  t.ok(answer.total_cost < given.total_cost)
  t.equal(given.via_order, undefined)
})

t.test('solveRoute: the order of more than 12 via points is not marked as optimal', async (t) => {
  const via = Array.from({ length: 15 }, (_, i) => at((i * 7) % 5, (i * 3) % 5))
  const points = [at(0, 0), ...via, at(4, 4)]
  const answer = ask(town(), { points, wishes: { reorder: true } })
  t.equal(answer.order_is_optimal, false)
  t.ok(answer.total_cost <= ask(town(), { points }).total_cost)
})

t.test(
  'solveRoute: risk is avoided when that is cheaper, and reported when it cannot be avoided',
  async (t) => {
    const network = town()
    const lengthMm = makeGraph(network).segmentLengthMm
    // the second street of row 0: its middle half is at level 7
    const pieces = new Map([[1, [[Math.round(lengthMm[1]! / 4), 0], [Math.round((lengthMm[1]! * 3) / 4), 7], [lengthMm[1]!, 0]] as [number, number][]]]) // biome-ignore format: pieces
    const theme = (x: number): ThemeRisk => ({
      overlay: overlayOf(pieces),
      sensitivity: [0, 0, 0, 0, 0, 0, 0, x, 0, 0, 0],
    })
    const points = [at(0, 0), at(3, 0)]
    const through = ask(network, { points, themes: [theme(1)] })
    t.equal(through.max_risk, 7)
    t.equal(featuresOf(through)[1]?.properties.risk, 7)
    const half = Math.round((lengthMm[1]! * 3) / 4) - Math.round(lengthMm[1]! / 4)
    const wholeMm = lengthMm[0]! + lengthMm[1]! + lengthMm[2]!
    t.ok(Math.abs(through.avr_risk - (7 * half) / wholeMm) < 1e-9)
    t.ok(Math.abs(through.exposure - (7 * half) / 1e6 / 50) < 1e-12)
    t.ok(Math.abs(through.total_cost - (wholeMm + half) / 1e6 / 50) < 1e-12)
    const around = ask(network, { points, themes: [theme(9999)] })
    t.equal(around.max_risk, 0)
    t.equal(featuresOf(around).length, 5)
    const inside = ask(network, { points: [at(1.4, 0), at(1.6, 0)], themes: [theme(9999)] })
    t.equal(inside.max_risk, 7)
    t.ok(inside.total_cost > inside.time * 9000)
  },
)

t.test('solveRoute: several themes add up; sensitivity[0] counts where there is no cell', async (t) => {
  const network = town()
  const lengthMm = makeGraph(network).segmentLengthMm[0]!
  const theme = (level: number, sensitivity: number[]): ThemeRisk => ({
    overlay: overlayOf(new Map([[0, [[lengthMm, level]]]])),
    sensitivity,
  })
  const a = theme(3, [0.5, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
  const b = theme(5, [0.25, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0])
  const on = ask(network, { points: [at(0, 0), at(1, 0)], themes: [a, b] })
  t.equal(on.max_risk, 5)
  t.ok(on.total_cost > on.time, 'goes around or through, either way it costs more than the time')
  const inside = ask(network, { points: [at(0.25, 0), at(0.75, 0)], themes: [a, b] })
  t.ok(Math.abs(inside.total_cost / inside.time - 7) < 1e-9)
  const off = ask(network, { points: [at(0, 1), at(1, 1)], themes: [a, b] })
  t.ok(Math.abs(off.total_cost / off.time - 1.75) < 1e-9)
  t.equal(off.max_risk, 0)
})

t.test('solveRoute: closed roads are not used, and a start on one has no route', async (t) => {
  const network = town()
  const lengthMm = makeGraph(network).segmentLengthMm
  const closed = overlayOf(new Map([[1, [[lengthMm[1]!, 10]]]]))
  const answer = ask(network, { points: [at(0, 0), at(3, 0)], closed })
  t.equal(featuresOf(answer).length, 5)
  const { data } = throwsWith(t, () => ask(network, { points: [at(1.5, 0), at(3, 0)], closed }), 'NO_ROUTE')
  t.match(data, { leg: 0 })
})

t.test('solveRoute: NO_ROUTE names the leg, condition an island', async (t) => {
  const network = town(3)
  network.junctions.push(at(0, 3), at(1, 3))
  network.roads.push({ from: 9, to: 10, speed: [30, 30] })
  const points = [at(0, 0), at(1, 0), at(0.5, 3), at(1, 1)]
  const { data, message } = throwsWith(t, () => ask(network, { points }), 'NO_ROUTE')
  t.same(data, { leg: 1, from: at(1, 0), to: at(0.5, 3) })
  t.match(message, 'leg 2, from via[0] to via[1]')
  const reordered = throwsWith(t, () => ask(network, { points, wishes: { reorder: true } }), 'NO_ROUTE')
  t.match(reordered.data, { leg: 1 })
})

t.test('solveRoute: turn restrictions apply within a leg and across a via point', async (t) => {
  const links = [0, 14] // the first street of row 0, then column 1 to the north
  const network = town(3, [{ kind: 'no', links }])
  const points = [at(0.1, 0), at(1, 0.9)] as [number, number][]
  t.same(edgeIds(ask(town(3), { points })), links)
  t.notSame(edgeIds(ask(network, { points })), links)
  const over = edgeIds(ask(network, { points: [at(0.1, 0), at(1, 0), at(1, 0.9)] }))
  t.same(over, [0, 2, 3, 14], 'the turn is forbidden there, too')
})

t.test('solveRoute: stops with CANCELLED and SEARCH_TOO_LARGE', async (t) => {
  const cancel = new Int32Array(new SharedArrayBuffer(4)).fill(1)
  const points = [at(0, 0), at(4, 4)]
  throwsWith(t, () => ask(town(), { points, control: { maxSettledNodes: 5 } }), 'SEARCH_TOO_LARGE')
  throwsWith(t, () => ask(town(), { points, control: { maxSettledNodes: 5, cancel } }), 'CANCELLED')
})

t.test('solveRoute: limits stop the search for the order of the via points, too', async (t) => {
  const points = [at(0, 0), at(3, 1), at(1, 3), at(4, 4)]
  const control = { maxSettledNodes: 5 }
  throwsWith(t, () => ask(town(), { points, wishes: { reorder: true }, control }), 'SEARCH_TOO_LARGE')
})

t.test('solveRoute: names the points of a leg that closes later, in the order of visit', async (t) => {
  const graph = makeGraph(town(4))
  const points = asked([at(0, 0), at(3, 3), at(1, 0), at(3, 2)])
  const [start, far, near, goal] = snapPoints({ name: 'town', graph }, points, 1000)
  const open = createProfile(graph)
  // every road is closed while the far point is driven to
  const whole = [...graph.segmentLengthMm].map((mm, segment): [number, [number, number][]] => [
    segment,
    [[mm, 10]],
  ])
  const closed = createProfile(graph, [], overlayOf(new Map(whole)))
  const linkMs = open.weights[0]!
  const task = solveRoute({
    snaps: [start!, far!, near!, goal!],
    profile: open,
    timeline: { slotStartMs: [0, linkMs], profileOf: (slot) => (slot === 0 ? open : closed) },
    reorder: true,
    alternatives: 1,
    control: { maxSettledNodes: 1e9 },
    searchWith: (weights) => createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount)),
  })
  t.same(runToEnd(task), { blockedLeg: 1, from: 2, to: 1 })
})

t.test('solveRoute: with a free order, the first leg of the order given that has no path', async (t) => {
  const network = town(3)
  network.junctions.push(at(0, 4), at(1, 4))
  network.roads.push({ from: 9, to: 10, speed: [30, 30] })
  const graph = makeGraph(network)
  const [a, b, c, island] = [at(0, 0), at(1, 1), at(2, 2), at(0.5, 4)] as [number, number][]
  const blocked = (...points: ([number, number] | undefined)[]) =>
    runToEnd(
      solveRoute({
        snaps: snapPoints({ name: 'town', graph }, asked(points.map((point) => point!)), 1000),
        profile: createProfile(graph),
        reorder: true,
        alternatives: 1,
        control: { maxSettledNodes: 1e9 },
        searchWith: (weights) => createDijkstraSearch(graph, weights, createSearchState(graph.nodeCount)),
      }),
    )
  t.same(blocked(a, b, c, island), { blockedLeg: 2, from: 2, to: 3 })
  t.same(blocked(a, b, island, c), { blockedLeg: 1, from: 1, to: 2 })
  t.same(blocked(a, island, b, c), { blockedLeg: 0, from: 0, to: 1 })
  t.same(blocked(island, a, b, c), { blockedLeg: 0, from: 0, to: 1 })
})

t.test('property: features join up, and their sums are the totals', async (t) => {
  const spot = fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 400 }))
  const network = town()
  const lengthMm = makeGraph(network).segmentLengthMm
  const risk = fc.array(fc.tuple(fc.nat(lengthMm.length - 1), fc.nat(10)), { maxLength: 12 })
  fc.assert(
    fc.property(fc.array(spot, { minLength: 2, maxLength: 5 }), risk, (spots, cells) => {
      const points = spots.map(([x, y]) => at(x / 100, y / 100))
      const overlay = overlayOf(
        new Map(cells.map(([segment, level]) => [segment, [[lengthMm[segment]!, level]]])),
      )
      const sensitivity = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9999]
      const answer = ask(network, { points, themes: [{ overlay, sensitivity }] })
      const features = featuresOf(answer)
      for (const [i, feature] of features.entries()) {
        const next = features[i + 1]
        if (next === undefined || feature.properties.waypoint) continue
        const [end, begin] = [feature.geometry.coordinates.at(-1), next.geometry.coordinates[0]]
        if (`${end}` !== `${begin}`) return false
      }
      const hours = features.map(({ properties: p }) => p.length / 1000 / p.speed)
      const cost = features.reduce(
        (total, { properties: p }, i) => total + hours[i]! * (1 + sensitivity[p.risk]!),
        0,
      )
      const exposure = features.reduce((total, { properties: p }, i) => total + hours[i]! * p.risk, 0)
      const levels = features.reduce((total, { properties: p }) => total + p.risk * p.length, 0)
      return (
        Math.abs(answer.length - sum(features, 'length')) < 1e-6 &&
        Math.abs(answer.time - sum(features, 'time')) < 1e-9 &&
        Math.abs(answer.total_cost - cost) < 1e-9 * Math.max(1, cost) &&
        Math.abs(answer.avr_risk * answer.length - levels) < 1e-4 &&
        Math.abs(answer.exposure - exposure) < 1e-9 * Math.max(1, exposure) &&
        answer.max_risk === Math.max(0, ...features.map((f) => f.properties.risk))
      )
    }),
    { numRuns: 200 },
  )
  t.pass('200 requests')
})

function featuresOf(answer: RouteAnswer): RouteFeature[] {
  return (answer.geojson as { features: RouteFeature[] }).features
}

function edgeIds(answer: RouteAnswer): number[] {
  return featuresOf(answer).map((feature) => feature.properties.edge_id)
}

function sum(features: RouteFeature[], key: 'length' | 'time'): number {
  return features.reduce((total, feature) => total + feature.properties[key], 0)
}
