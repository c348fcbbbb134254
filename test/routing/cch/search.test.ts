import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { finish, kernelsOf, startCustomisation, startUpdate } from '../../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { KINDS, type Kind } from '../../../src/routing/cch/metric.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { createPrepared, type Prepared, prepareNow } from '../../../src/routing/cch/prepared.js'
import { createHierarchySearch } from '../../../src/routing/cch/search.js'
import { costsToAll } from '../../../src/routing/cch/sweep.js'
import { arcTail } from '../../../src/routing/graph/topology.js'
import { type Control, type End, searchMany } from '../../../src/routing/search/dijkstra.js'
import { createDijkstraSearch, type NodePath, type PathRow } from '../../../src/routing/search/leg-search.js'
import { createSearchState, isSettled } from '../../../src/routing/search/search-state.js'
import {
  COSTS,
  endLists,
  gridGraph,
  type PlainGraph,
  plainGraph,
  plainGraphs,
  seeded,
} from '../../support/random-graph.js'

const RUNS = Number(process.env.FIELDGATE_TEST_RUNS ?? 400)

t.test('property: every cost equals that of flat Dijkstra, and every path has its cost', async () => {
  const cases = plainGraphs(30).chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      pairs: fc.array(fc.tuple(endLists(graph.nodeCount), endLists(graph.nodeCount)), {
        minLength: 1,
        maxLength: 4,
      }),
      maxCostMs: fc.constantFrom(Number.POSITIVE_INFINITY, 0, 5, 1000),
    }),
  )
  fc.assert(
    fc.property(cases, ({ graph, pairs, maxCostMs }) => {
      const oracle = oracleOf(graph)
      for (const kind of KINDS) {
        const search = createHierarchySearch(prepare(graph, kind))
        for (const [sources, targets] of pairs) {
          const expected = oracle.one(sources, targets, control(), maxCostMs)
          check(graph, sources, targets, search.one(sources, targets, control(), maxCostMs), expected)
        }
        checkTable(graph, pairs, kind)
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('property: an update equals a full customisation bit for bit, in slices of any size', async () => {
  const high = [...COSTS, 2 ** 29, 2 ** 30 - 2, 2 ** 30, 2 ** 50 - 1, 2 ** 50, 2 ** 51 - 1, 2 ** 51, 2 ** 52]
  const cases = fc.oneof(plainGraphs(40), plainGraphs(40, high)).chain((graph) =>
    fc.record({
      graph: fc.constant(graph),
      changes: fc.array(fc.tuple(fc.nat(Math.max(0, graph.arcCount - 1)), fc.constantFrom(...high)), {
        maxLength: 3,
      }),
      slice: fc.constantFrom(1, 7, 1e9),
      fromKind: fc.constantFrom(...KINDS),
      toKind: fc.constantFrom(...KINDS),
    }),
  )
  let repaired = 0
  fc.assert(
    fc.property(cases, ({ graph, changes, slice, fromKind, toKind }) => {
      const { hierarchy, metric } = prepare(graph, fromKind)
      const weights = graph.weights.slice()
      for (const [arc, ms] of changes) if (arc < weights.length) weights[arc] = ms
      const full = finish(startCustomisation(hierarchy, weights, toKind))
      const sliced = startCustomisation(hierarchy, weights, toKind)
      while (!sliced.advance(slice));
      same(sliced.metric, full)
      const repair = startUpdate(graph, hierarchy, weights, toKind, { metric, weights: graph.weights })
      if (repair === undefined) return
      repaired++
      while (!repair.advance(slice));
      same(repair.metric, full)
    }),
    { numRuns: RUNS },
  )
  t.ok(repaired > RUNS / 10, `${repaired} repairs compared`)
})

t.test('search: a town of 2,000 nodes, every pair of 60, all kinds', async (t) => {
  const graph = gridGraph(50, 40, seeded(11))
  const random = seeded(12)
  const oracle = oracleOf(graph)
  let found = 0
  for (const kind of KINDS) {
    const search = createHierarchySearch(prepare(graph, kind))
    for (let i = 0; i < 300; i++) {
      const ends = () => [{ node: Math.floor(random() * graph.nodeCount), costMs: Math.floor(random() * 3) }]
      const [sources, targets] = [ends(), ends()]
      const path = search.one(sources, targets, control())
      check(graph, sources, targets, path, oracle.one(sources, targets, control()))
      if (path !== undefined) found++
    }
  }
  t.ok(found > 300, `${found} ways compared`)
})

t.test('property: costs to all nodes equal those of flat Dijkstra', async () => {
  const cases = plainGraphs(30).chain((graph) => fc.tuple(fc.constant(graph), endLists(graph.nodeCount)))
  fc.assert(
    fc.property(cases, ([graph, sources]) => {
      const state = createSearchState(graph.nodeCount)
      searchMany({ topology: graph, weights: graph.weights, state }, sources, [], control())
      for (const kind of KINDS) {
        const { hierarchy, metric } = prepare(graph, kind)
        const kernels = kernelsOf(kind)
        const costs = costsToAll(hierarchy, kernels, metric, sources)
        for (let node = 0; node < graph.nodeCount; node++) {
          const expected = isSettled(state, node) ? state.costMs[node]! : kernels.infinite
          const found = costs[hierarchy.rank[node]!]!
          if (found !== expected) throw new Error(`node ${node}: ${found}, expected ${expected}`)
        }
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('property: costs beyond int32 are found after widening, others without', async (t) => {
  const huge = [1, 1000, 2 ** 28, 2 ** 29, 2 ** 30 - 2, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1, 5e11, -1]
  const cases = plainGraphs(12, huge).chain((graph) =>
    fc.tuple(fc.constant(graph), endLists(graph.nodeCount), endLists(graph.nodeCount)),
  )
  let widened = 0
  fc.assert(
    fc.property(cases, ([graph, sources, targets]) => {
      const expected = oracleOf(graph).one(sources, targets, control())
      const prepared = prepare(graph, 'int32')
      let isWidened = false
      const search = createHierarchySearch(
        createPrepared(prepared, () => {
          isWidened = true
        }),
      )
      check(graph, sources, targets, search.one(sources, targets, control()), expected)
      if (isWidened) widened++
      if (isWidened && expected !== undefined && expected.costMs < 2 ** 30 - 1)
        throw new Error('widened for nothing')
      const table = search.costs([sources], [targets], control())
      if (table?.[0] !== (expected?.costMs ?? Number.POSITIVE_INFINITY))
        throw new Error(`table says ${table?.[0]}`)
    }),
    { numRuns: RUNS },
  )
  t.ok(widened > 0, `${widened} widened`)
})

t.test('property: costs beyond float64 are those of flat Dijkstra, by every kind of search', async (t) => {
  // multiples of 16, so that sums beyond 2^53 are not rounded
  const huge = [1, 2 ** 26, 2 ** 45, 2 ** 46 - 1, 2 ** 46, 2 ** 47 - 1, 2 ** 47, 2 ** 48].map((ms) => ms * 16)
  const ends = (graph: PlainGraph) =>
    endLists(graph.nodeCount).map((list) => list.map(({ node, costMs }) => ({ node, costMs: costMs * 16 })))
  const cases = plainGraphs(12, [...huge, -1]).chain((graph) =>
    fc.tuple(fc.constant(graph), ends(graph), ends(graph)),
  )
  let beyond = 0
  fc.assert(
    fc.property(cases, ([graph, sources, targets]) => {
      const expected = oracleOf(graph).one(sources, targets, control())
      const costMs = expected?.costMs ?? Number.POSITIVE_INFINITY
      if (expected !== undefined && costMs >= 2 ** 51) beyond++
      for (const kind of KINDS) {
        const fresh = () => createHierarchySearch(createPrepared(prepare(graph, kind)))
        check(graph, sources, targets, fresh().one(sources, targets, control()), expected)
        const row = fresh().rows([targets], [], () => false)(sources, control())
        const table = fresh().costs([sources], [targets], control())
        const costOf = fresh().reach(sources, control(), Number.POSITIVE_INFINITY)!
        const nearestMs = Math.min(...targets.map((target) => costOf(target.node) + target.costMs))
        const restOf = fresh().potentialTo(targets)
        const leastMs = Math.min(...sources.map((source) => source.costMs + restOf(source.node)))
        for (const found of [row?.costMs[0], table?.[0], nearestMs, leastMs])
          if (found !== costMs) throw new Error(`${kind} says ${found}, expected ${costMs}`)
      }
    }),
    { numRuns: RUNS },
  )
  t.ok(beyond > 0, `${beyond} beyond float64`)
})

t.test('search: a path of arcs that are each far below the end of a kind is found', async (t) => {
  for (const ms of [2 ** 29 - 1, 2 ** 50 - 1]) {
    const graph = plainGraph(
      4,
      [0, 1, 2].map((from) => ({ from, to: from + 1, ms })),
    )
    const [sources, targets] = [0, 3].map((node) => [{ node, costMs: 0 }]) as [End[], End[]]
    // eliminated from one of its ends, a chain gets no arcs that cost more: the path only leads up, or down
    for (const rank of [Uint32Array.of(0, 1, 2, 3), Uint32Array.of(3, 2, 1, 0)]) {
      const hierarchy = buildHierarchy(graph, rank)
      for (const kind of KINDS) {
        const fresh = () => createHierarchySearch(prepareNow({ ...graph, roads: graph, hierarchy }, kind))
        t.equal(fresh().one(sources, targets, control())?.costMs, 3 * ms)
        t.same(fresh().costs([sources], [targets], control()), [3 * ms])
        t.equal(fresh().reach(sources, control(), Number.POSITIVE_INFINITY)!(3), 3 * ms)
        t.equal(fresh().potentialTo(targets)(0), 3 * ms)
      }
    }
  }
})

t.test('widen: from each kind to the next wider one, which is kept', async (t) => {
  const graph = plainGraph(3, [
    { from: 0, to: 1, ms: 2 ** 50 },
    { from: 1, to: 2, ms: 2 ** 50 },
  ])
  const kinds: Kind[] = []
  const prepared = createPrepared(prepare(graph, 'int32'), () => kinds.push(prepared.metric.kind))
  const search = createHierarchySearch(prepared)
  const [sources, near, far] = [0, 1, 2].map((node) => [{ node, costMs: 0 }]) as [End[], End[], End[]]
  const rowOf = search.rows([far], [], () => false)
  t.equal(search.one(sources, near, control())?.costMs, 2 ** 50)
  t.same(kinds, ['float64'])
  t.equal(search.one(sources, far, control())?.costMs, 2 ** 51)
  t.same(kinds, ['float64', 'wide'])
  t.equal(rowOf(sources, control())?.costMs[0], 2 ** 51)
  t.same(kinds, ['float64', 'wide'], 'a row that was begun before takes the metric of now')
  t.throws(() => prepared.widen(), /no kind of costs is wider/)
})

t.test('search: an end whose own cost no bounded kind represents is found', async (t) => {
  const graph = plainGraph(2, [{ from: 0, to: 1, ms: 5 }])
  const [cheap, dear] = [0, 2 ** 52].map((costMs) => (node: number) => [{ node, costMs }]) as [
    (node: number) => End[],
    (node: number) => End[],
  ]
  for (const [sources, targets] of [
    [dear(0), cheap(1)],
    [cheap(0), dear(1)],
  ] as const) {
    for (const kind of KINDS) {
      const fresh = () => createHierarchySearch(createPrepared(prepare(graph, kind)))
      t.equal(fresh().one(sources, targets, control())?.costMs, 2 ** 52 + 5)
      t.same(fresh().costs([sources], [targets], control()), [2 ** 52 + 5])
      t.equal(fresh().rows([targets], [], () => false)(sources, control())?.costMs[0], 2 ** 52 + 5)
    }
  }
  for (const kind of KINDS) {
    const search = createHierarchySearch(createPrepared(prepare(graph, kind)))
    t.equal(search.reach(dear(0), control(), Number.POSITIVE_INFINITY)!(1), 2 ** 52 + 5)
    t.equal(search.potentialTo(dear(1))(0), 2 ** 52 + 5)
  }
})

t.test('search: a missing path under moderate costs does not widen the metric', async (t) => {
  const graph = plainGraph(3, [
    { from: 0, to: 1, ms: 5000 },
    { from: 2, to: 1, ms: 5000 },
  ]) // prettier-ignore
  const prepared = { ...prepare(graph, 'int32'), widen: () => t.fail('widened') }
  const search = createHierarchySearch(prepared)
  t.equal(search.one([{ node: 0, costMs: 0 }], [{ node: 2, costMs: 0 }], control()), undefined)
  t.same(search.costs([[{ node: 0, costMs: 0 }]], [[{ node: 2, costMs: 0 }]], control()), [
    Number.POSITIVE_INFINITY,
  ])
  const costOf = search.reach([{ node: 0, costMs: 0 }], control(), Number.POSITIVE_INFINITY)!
  t.same([0, 1, 2].map(costOf), [0, 5000, Number.POSITIVE_INFINITY])
})

t.test('search: paths of cost 0 have no circles', async (t) => {
  const arcs = Array.from({ length: 400 }, (_, i) => ({
    from: i % 20,
    to: Math.floor(i / 20),
    ms: i % 7 === 0 ? 1 : 0,
  }))
  const graph = plainGraph(20, arcs)
  const search = createHierarchySearch(prepare(graph, 'int32'))
  for (let from = 0; from < 20; from++) {
    for (let to = 0; to < 20; to++) {
      const path = search.one([{ node: from, costMs: 0 }], [{ node: to, costMs: 0 }], control())
      const nodes = [from, ...path!.arcs.map((arc) => graph.head[arc]!)]
      t.equal(new Set(nodes).size, nodes.length)
    }
  }
})

t.test('search: each kind of search widens the metric by itself', async (t) => {
  // 0 → 1 → 2 costs more than int32 represents; nothing leads to 3
  const graph = plainGraph(4, [
    { from: 0, to: 1, ms: 2 ** 30 - 2 },
    { from: 1, to: 2, ms: 2 ** 30 - 2 },
  ])
  const [sources, targets, lost] = [0, 2, 3].map((node) => [{ node, costMs: 0 }]) as [End[], End[], End[]]
  const farMs = 2 ** 31 - 4
  const fresh = () => {
    let widened = 0
    const search = createHierarchySearch(createPrepared(prepare(graph, 'int32'), () => widened++))
    return { search, widened: () => widened }
  }
  const rows = fresh()
  const rowOf = rows.search.rows([targets, lost], [(arc) => graph.weights[arc]!], () => false)
  for (let i = 0; i < 2; i++) {
    const row = rowOf(sources, control())!
    t.same([...row.costMs], [farMs, Number.POSITIVE_INFINITY])
    t.same([...row.sums[0]!], [farMs, 0])
  }
  t.equal(rows.widened(), 1, 'rows: the wider metric is kept')
  const all = fresh()
  const costOf = all.search.reach(sources, control(), Number.POSITIVE_INFINITY)!
  t.same([0, 1, 2, 3].map(costOf), [0, 2 ** 30 - 2, farMs, Number.POSITIVE_INFINITY])
  t.equal(all.widened(), 1, 'reach')
  const near = fresh()
  const nearCostOf = near.search.reach(sources, control(), 2 ** 30 - 2)!
  t.same([0, 1, 2].map(nearCostOf), [0, 2 ** 30 - 2, Number.POSITIVE_INFINITY])
  t.equal(near.widened(), 0, 'reach within what int32 represents')
})

t.test('search: a cancel flag stops it', async (t) => {
  const graph = gridGraph(5, 5, seeded(1))
  const search = createHierarchySearch(prepare(graph, 'int32'))
  const ends = [{ node: 0, costMs: 0 }]
  for (const run of [
    (stop: Control) => search.one(ends, ends, stop),
    (stop: Control) => search.costs([ends], [ends], stop),
    (stop: Control) => search.rows([ends], [], () => false)(ends, stop),
    (stop: Control) => search.reach(ends, stop, 1000),
  ]) {
    const stop: Control = { maxSettledNodes: 1, cancel: Int32Array.of(1) }
    t.equal(run(stop), undefined)
    t.equal(stop.stoppedBy, 'cancel')
  }
})

t.test('kernels: the generated files are fresh', async (t) => {
  const check = spawnSync(process.execPath, ['scripts/generate-kernels.mjs', '--check'], { encoding: 'utf8' })
  t.equal(check.status, 0, check.stderr)
})

function prepare(graph: PlainGraph, kind: Kind): Prepared {
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  return {
    roads: graph,
    hierarchy,
    weights: graph.weights,
    metric: finish(startCustomisation(hierarchy, graph.weights, kind)),
    widen: () => {
      throw new Error('these costs fit int32')
    },
  }
}

function oracleOf(graph: PlainGraph) {
  return createDijkstraSearch(graph, graph.weights, createSearchState(graph.nodeCount))
}

function control(): Control {
  return { maxSettledNodes: Number.POSITIVE_INFINITY }
}

function check(
  graph: PlainGraph,
  sources: readonly End[],
  targets: readonly End[],
  found: NodePath | undefined,
  expected: NodePath | undefined,
): void {
  if (found?.costMs !== expected?.costMs)
    throw new Error(`found ${found?.costMs} ms, expected ${expected?.costMs}`)
  if (found === undefined) return
  let node = sources[found.source]!.node
  let costMs = sources[found.source]!.costMs + targets[found.target]!.costMs
  for (const arc of found.arcs) {
    if (arcTail(graph, arc) !== node) throw new Error(`arc ${arc} does not leave node ${node}`)
    if (graph.weights[arc]! < 0) throw new Error(`arc ${arc} is closed`)
    costMs += graph.weights[arc]!
    node = graph.head[arc]!
  }
  if (node !== targets[found.target]!.node) throw new Error(`the path ends at node ${node}`)
  if (costMs !== found.costMs) throw new Error(`the path costs ${costMs} ms, not ${found.costMs}`)
}

function checkTable(graph: PlainGraph, pairs: readonly [End[], End[]][], kind: Kind): void {
  const [from, to] = [pairs.map(([sources]) => sources), pairs.map(([, targets]) => targets)]
  const found = createHierarchySearch(prepare(graph, kind)).costs(from, to, control())
  const expected = oracleOf(graph).costs(from, to, control())
  if (found?.join() !== expected?.join()) throw new Error(`table ${found}, expected ${expected}`)
  // the last counts arcs of the kind that is marked when another one follows
  const measures = [(arc: number) => graph.weights[arc]!, () => 1, (arc: number) => (arc % 3 === 0 ? 1 : 0)]
  const rowOf = createHierarchySearch(prepare(graph, kind)).rows(to, measures, (before, arc) => {
    if (graph.head[before] !== arcTail(graph, arc)) throw new Error('no arcs of one path')
    return before % 3 === 0
  })
  for (const [at, sources] of from.entries()) {
    const row = rowOf(sources, control())
    if (row === undefined) throw new Error('stopped')
    const costs = expected?.subarray(at * to.length, (at + 1) * to.length)
    if (row.costMs.join() !== costs?.join()) throw new Error(`row ${row.costMs}, expected ${costs}`)
    for (const [column, targets] of to.entries()) {
      if (row.costMs[column] === Number.POSITIVE_INFINITY) continue
      const endsMs = sources[row.source[column]!]!.costMs + targets[row.target[column]!]!.costMs
      const onTheWayMs = row.costMs[column]! - endsMs
      if (row.sums[0]![column] !== onTheWayMs)
        throw new Error(`${row.sums[0]![column]} ms, expected ${onTheWayMs}`)
      checkArcs(graph, row, column, sources, targets)
    }
  }
}

/** First and last arc of a path, and its mark. */
function checkArcs(graph: PlainGraph, row: PathRow, column: number, sources: End[], targets: End[]): void {
  const [first, last] = [row.firstArc[column]!, row.lastArc[column]!]
  const [begin, end] = [sources[row.source[column]!]!.node, targets[row.target[column]!]!.node]
  if (first < 0 !== (row.sums[1]![column] === 0))
    throw new Error(`${row.sums[1]![column]} arcs from ${first}`)
  if ((first < 0 ? end : arcTail(graph, first)) !== begin) throw new Error(`begins with ${first}`)
  if (first >= 0 && graph.head[last] !== end) throw new Error(`ends with ${last}`)
  const isExpected = row.sums[2]![column]! > (last >= 0 && last % 3 === 0 ? 1 : 0)
  if ((row.isMarked[column] === 1) !== isExpected) throw new Error('marked wrongly')
}

function same(a: { up: ArrayLike<number>; down: ArrayLike<number> }, b: typeof a): void {
  for (const way of ['up', 'down'] as const) {
    const at = Array.from(a[way]).findIndex((value, i) => value !== b[way][i])
    if (at >= 0) throw new Error(`${way} ${at}: ${a[way][at]}, expected ${b[way][at]}`)
  }
}
