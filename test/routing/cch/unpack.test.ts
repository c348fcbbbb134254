import t from 'tap'
import { finish, startCustomisation } from '../../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { createUnpacker, findInputArc, unpack } from '../../../src/routing/cch/unpack.js'
import { plainGraph } from '../../support/random-graph.js'

/** Arcs 1 → 0 → 2, and twice 1 → 2: node 0 is the middle of the hop from rank 1 to rank 2. */
function triangle(directMs: number) {
  const graph = plainGraph(3, [
    { from: 1, to: 0, ms: 40 },
    { from: 0, to: 2, ms: 60 },
    { from: 1, to: 2, ms: 500 },
    { from: 1, to: 2, ms: directMs },
    { from: 1, to: 2, ms: directMs },
  ])
  const hierarchy = buildHierarchy(graph, Uint32Array.of(0, 1, 2))
  return { graph, hierarchy, metric: finish(startCustomisation(hierarchy, graph.weights, 'int32')) }
}

t.test(
  'unpack: an arc of the graph wins over a triangle of the same cost, the first of equal ones',
  async (t) => {
    const arcsOf = (directMs: number) => {
      const { graph, hierarchy, metric } = triangle(directMs)
      const unpacker = createUnpacker(graph, hierarchy, graph.weights, metric)
      const hop = { lower: 1, upper: 2, arc: hierarchy.first[1]!, isUp: true }
      const arcs = unpack(unpacker, [hop])
      t.same(unpack(unpacker, [hop]), arcs, 'from the cache')
      return arcs.map((arc) => [arc, graph.head[arc], graph.weights[arc]])
    }
    t.same(arcsOf(101), [[1, 0, 40], [0, 2, 60]]) // biome-ignore format: arcs
    t.same(arcsOf(100), [[3, 2, 100]])
    t.same(arcsOf(99), [[3, 2, 99]])
  },
)

t.test('unpack: refuses a metric that is not that of the weights', async (t) => {
  const { graph, hierarchy, metric } = triangle(101)
  const others = graph.weights.map((ms) => ms + 1)
  const unpacker = createUnpacker(graph, hierarchy, others, metric)
  const hop = { lower: 1, upper: 2, arc: hierarchy.first[1]!, isUp: true }
  t.equal(findInputArc(unpacker, 1, hop.arc, true, 100), -1)
  t.throws(
    () =>
      unpack(createUnpacker(graph, hierarchy, others, { ...metric, up: metric.up.with(hop.arc, 77) }), [hop]),
    /found no triangle of 77 ms above rank 1: the metric is not that of these weights/,
  )
})
