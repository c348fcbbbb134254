import fc from 'fast-check'
import t from 'tap'
import { arcTail, type Topology } from '../../../src/routing/graph/topology.js'
import {
  type Control,
  type End,
  searchMany,
  searchOne,
  type Weights,
} from '../../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import {
  createSearchState,
  isSettled,
  MARK_STRIDE,
  SEEN,
  type SearchState,
} from '../../../src/routing/search/search-state.js'
import { plainGraph } from '../../support/random-graph.js'

interface Case {
  nodeCount: number
  arcs: { tail: number; head: number; weight: number }[]
  sources: End[]
  targets: End[]
}

const free: Control = { maxSettledNodes: Number.POSITIVE_INFINITY }

/** Loops, parallel arcs, arcs of cost 0, closed arcs (-1), nodes without arcs, the same end twice. */
const cases: fc.Arbitrary<Case> = fc.integer({ min: 1, max: 9 }).chain((nodeCount) => {
  const node = fc.nat(nodeCount - 1)
  const end = fc.record({ node, costMs: fc.nat(4) })
  return fc.record({
    nodeCount: fc.constant(nodeCount),
    arcs: fc
      .array(fc.record({ tail: node, head: node, weight: fc.constantFrom(-1, 0, 0, 1, 2, 3, 7) }), {
        maxLength: 24,
      })
      .map((arcs) => arcs.sort((a, b) => a.tail - b.tail)),
    sources: fc.array(end, { minLength: 1, maxLength: 3 }),
    targets: fc.array(end, { minLength: 1, maxLength: 3 }),
  })
})

t.test('property: costs equal those of Bellman-Ford, and the path is one of that cost', async (t) => {
  fc.assert(
    fc.property(cases, fc.boolean(), (graph, isFloat) => {
      const { topology, weights } = flat(graph, isFloat)
      const search = createDijkstraSearch(topology, weights, createSearchState(graph.nodeCount))
      const path = search.one(graph.sources, graph.targets, { ...free })
      const expected = Math.min(
        ...graph.targets.map(({ node, costMs }) => bellmanFord(graph)[node]! + costMs),
      )
      if (path === undefined) return expected === Number.POSITIVE_INFINITY
      if (path.costMs !== expected) return false
      return sumOfPath(graph, topology, path) === expected
    }),
    { numRuns: 2000 },
  )
  t.pass('2000 graphs')
})

t.test('property: searchMany settles each target at its cost, and only targets with a path', async (t) => {
  fc.assert(
    fc.property(cases, (graph) => {
      const { topology, weights } = flat(graph, false)
      const state = createSearchState(graph.nodeCount)
      const isDone = searchMany(
        { topology: topology, weights: weights, state: state },
        graph.sources,
        graph.targets,
        { ...free },
      )
      const expected = bellmanFord(graph)
      return (
        isDone &&
        graph.targets.every(({ node }) =>
          expected[node] === Number.POSITIVE_INFINITY
            ? !isReached(state, node)
            : isSettled(state, node) && state.costMs[node] === expected[node],
        )
      )
    }),
    { numRuns: 1000 },
  )
  t.pass('1000 graphs')
})

t.test('property: a state can be reused by any number of searches', async (t) => {
  fc.assert(
    fc.property(fc.array(cases, { minLength: 2, maxLength: 4 }), (graphs) => {
      const state = createSearchState(9)
      return graphs.every((graph) => {
        const { topology, weights } = flat(graph, false)
        const used = createDijkstraSearch(topology, weights, state).one(graph.sources, graph.targets, {
          ...free,
        })
        const fresh = createDijkstraSearch(topology, weights, createSearchState(9)).one(
          graph.sources,
          graph.targets,
          {
            ...free,
          },
        )
        return JSON.stringify(used) === JSON.stringify(fresh)
      })
    }),
    { numRuns: 500 },
  )
  t.pass('500 series')
})

t.test('property: maxCostMs excludes more expensive paths and no others', async (t) => {
  fc.assert(
    fc.property(cases, fc.nat(12), (graph, maxCostMs) => {
      const { topology, weights } = flat(graph, false)
      const search = createDijkstraSearch(topology, weights, createSearchState(graph.nodeCount))
      const whole = search.one(graph.sources, graph.targets, { ...free })
      const limited = search.one(graph.sources, graph.targets, { ...free }, maxCostMs)
      const expected = whole !== undefined && whole.costMs <= maxCostMs ? whole.costMs : undefined
      return limited?.costMs === expected
    }),
    { numRuns: 1000 },
  )
  t.pass('1000 graphs')
})

t.test('searchOne: of equally cheap paths the one whose last arc has the smaller number wins', async (t) => {
  const graph: Case = {
    nodeCount: 4,
    arcs: [
      { tail: 0, head: 1, weight: 2 },
      { tail: 0, head: 2, weight: 2 },
      { tail: 1, head: 3, weight: 1 },
      { tail: 2, head: 3, weight: 1 },
      { tail: 2, head: 3, weight: 1 },
    ],
    sources: [{ node: 0, costMs: 0 }],
    targets: [{ node: 3, costMs: 0 }],
  }
  const { topology, weights } = flat(graph, false)
  const path = createDijkstraSearch(topology, weights, createSearchState(4)).one(
    graph.sources,
    graph.targets,
    { ...free },
  )
  t.same(path, { costMs: 3, source: 0, target: 0, arcs: [0, 2] })
})

t.test('searchOne: of equally cheap sources and targets the first in their list wins', async (t) => {
  const { topology, weights } = line(3)
  const ends = [
    { node: 0, costMs: 1 },
    { node: 0, costMs: 1 },
  ]
  const goals = [
    { node: 2, costMs: 5 },
    { node: 2, costMs: 4 },
    { node: 2, costMs: 4 },
  ]
  const search = createDijkstraSearch(topology, weights, createSearchState(3))
  const path = search.one(ends, goals, { ...free })
  t.match(path, { source: 0, target: 1 })
})

t.test('searchOne: stops at the budget, condition more nodes than allowed', async (t) => {
  const control: Control = { maxSettledNodes: 3 }
  const { topology, weights, sources, targets } = line(10)
  const state = createSearchState(10)
  t.equal(searchOne({ topology, weights, state }, sources, targets, control), -1)
  t.equal(control.stoppedBy, 'budget')
  t.equal(state.settledCount, 3)
  const enough: Control = { maxSettledNodes: 11 }
  t.equal(searchOne({ topology, weights, state: createSearchState(10) }, sources, targets, enough), 0)
  t.equal(enough.stoppedBy, undefined)
})

t.test('searchOne: stops within some thousand nodes when the cancel flag is set', async (t) => {
  const cancel = new Int32Array(new SharedArrayBuffer(4))
  const nodeCount = 20_000
  const { topology, weights, sources, targets } = line(nodeCount)
  const control: Control = { cancel, maxSettledNodes: 1e9 }
  t.equal(searchOne({ topology, weights, state: createSearchState(nodeCount) }, sources, targets, control), 0)
  Atomics.store(cancel, 0, 1)
  const state = createSearchState(nodeCount)
  t.equal(searchOne({ topology: topology, weights: weights, state: state }, sources, targets, control), -1)
  t.equal(control.stoppedBy, 'cancel')
  t.ok(state.settledCount < 10_000, `stopped after ${state.settledCount}`)
})

t.test('searchOne: stops once the target is settled and nothing below its cost is left', async (t) => {
  const { topology, weights, sources } = line(10_000)
  const state = createSearchState(10_000)
  const targets = [
    { node: 20, costMs: 5 },
    { node: 22, costMs: 0 },
  ]
  t.equal(searchOne({ topology: topology, weights: weights, state: state }, sources, targets, { ...free }), 1)
  t.equal(state.settledCount, 23)
  t.equal(
    searchOne({ topology: topology, weights: weights, state: state }, sources, targets.slice(0, 1), {
      ...free,
    }),
    0,
  )
  t.equal(state.settledCount, 21)
})

t.test('searchOne: sums beyond 2^31 stay exact', async (t) => {
  const weights = Float64Array.of(2 ** 40 + 1, 2 ** 40 + 1)
  const topology: Topology = {
    nodeCount: 3,
    arcCount: 2,
    firstOut: Uint32Array.of(0, 1, 2, 2),
    head: Uint32Array.of(1, 2),
  }
  const search = createDijkstraSearch(topology, weights, createSearchState(3))
  const path = search.one([{ node: 0, costMs: 0 }], [{ node: 2, costMs: 0 }], { ...free })
  t.equal(path?.costMs, 2 ** 41 + 2)
  const whole = new Int32Array([2 ** 31 - 1, 2 ** 31 - 1])
  const sum = createDijkstraSearch(topology, whole, createSearchState(3))
  t.equal(sum.one([{ node: 0, costMs: 0 }], [{ node: 2, costMs: 0 }], { ...free })?.costMs, 2 ** 32 - 2)
})

t.test('createDijkstraSearch: costs, rows and reach end at the budget', async (t) => {
  const graph = plainGraph(
    20,
    Array.from({ length: 19 }, (_, i) => ({ from: i, to: i + 1, ms: 1 })),
  )
  const search = createDijkstraSearch(graph, graph.weights, createSearchState(20))
  const ends = (node: number) => [{ node, costMs: 0 }]
  const runs = [
    (control: Control) => search.costs([ends(0)], [ends(19)], control),
    (control: Control) => search.rows([ends(19)], [], () => false)(ends(0), control),
    (control: Control) => search.reach(ends(0), control, Number.POSITIVE_INFINITY),
  ]
  for (const run of runs) {
    const small: Control = { maxSettledNodes: 5 }
    t.equal(run(small), undefined)
    t.equal(small.stoppedBy, 'budget')
    t.ok(run({ maxSettledNodes: 50 }))
  }
})

t.test('createDijkstraSearch: rows sum up the measures along the cheapest path', async (t) => {
  const graph = plainGraph(4, [
    { from: 0, to: 1, ms: 5 },
    { from: 1, to: 2, ms: 5 },
    { from: 0, to: 2, ms: 11 },
  ])
  const search = createDijkstraSearch(graph, graph.weights, createSearchState(4))
  const ends = (...nodes: number[]) => nodes.map((node) => ({ node, costMs: node }))
  const rowOf = search.rows(
    [ends(2), ends(3), ends(2, 1)],
    [() => 1, (arc) => graph.weights[arc]! * 10],
    (before, arc) => before === 0 && arc === 2,
  )
  const row = rowOf(ends(3, 0), { ...free })!
  t.same([...row.costMs], [12, 6, 6])
  t.same([...row.source], [1, 0, 1])
  t.same([...row.target], [0, 0, 1])
  t.same([...row.firstArc], [0, -1, 0])
  t.same([...row.lastArc], [2, -1, 0])
  t.same([...row.isMarked], [1, 0, 0])
  t.same(row.sums.map((sums) => [...sums]), [[2, 0, 1], [100, 0, 50]]) // biome-ignore format: sums
})

t.test('arcTail: returns the node that an arc leaves, condition nodes without arcs between', async (t) => {
  const topology = { nodeCount: 5, firstOut: Uint32Array.of(0, 2, 2, 2, 3, 3) }
  t.same(
    [0, 1, 2].map((arc) => arcTail(topology, arc)),
    [0, 0, 3],
  )
})

function line(nodeCount: number) {
  const arcCount = nodeCount - 1
  const topology: Topology = {
    nodeCount,
    arcCount,
    firstOut: Uint32Array.from({ length: nodeCount + 1 }, (_, i) => Math.min(i, arcCount)),
    head: Uint32Array.from({ length: arcCount }, (_, i) => i + 1),
  }
  return {
    topology,
    weights: new Int32Array(arcCount).fill(1),
    sources: [{ node: 0, costMs: 0 }],
    targets: [{ node: nodeCount - 1, costMs: 0 }],
  }
}

function flat({ nodeCount, arcs }: Case, isFloat: boolean): { topology: Topology; weights: Weights } {
  const firstOut = new Uint32Array(nodeCount + 1)
  for (const { tail } of arcs) firstOut[tail + 1]!++
  for (let node = 0; node < nodeCount; node++) firstOut[node + 1]! += firstOut[node]!
  const weights = arcs.map((arc) => arc.weight)
  return {
    topology: { nodeCount, arcCount: arcs.length, firstOut, head: Uint32Array.from(arcs, (arc) => arc.head) },
    weights: isFloat ? Float64Array.from(weights) : Int32Array.from(weights),
  }
}

/** @see R. Bellman, "On a routing problem", 1958 */
function bellmanFord({ nodeCount, arcs, sources }: Case): number[] {
  const cost = new Array<number>(nodeCount).fill(Number.POSITIVE_INFINITY)
  for (const { node, costMs } of sources) cost[node] = Math.min(cost[node]!, costMs)
  for (let round = 0; round < nodeCount; round++) {
    for (const { tail, head, weight } of arcs) {
      if (weight >= 0) cost[head] = Math.min(cost[head]!, cost[tail]! + weight)
    }
  }
  return cost
}

/** Cost of a path, NaN when it is not one. */
function sumOfPath(
  graph: Case,
  topology: Topology,
  path: { source: number; target: number; arcs: number[] },
): number {
  const source = graph.sources[path.source]!
  const target = graph.targets[path.target]!
  let node = source.node
  let sum = source.costMs + target.costMs
  for (const arc of path.arcs) {
    if (arcTail(topology, arc) !== node) return Number.NaN
    sum += graph.arcs[arc]!.weight
    node = topology.head[arc]!
  }
  return node === target.node ? sum : Number.NaN
}

/** True when the last run found a path to the node, its cost final or not. */
function isReached(state: SearchState, node: number): boolean {
  return state.mark[node]! >= state.run * MARK_STRIDE + SEEN
}
