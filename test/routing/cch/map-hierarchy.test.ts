import { crc32 } from 'node:zlib'
import t from 'tap'
import { writeGraphShared } from '../../../src/mapbuild/graph/write-graph.js'
import { mapHierarchy, verifyMap } from '../../../src/routing/cch/map-hierarchy.js'
import { coordinatesOf, rankNodes } from '../../../src/routing/cch/order.js'
import { readGraph } from '../../../src/routing/graph/graph-file.js'
import { makeGraph, type Network } from '../../support/make-graph.js'

const NETWORK: Network = {
  junctions: [
    [10, 50],
    [10.01, 50],
    [10.01, 50.01],
    [10, 50.01],
    [10.02, 50],
  ], // prettier-ignore
  roads: [
    { from: 0, to: 1, speed: [50, 50] },
    { from: 1, to: 2, speed: [50, 50] },
    { from: 2, to: 3, speed: [50, 50] },
    { from: 1, to: 4, speed: [30, 30] },
  ],
  restrictions: [{ kind: 'no', links: [0, 6] }],
}

t.test('map file: the contraction order is read as it was written', async (t) => {
  const made = makeGraph(NETWORK)
  const nodeRank = rankNodes(made, coordinatesOf(made, made.meta.bbox))
  const graph = readGraph(writeGraphShared({ ...made, nodeRank }), crc32)
  t.same(graph.nodeRank, nodeRank)
  t.equal(mapHierarchy(graph)?.nodeCount, graph.nodeCount)
  t.same(verifyMap(graph), [])
})

t.test('map file: loads without an order, and has no hierarchy then', async (t) => {
  const graph = readGraph(writeGraphShared(makeGraph(NETWORK)), crc32)
  t.equal(graph.nodeRank, undefined)
  t.equal(mapHierarchy(graph), undefined)
})

t.test('map file: an invalid order is reported by loading and by verifyMap', async (t) => {
  const made = makeGraph(NETWORK)
  const nodeRank = new Uint32Array(made.nodeCount)
  const graph = readGraph(writeGraphShared({ ...made, nodeRank }), crc32)
  t.throws(() => mapHierarchy(graph), {
    message: /damaged: node 1 has rank 0/,
    errorName: 'BAD_MAP_FILE',
  })
  t.match(verifyMap(graph), [/node 1 has rank 0/])
})

t.test('map file: an order of the wrong length is refused at load', async (t) => {
  const made = makeGraph(NETWORK)
  const file = writeGraphShared({ ...made, nodeRank: new Uint32Array(made.nodeCount + 1) })
  t.throws(() => readGraph(file, crc32), { message: /section nodeRank has/ })
})
