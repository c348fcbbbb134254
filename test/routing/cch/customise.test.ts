import t from 'tap'
import {
  chooseKind,
  finish,
  isDoubtful,
  kernelsOf,
  mayHaveOverflowed,
  metricBytes,
  startCustomisation,
  startUpdate,
} from '../../../src/routing/cch/customise.js'
import { buildHierarchy, type Hierarchy } from '../../../src/routing/cch/hierarchy.js'
import { KINDS, type Kind, type Metric } from '../../../src/routing/cch/metric.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { gridGraph, type PlainArc, type PlainGraph, plainGraph, seeded } from '../../support/random-graph.js'

/** Values that `startUpdate` copies between two checks of the work limit. */
const COPY_CHUNK = 1 << 18

t.test('chooseKind: int32 up to a factor of 100, float64 up to 2^21 and for such weights', async (t) => {
  const ints = Int32Array.of(1, 2)
  const theme = (...sensitivity: number[]) => ({ sensitivity })
  t.equal(chooseKind(ints, []), 'int32')
  t.equal(chooseKind(ints, [theme(0, 99), theme(0)]), 'int32', 'factor 1 + 99')
  t.equal(chooseKind(ints, [theme(0, 99), theme(0, 0.5)]), 'float64')
  t.equal(chooseKind(ints, [theme(0, 9999, 3)]), 'float64')
  t.equal(chooseKind(ints, [theme(0, 2 ** 21 - 1)]), 'float64', 'its largest factor')
  t.equal(chooseKind(ints, [theme(0, 2 ** 21 - 1), theme(0, 1)]), 'wide')
  t.equal(chooseKind(Float64Array.of(1), []), 'float64')
  t.equal(chooseKind(Float64Array.of(1), [theme(0, 2 ** 21 - 1)]), 'float64')
  t.equal(chooseKind(Float64Array.of(1), [theme(0, 1e12)]), 'wide')
})

t.test('metricBytes: two arrays of 4 or 8 bytes an arc', async (t) => {
  const graph = chainOf(10)
  const hierarchy = buildHierarchy(graph, inOrder(graph))
  for (const kind of KINDS) {
    const metric = finish(startCustomisation(hierarchy, graph.weights, kind))
    t.equal(metric.kind, kind)
    t.equal(metricBytes(hierarchy, kind), metric.up.byteLength + metric.down.byteLength)
  }
})

t.test('customise: all kinds have the same sums where they can hold them', async (t) => {
  const graph = gridGraph(24, 24, seeded(3))
  const rank = rankNodes(graph, graph.sites)
  const [ints, ...others] = KINDS.map((kind) => {
    const { up, down } = customised(graph, kind, rank).metric
    const { infinite } = kernelsOf(kind)
    return [...up, ...down].map((ms) => (ms === infinite ? null : ms))
  })
  t.ok(ints!.some((ms) => ms === null) && ints!.some((ms) => ms !== null))
  t.same(others, [ints, ints])
})

t.test(
  'startUpdate: an update from each kind to each is what a customisation of the new weights is',
  async (t) => {
    const moderate = gridGraph(24, 24, seeded(4))
    // every ninth arc costs about as much as one of the kinds represents, or more
    const limits = [2 ** 29, 2 ** 30 - 2, 2 ** 30, 2 ** 50, 2 ** 51 - 1, 2 ** 51, 2 ** 52 + 1]
    const dear = (ms: number, arc: number) => (ms >= 0 && arc % 9 === 0 ? limits[(arc / 9) % 7]! : ms)
    const high = { ...moderate, weights: moderate.weights.map(dear) }
    for (const from of KINDS) {
      for (const to of KINDS) {
        const update = (graph: PlainGraph) => {
          const { metric, hierarchy } = customised(graph, from, rankNodes(graph, graph.sites))
          const weights = graph.weights.slice()
          for (const arc of [100, 101, 500]) weights[arc] = Math.abs(weights[arc]!) + 5
          const job = startUpdate(graph, hierarchy, weights, to, { metric, weights: graph.weights })
          return job && isSame(finish(job), finish(startCustomisation(hierarchy, weights, to)))
        }
        t.equal(update(moderate), true, `${from} to ${to}`)
        const isWider = KINDS.indexOf(to) > KINDS.indexOf(from)
        t.equal(update(high), isWider ? undefined : true, `${from} to ${to}, beyond both`)
      }
    }
  },
)

t.test('mayHaveOverflowed: from half of what the kind represents, of an arc or of a path', async (t) => {
  for (const [kind, safeMs] of [
    ['int32', 2 ** 29],
    ['float64', 2 ** 50],
  ] as const) {
    const mayHave = (graph: PlainGraph) => mayHaveOverflowed(customised(graph, kind).metric, graph.weights)
    t.equal(mayHave(chainOf(3, [safeMs - 1, 5])), false)
    t.equal(mayHave(chainOf(3, [5, safeMs])), true)
    // node 0 joins its two neighbours in a triangle whose cost is the sum
    t.equal(mayHave(triangleOf(safeMs / 2, safeMs / 2 - 1)), false)
    t.equal(mayHave(triangleOf(safeMs / 2, safeMs / 2)), true)
    const { infinite } = kernelsOf(kind)
    for (const ms of [infinite, infinite + 1, infinite * 4, Number.MAX_VALUE]) {
      const { graph, metric } = customised(chainOf(3, [ms, 5]), kind)
      t.equal(metric.up[0], infinite, 'an arc that cannot be represented')
      t.equal(mayHaveOverflowed(metric, graph.weights), true)
    }
  }
  const { graph, metric } = customised(chainOf(3, [2 ** 52, 1e300]), 'wide')
  t.equal(mayHaveOverflowed(metric, graph.weights), false, 'wide represents every cost')
  const readLabels = () => {
    throw new Error('the labels are read')
  }
  t.equal(isDoubtful(metric, graph.weights, readLabels), false)
})

t.test('startUpdate: none to a wider kind from a metric that may have overflowed', async (t) => {
  // the last arc leads to the root, so that an update visits few ranks
  const baseOf = (kind: Kind, lastMs: number) =>
    customised(
      chainOf(
        400,
        Array.from({ length: 399 }, (_, i) => (i < 398 ? 10 : lastMs)),
      ),
      kind,
    )
  const { graph, hierarchy } = baseOf('wide', 2 ** 52)
  const kindsFrom = (from: Kind, lastMs: number) => {
    const base = baseOf(from, lastMs)
    const changes = { metric: base.metric, weights: base.graph.weights }
    return KINDS.filter((kind) => startUpdate(graph, hierarchy, graph.weights, kind, changes) !== undefined)
  }
  t.same(kindsFrom('int32', 2 ** 29 - 1), KINDS)
  t.same(kindsFrom('int32', 2 ** 29), ['int32'])
  t.same(kindsFrom('float64', 2 ** 50 - 1), KINDS)
  t.same(kindsFrom('float64', 2 ** 50), ['int32', 'float64'])
  t.same(kindsFrom('wide', 2 ** 52), KINDS)
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
  kind: Kind,
  rank = inOrder(graph),
): { graph: PlainGraph; hierarchy: Hierarchy; metric: Metric } {
  const hierarchy = buildHierarchy(graph, rank)
  return { graph, hierarchy, metric: finish(startCustomisation(hierarchy, graph.weights, kind)) }
}

function isSame(a: Metric, b: Metric): boolean {
  return (
    a.up.every((value, arc) => value === b.up[arc]) && a.down.every((value, arc) => value === b.down[arc])
  )
}
