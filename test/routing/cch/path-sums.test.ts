import t from 'tap'
import { finish, kernelsOf, startCustomisation } from '../../../src/routing/cch/customise.js'
import { buildHierarchy } from '../../../src/routing/cch/hierarchy.js'
import { rankNodes } from '../../../src/routing/cch/order.js'
import { createPathSums } from '../../../src/routing/cch/path-sums.js'
import { findMeeting, followEnds } from '../../../src/routing/cch/table.js'
import { createUnpacker } from '../../../src/routing/cch/unpack.js'
import { createPathRow } from '../../../src/routing/search/leg-search.js'
import { gridGraph, seeded } from '../../support/random-graph.js'

t.test('createPathSums: the cost of each path, with all entries kept and with hardly any', async (t) => {
  const graph = gridGraph(30, 30, seeded(21))
  const hierarchy = buildHierarchy(graph, rankNodes(graph, graph.sites))
  const metric = finish(startCustomisation(hierarchy, graph.weights, 'int32'))
  const unpacker = createUnpacker(graph, hierarchy, graph.weights, metric)
  const kernels = kernelsOf('int32')
  const endsAt = (node: number) => [{ node, costMs: 0 }]
  const nodes = Array.from({ length: 40 }, (_, i) => (i * 37) % graph.nodeCount)
  const columns = nodes.map((node) => followEnds(hierarchy, kernels, metric.down, endsAt(node)))
  // the second measure counts arcs, which shows that no sum of one measure is taken for another
  const measures = [(arc: number) => graph.weights[arc]!, () => 1]
  const sumsWith = (maxEntries: number | undefined) => {
    const paths = createPathSums(unpacker, measures, () => false, maxEntries)
    const found: [costMs: number, sumMs: number, arcs: number][] = []
    const to = createPathRow(3, 2)
    const { sums } = to
    for (const node of nodes) {
      const rows = followEnds(hierarchy, kernels, metric.up, endsAt(node))
      for (const column of columns) {
        const meeting = findMeeting(kernels, rows, column)
        if (meeting === undefined) continue
        paths.write(meeting, to, 1)
        found.push([meeting.costMs, sums[0]![1]!, sums[1]![1]!])
      }
    }
    t.same([sums[0]![0], sums[0]![2]], [0, 0], 'only the place asked for is written')
    return found
  }
  const kept = sumsWith(undefined)
  t.ok(kept.length > 1000, `${kept.length} paths`)
  t.same(
    kept.filter(([costMs, sumMs]) => costMs !== sumMs),
    [],
  )
  t.ok(
    kept.every(([costMs, , arcs]) => (costMs > 0 ? arcs > 0 : true)),
    'a path that costs something has arcs',
  )
  t.same(sumsWith(1), kept)
  t.same(sumsWith(200), kept)
})
