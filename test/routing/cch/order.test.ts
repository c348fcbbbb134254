import fc from 'fast-check'
import t from 'tap'
import { buildHierarchy, depthOf } from '../../../src/routing/cch/hierarchy.js'
import { rankNodes, rankSteps } from '../../../src/routing/cch/order.js'
import { gridGraph, type PlainGraph, plainGraph, plainGraphs, seeded } from '../../support/random-graph.js'

t.test(
  'property: an order contains every node once and gives the hierarchy of textbook elimination',
  async () => {
    fc.assert(
      fc.property(plainGraphs(40), (graph) => {
        const ranks = rankNodes(graph, graph.sites)
        const hierarchy = buildHierarchy(graph, ranks) // refuses an order that is not a permutation in post-order
        const expected = eliminate(graph, ranks)
        for (let rank = 0; rank < graph.nodeCount; rank++) {
          const uppers = [...hierarchy.headDepth.subarray(hierarchy.first[rank]!, hierarchy.first[rank + 1]!)]
          const ancestors = new Map<number, number>()
          for (let v = hierarchy.parent[rank]!; v >= 0; v = hierarchy.parent[v]!)
            ancestors.set(depthOf(hierarchy, v), v)
          const found = uppers.map((depth) => ancestors.get(depth))
          if (found.join() !== [...expected[rank]!].sort((a, b) => a - b).join()) {
            throw new Error(`rank ${rank} is joined to ${found}, expected ${[...expected[rank]!]}`)
          }
        }
      }),
      { numRuns: 300 },
    )
  },
)

t.test('order: equal graphs give equal orders', async (t) => {
  const make = () => {
    const graph = gridGraph(40, 30, seeded(3))
    return rankNodes(graph, graph.sites)
  }
  t.same(make(), make())
})

t.test('order: a grid of 60 by 60 has little fill, whatever its coordinates', async (t) => {
  const graph = gridGraph(60, 60, seeded(5))
  const arcsWith = (sites: PlainGraph['sites']) => buildHierarchy(graph, rankNodes(graph, sites)).arcCount
  const arcs = arcsWith(graph.sites)
  t.ok(arcs < graph.arcCount * 4, `${arcs} arcs of ${graph.arcCount}`)
  const none = new Float64Array(graph.nodeCount)
  const blind = arcsWith({ x: none, y: none })
  t.ok(blind < graph.arcCount * 5, `${blind} arcs with all nodes in one place`)
})

t.test('order: progress rises to the number of nodes', async (t) => {
  const graph = gridGraph(30, 30, seeded(7))
  const seen: number[] = []
  for (const done of rankSteps(graph, graph.sites)) seen.push(done)
  t.ok(seen.length > 10)
  t.same(
    seen,
    [...seen].sort((a, b) => a - b),
  )
  t.equal(seen.at(-1), graph.nodeCount)
})

t.test('order: a star, a clique, a chain, lone nodes, no node at all', async (t) => {
  const arc = (from: number, to: number) => ({ from, to, ms: 1 })
  const star = plainGraph(
    2000,
    Array.from({ length: 1999 }, (_, i) => arc(0, i + 1)),
  )
  t.equal(buildHierarchy(star, rankNodes(star, star.sites)).arcCount, 1999)
  const pairs = Array.from({ length: 60 * 60 }, (_, i) => arc(i % 60, Math.floor(i / 60)))
  const clique = plainGraph(60, pairs)
  t.equal(buildHierarchy(clique, rankNodes(clique, clique.sites)).arcCount, (60 * 59) / 2)
  const chain = plainGraph(
    4000,
    Array.from({ length: 3999 }, (_, i) => arc(i, i + 1)),
  )
  const hierarchy = buildHierarchy(chain, rankNodes(chain, chain.sites))
  t.ok(hierarchy.depthCount < 30, `a chain of 4000 has depth ${hierarchy.depthCount}`)
  const lone = plainGraph(5, [])
  t.same(rankNodes(lone, lone.sites), Uint32Array.of(0, 1, 2, 3, 4))
  t.equal(rankNodes(plainGraph(0, []), lone.sites).length, 0)
})

t.test('buildHierarchy: an order that is not a permutation in post-order is refused', async (t) => {
  const graph = gridGraph(20, 20, seeded(1))
  const rank = rankNodes(graph, graph.sites)
  t.throws(() => buildHierarchy(graph, rank.slice(1)), /399 nodes have ranks, expected 400/)
  t.throws(() => buildHierarchy(graph, rank.with(7, 400)), /node 7 has rank 400/)
  t.throws(() => buildHierarchy(graph, rank.with(7, rank[6]!)), /out of range or already taken/)
  t.throws(
    () =>
      buildHierarchy(
        graph,
        rank.map((at) => 399 - at),
      ),
    /post-order/,
  )
})

t.test('buildHierarchy: a tree that is too deep, or too many arcs, is refused', async (t) => {
  const arc = (from: number, to: number) => ({ from, to, ms: 1 })
  const inOrder = (count: number) => Uint32Array.from({ length: count }, (_, node) => node)
  const chainOf = (count: number) =>
    plainGraph(
      count,
      Array.from({ length: count - 1 }, (_, i) => arc(i, i + 1)),
    )
  t.equal(buildHierarchy(chainOf(0x8000), inOrder(0x8000)).depthCount, 0x8000)
  t.throws(
    () => buildHierarchy(chainOf(0x8001), inOrder(0x8001)),
    /the elimination tree is deeper than 32767/,
  )
  // a hub that is eliminated first joins all of its neighbours: 1600 · 1599 / 2 arcs
  const hub = plainGraph(
    1600,
    Array.from({ length: 1599 }, (_, i) => arc(0, i + 1)),
  )
  t.throws(() => buildHierarchy(hub, inOrder(1600)), /the ranks need more than 1102400 arcs for 1600 nodes/)
})

/** Rank → ranks above that elimination joins it to, by the textbook. */
function eliminate(graph: PlainGraph, rank: Uint32Array): Set<number>[] {
  const joined = Array.from(rank, () => new Set<number>())
  for (let node = 0; node < graph.nodeCount; node++) {
    for (let arc = graph.firstOut[node]!; arc < graph.firstOut[node + 1]!; arc++) {
      const [a, b] = [rank[node]!, rank[graph.head[arc]!]!]
      if (a !== b) joined[Math.min(a, b)]!.add(Math.max(a, b))
    }
  }
  for (const uppers of joined) {
    for (const a of uppers) for (const b of uppers) if (a < b) joined[a]!.add(b)
  }
  return joined
}
