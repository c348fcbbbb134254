// Not counted: its loops are long, and shorter tests take the same branches (scripts/test/load-typescript.mjs)
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraph } from '../../src/mapbuild/graph/write-graph.js'
import { PROFILE_NAMES } from '../../src/mapbuild/profile/profiles.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { verifyGraph } from '../../src/routing/graph/graph-verify.js'
import { BUILD, EXTRACTS, missingExtracts, realExtracts } from '../support/osm-fixture.js'

/**
 * Nodes and arcs of the largest strongly connected part of the car network, as a simple other program counts
 * them: it keeps every crossing of ways, drives private roads freely and knows no restriction or barrier.
 * Ours must come near.
 */
const CAR_NETWORKS: Record<string, [nodes: number, arcs: number]> = {
  'porto_portugal.osm.pbf': [62_249, 145_013],
  'porto-alegre-poa.osm.pbf': [13_816, 31_041],
  'andorra-2020.osm.pbf': [3277, 6408],
  'liechtenstein-2015.osm.pbf': [2996, 6647],
  'monaco-2016.osm.pbf': [2076, 4027],
}
/** private roads and degree two account for it */
const TOLERANCE = 0.12

const shared = (bytes: Uint8Array): SharedArrayBuffer => {
  const buffer = new SharedArrayBuffer(bytes.length)
  new Uint8Array(buffer).set(bytes)
  return buffer
}

t.test(
  'real extracts build for a car, are sound, and build again to the same bytes',
  { skip: missingExtracts() },
  async (t) => {
    for (const input of realExtracts()) {
      const name = path.basename(input)
      const bytes = writeGraph(await buildMap({ ...BUILD, input }))
      const graph = readGraph(shared(bytes), crc32)
      t.same(verifyGraph(graph), [], `${name} is sound`)
      t.equal(
        Buffer.compare(bytes, writeGraph(await buildMap({ ...BUILD, input }))),
        0,
        `${name}: same bytes`,
      )
      t.equal(
        graph.meta.counts.restrictionsUnreadable ?? 0,
        UNREADABLE[name] ?? 0,
        `${name}: restrictions are understood`,
      )
      const [nodes, arcs] = CAR_NETWORKS[name] ?? [0, 0]
      if (nodes === 0) continue
      const near = (found = 0, expected: number) => Math.abs(found / expected - 1) < TOLERANCE
      t.ok(
        near(graph.meta.counts.mainNodes, nodes),
        `${name}: ${graph.meta.counts.mainNodes} nodes, elsewhere ${nodes}`,
      )
      t.ok(
        near(graph.meta.counts.mainArcs, arcs),
        `${name}: ${graph.meta.counts.mainArcs} arcs, elsewhere ${arcs}`,
      )
    }
  },
)

/** Restrictions of unknown kinds, or without from, via or to, as osmium shows them. */
const UNREADABLE: Record<string, number> = { 'andorra-2020.osm.pbf': 2, 'porto_portugal.osm.pbf': 14 }

t.test('a real extract builds for every traveller', { skip: missingExtracts() }, async (t) => {
  const input = path.join(EXTRACTS, 'monaco-2020.osm.pbf')
  const arcs: number[] = []
  for (const profile of PROFILE_NAMES) {
    const graph = readGraph(shared(writeGraph(await buildMap({ ...BUILD, input, profile }))), crc32)
    t.same(verifyGraph(graph), [], profile)
    t.equal(graph.meta.profile, profile)
    arcs.push(graph.arcCount)
  }
  const [car = 0, foot = 0, bicycle = 0] = arcs
  t.ok(foot > bicycle && bicycle > car, `on foot ${foot} arcs, by bicycle ${bicycle}, by car ${car}`)
})

t.test('a real extract keeps its history', { skip: missingExtracts() }, async (t) => {
  const input = path.join(EXTRACTS, 'monaco-2020.osm.pbf')
  const { meta } = await buildMap({ ...BUILD, input })
  t.match(meta.builtFrom, {
    file: 'monaco-2020.osm.pbf',
    sha256: '7c08092b03b5ac82eccec90634a1331c21d3bf97ccdbe9b8b92f3bfdab0f4d23',
    osmTimestamp: '2020-07-19T20:58:03Z',
  })
})
