import t from 'tap'
import {
  chooseKind,
  finish,
  kernelsOf,
  kindOf,
  mayHaveOverflowed,
  metricBytes,
  SAFE_MS,
  startCustomisation,
  startUpdate,
} from '../../../src/routing/cch/customise.js'
import { buildHierarchy, type Hierarchy } from '../../../src/routing/cch/hierarchy.js'
import type { Metric } from '../../../src/routing/cch/metric.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { gridGraph, type PlainArc, type PlainGraph, plainGraph, seeded } from '../../support/random-graph.js'

/** Values that `startUpdate` copies between two checks of the work limit. */
const COPY_CHUNK = 1 << 18

t.test('chooseKind: int32 up to a factor of 100, float64 beyond it and for such weights', async (t) => {
  const ints = Int32Array.of(1, 2)
  const theme = (...sensitivity: number[]) => ({ sensitivity })
  t.equal(chooseKind(ints, []), 'int32')
  t.equal(chooseKind(ints, [theme(0, 99), theme(0)]), 'int32', 'factor 1 + 99')
  t.equal(chooseKind(ints, [theme(0, 99), theme(0, 0.5)]), 'float64')
  t.equal(chooseKind(ints, [theme(0, 9999, 3)]), 'float64')
  t.equal(chooseKind(Float64Array.of(1), []), 'float64')
})

t.test('kindOf, metricBytes: two arrays of 4 or 8 bytes an arc', async (t) => {
  const graph = chainOf(10)
  const hierarchy = buildHierarchy(graph, inOrder(graph))
  for (const kind of ['int32', 'float64'] as const) {
    const metric = finish(startCustomisation(hierarchy, graph.weights, kind))
    t.equal(kindOf(metric), kind)
    t.equal(metricBytes(hierarchy, kind), metric.up.byteLength + metric.down.byteLength)
  }
})

t.test('customise: float64 and int32 have the same sums where both can hold them', async (t) => {
  const graph = gridGraph(24, 24, seeded(3))
  const rank = rankNodes(graph, graph.sites)
  const [ints, floats] = (['int32', 'float64'] as const).map((kind) => {
    const { up, down } = customised(graph, kind, rank).metric
    const { infinite } = kernelsOf(kind)
    return [...up, ...down].map((ms) => (ms === infinite ? null : ms))
  })
  t.ok(ints!.some((ms) => ms === null) && ints!.some((ms) => ms !== null))
  t.same(floats, ints)
})

t.test('startUpdate: an update in either kind is what a customisation of the new weights is', async (t) => {
  const graph = gridGraph(24, 24, seeded(4))
  for (const kind of ['int32', 'float64'] as const) {
    const { metric, hierarchy } = customised(graph, kind, rankNodes(graph, graph.sites))
    const weights = graph.weights.slice()
    for (const arc of [100, 101, 500]) weights[arc] = Math.abs(weights[arc]!) + 5
    const update = startUpdate(graph, hierarchy, weights, kind, { metric, weights: graph.weights })
    if (update === undefined) throw new Error('too much has changed for an update')
    t.ok(isSame(finish(update), finish(startCustomisation(hierarchy, weights, kind))), kind)
  }
})

t.test('mayHaveOverflowed: from the first cost of 2^29 ms, of an arc or of a path', async (t) => {
  const isDoubtful = (...ms: number[]) => {
    const { metric, graph } = customised(chainOf(ms.length + 1, ms), 'int32')
    return mayHaveOverflowed(metric, graph.weights)
  }
  t.equal(isDoubtful(SAFE_MS - 1, 5), false)
  t.equal(isDoubtful(5, SAFE_MS), true)
  t.equal(isDoubtful(2 ** 31, 5), true, 'an arc that int32 cannot represent')
  // node 0 joins its two neighbours in a triangle whose cost is the sum
  t.equal(mayHaveOverflowed(...metricAndWeights(triangleOf(SAFE_MS / 2, SAFE_MS / 2 - 1))), false)
  t.equal(mayHaveOverflowed(...metricAndWeights(triangleOf(SAFE_MS / 2, SAFE_MS / 2))), true)
  const { metric, graph } = customised(chainOf(3, [SAFE_MS, SAFE_MS]), 'float64')
  t.equal(mayHaveOverflowed(metric, graph.weights), false, 'float64 represents every cost')
})

t.test('startUpdate: none to float64 from an int32 metric that may have overflowed', async (t) => {
  // the last arc leads to the root, so that an update visits few ranks
  const base = customised(
    chainOf(
      400,
      Array.from({ length: 399 }, (_, i) => (i < 398 ? 10 : 2 ** 30)),
    ),
    'int32',
  )
  const { graph, hierarchy } = base
  const update = (kind: 'int32' | 'float64', from: typeof base) =>
    startUpdate(graph, hierarchy, graph.weights, kind, { metric: from.metric, weights: from.graph.weights })
  t.equal(update('float64', base), undefined)
  t.ok(update('int32', base))
  t.ok(update('float64', customised(chainOf(400), 'int32')))
})

t.test('startUpdate: none when the sampled neighbourhoods mostly differ', async (t) => {
  // 33 runs of 64 nodes are sampled, one in 8; a change in 16 of them reaches few ranks
  const graph = chainOf(33 * 8 * 64)
  const { metric, hierarchy } = customised(graph, 'int32', rankNodes(graph, graph.sites))
  const changedIn = (runs: number) => {
    const weights = graph.weights.slice()
    for (let run = 0; run < runs; run++) weights[graph.firstOut[run * 8 * 64 + 63]!]! += 1
    return startUpdate(graph, hierarchy, weights, 'int32', { metric, weights: graph.weights })
  }
  t.ok(changedIn(16))
  t.equal(changedIn(17), undefined)
})

t.test('startUpdate: none when more than a third of the ranks would be visited', async (t) => {
  const graph = chainOf(300)
  const { metric, hierarchy } = customised(graph, 'int32')
  const changedAt = (arc: number) => {
    const weights = graph.weights.slice()
    weights[arc]! += 1
    return startUpdate(graph, hierarchy, weights, 'int32', { metric, weights: graph.weights })
  }
  // in a chain every rank is above all those before it; arc 199 leads from rank 199 to 200
  t.equal(changedAt(199), undefined, '101 ranks')
  t.ok(changedAt(200), '100 ranks')
})

t.test('startUpdate: a large metric is copied in slices, then updated', async (t) => {
  const graph = ladderOf(14_000, 20)
  const { metric, hierarchy } = customised(graph, 'int32')
  t.ok(hierarchy.arcCount > COPY_CHUNK, `${hierarchy.arcCount} arcs`)
  const weights = graph.weights.slice()
  weights[graph.arcCount - 1] = 777
  const update = startUpdate(graph, hierarchy, weights, 'int32', { metric, weights: graph.weights })!
  t.equal(update.advance(0), false, 'one part is copied')
  t.equal(update.metric.up[0], metric.up[0])
  while (!update.advance(1));
  t.ok(isSame(update.metric, finish(startCustomisation(hierarchy, weights, 'int32'))))
})

/** Nodes 0 to `count - 1` in a row; arcs forward, of 10 ms where `ms` gives no other cost. */
function chainOf(count: number, ms: readonly number[] = []): PlainGraph {
  return plainGraph(
    count,
    Array.from({ length: count - 1 }, (_, i) => ({ from: i, to: i + 1, ms: ms[i] ?? 10 })),
  )
}

/** Arcs 1 → 0 and 0 → 2: eliminating node 0 joins the others by a path of their sum. */
function triangleOf(firstMs: number, secondMs: number): PlainGraph {
  return plainGraph(3, [
    { from: 1, to: 0, ms: firstMs },
    { from: 0, to: 2, ms: secondMs },
  ])
}

/** A chain with arcs `width` nodes ahead: eliminated in order, each node is joined to the next `width`. */
function ladderOf(count: number, width: number): PlainGraph {
  const arcs: PlainArc[] = []
  for (let node = 0; node + 1 < count; node++) {
    arcs.push({ from: node, to: node + 1, ms: 10 + (node % 7) })
    if (node + width < count) arcs.push({ from: node, to: node + width, ms: 90 + (node % 13) })
    arcs.push({ from: node + 1, to: node, ms: 11 + (node % 5) })
  }
  return plainGraph(count, arcs)
}

function inOrder({ nodeCount }: PlainGraph): Uint32Array {
  return Uint32Array.from({ length: nodeCount }, (_, node) => node)
}

function customised(
  graph: PlainGraph,
  kind: 'int32' | 'float64',
  rank = inOrder(graph),
): { graph: PlainGraph; hierarchy: Hierarchy; metric: Metric } {
  const hierarchy = buildHierarchy(graph, rank)
  return { graph, hierarchy, metric: finish(startCustomisation(hierarchy, graph.weights, kind)) }
}

function metricAndWeights(graph: PlainGraph) {
  return [customised(graph, 'int32').metric, graph.weights] as const
}

function isSame(a: Metric, b: Metric): boolean {
  return (
    a.up.every((value, arc) => value === b.up[arc]) && a.down.every((value, arc) => value === b.down[arc])
  )
}
