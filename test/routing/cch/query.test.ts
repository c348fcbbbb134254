import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { finish, kernelsOf, startCustomisation } from '../../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { createQuery, findCost, readHops } from '../../../src/routing/cch/query.js'
import type { End } from '../../../src/routing/search/dijkstra.js'
import { endLists, type PlainGraph, plainGraph, plainGraphs } from '../../support/random-graph.js'

/** A search on a graph, with its scratch. */
function queryOf(graph: PlainGraph) {
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  const metric = finish(startCustomisation(hierarchy, graph.weights, 'float64'))
  const query = createQuery(hierarchy, kernelsOf('float64'))
  const find = (sources: readonly End[], targets: readonly End[]) =>
    findCost(hierarchy, metric, query, sources, targets, query.kernels.infinite)
  return { hierarchy, query, find }
}

t.test('property: findCost needs one branch for each end that is not above another end', async () => {
  const cases = plainGraphs(25).chain((graph) =>
    fc.tuple(fc.constant(graph), endLists(graph.nodeCount), endLists(graph.nodeCount)),
  )
  fc.assert(
    fc.property(cases, ([graph, sources, targets]) => {
      const { hierarchy, query, find } = queryOf(graph)
      find(sources, targets)
      const ranks = new Set([...sources, ...targets].map(({ node }) => hierarchy.rank[node]!))
      const above = new Set<number>()
      for (const rank of ranks) {
        for (let v = hierarchy.parent[rank]!; v >= 0; v = hierarchy.parent[v]!) above.add(v)
      }
      deepStrictEqual(query.branchCount, [...ranks].filter((rank) => !above.has(rank)).length)
    }),
    { numRuns: 300 },
  )
})

t.test('findCost: of equal ends at one node the first wins, of unequal ones the cheapest', async (t) => {
  const graph = plainGraph(3, [
    { from: 0, to: 1, ms: 10 },
    { from: 1, to: 2, ms: 20 },
  ])
  const { hierarchy, query, find } = queryOf(graph)
  const at = (node: number, ...costs: number[]) => costs.map((costMs): End => ({ node, costMs }))
  const read = () => {
    const { source, target } = readHops(hierarchy, query)
    return [source, target]
  }
  t.equal(find(at(0, 5, 5, 5), at(2, 7, 7)), 42)
  t.same(read(), [0, 0])
  t.equal(find(at(0, 6, 5, 5), at(2, 7, 6, 6)), 41)
  t.same(read(), [1, 1])
  t.equal(find(at(1, 3, 2, 4), at(1, 1, 1)), 3)
  t.same(read(), [1, 0])
})
