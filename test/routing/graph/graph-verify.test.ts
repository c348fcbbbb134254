import t from 'tap'
import type { Graph, GraphInMemory } from '../../../src/routing/graph/graph.js'
import { verifyGraph } from '../../../src/routing/graph/graph-verify.js'
import { openJunctionTree, openSegmentTree } from '../../../src/routing/graph/index-trees.js'
import { makeGraph } from '../../support/make-graph.js'
import { town } from '../../support/town.js'

/** Faults of a town of 36 junctions and 60 segments after a change to it. */
function faultsAfter(change: (graph: GraphInMemory) => Partial<Graph> | undefined): string[] {
  const graph = makeGraph(town(6))
  return verifyGraph({ ...graph, ...change(graph) })
}

t.test('verifyGraph: none in a sound map, also at the edges of the earth', async (t) => {
  t.same(
    faultsAfter(() => undefined),
    [],
  )
  const corners: [number, number][] = [
    [-180, -90],
    [180, -90],
    [180, 90],
    [-180, 90],
  ]
  const edges = makeGraph({
    junctions: corners,
    roads: corners.map((_, i) => ({ from: i, to: (i + 1) % 4, speed: [50, 50], lengthMm: 1 })),
  })
  t.notMatch(verifyGraph(edges).join(), /outside the earth|decode/)
})

t.test('verifyGraph: arcs of a node ascend by link, and no link appears twice', async (t) => {
  t.same(
    faultsAfter(({ arcLink, head }) => ({
      arcLink: arcLink.with(0, arcLink[1]!).with(1, arcLink[0]!),
      head: head.with(0, head[1]!).with(1, head[0]!),
    }))[0],
    'arc 1 of node 0 is out of order',
  )
  t.same(
    faultsAfter(({ arcLink, head }) => ({
      arcLink: arcLink.with(1, arcLink[0]!),
      head: head.with(1, head[0]!),
    }))[0],
    'arc 1 of node 0 is out of order',
  )
})

t.test('verifyGraph: coordinates of a junction beyond a pole or the antimeridian', async (t) => {
  for (const [lng, lat] of [
    [0, 900_000_001],
    [0, -900_000_001],
    [1_800_000_001, 0],
    [-1_800_000_001, 0],
  ] as const) {
    // biome-ignore format: pairs
    const faults = faultsAfter(({ junctionLngE7, junctionLatE7 }) => ({
      junctionLngE7: junctionLngE7.with(35, lng),
      junctionLatE7: junctionLatE7.with(35, lat),
    }))
    t.ok(faults.includes('junction 35 lies outside the earth'), `${lng} ${lat}`)
  }
})

t.test('verifyGraph: the index of segments lists each once', async (t) => {
  for (const [lost, twin] of [
    [0, 1],
    [59, 7],
  ] as const) {
    // biome-ignore format: pairs
    const faults = faultsAfter((graph) => {
      const { indices, boxes } = openSegmentTree(graph)!
      const [at, other] = [indices.indexOf(lost), indices.indexOf(twin)]
      indices[at] = twin
      boxes.copyWithin(at * 4, other * 4, other * 4 + 4)
      return undefined
    })
    t.ok(faults.includes(`the segment index lacks segment ${lost}`), faults.join('; '))
  }
})

t.test('verifyGraph: each side of the box of each leaf and branch', async (t) => {
  const { levelEnds, indices } = openSegmentTree(makeGraph(town(6)))!
  t.same(levelEnds, [60, 64, 65])
  for (const node of [0, 59, 60, 62, 63, 64]) {
    for (let side = 0; side < 4; side++) {
      const faults = faultsAfter((graph) => {
        const { boxes } = openSegmentTree(graph)!
        boxes[node * 4 + side]! += side < 2 ? -1 : 1
        return undefined
      })
      const expected =
        node < 60
          ? `the segment index has another box for segment ${indices[node]}`
          : `the segment index has a wrong box at branch ${node}`
      t.ok(faults.includes(expected), `node ${node}, side ${side}: ${faults.join('; ')}`)
    }
  }
})

t.test('verifyGraph: indexes of another format', async (t) => {
  t.ok(
    faultsAfter(({ segmentIndex }) => ({ segmentIndex: segmentIndex.with(0, 0) })).includes(
      'the segment index is not a flatbush 3 index of the segments',
    ),
  )
  t.same(
    faultsAfter(({ junctionIndex }) => ({ junctionIndex: junctionIndex.with(0, 0) })),
    ['the junction index is not a kdbush 4 index of the junctions'],
  )
})

t.test('verifyGraph: the index of junctions lists each once, with its coordinates', async (t) => {
  for (const [lost, twin] of [
    [0, 1],
    [35, 3],
  ] as const) {
    // biome-ignore format: pairs
    const faults = faultsAfter((graph) => {
      const { ids, coords } = openJunctionTree(graph)!
      const [at, other] = [ids.indexOf(lost), ids.indexOf(twin)]
      ids[at] = twin
      coords.copyWithin(at * 2, other * 2, other * 2 + 2)
      return undefined
    })
    t.same(faults, [`the junction index lacks junction ${lost}`])
  }
  for (const axis of [0, 1]) {
    const faults = faultsAfter((graph) => {
      const { ids, coords } = openJunctionTree(graph)!
      coords[ids.indexOf(20) * 2 + axis]! += 1
      return undefined
    })
    t.same(faults, ['the junction index has other coordinates for junction 20'])
  }
})

t.test('verifyGraph: at most 20 faults are reported', async (t) => {
  const faults = faultsAfter(({ segmentLengthMm }) => ({
    segmentLengthMm: segmentLengthMm.map((mm) => mm * 2),
  }))
  t.equal(faults.length, 20)
})

t.test('verifyGraph: a length may differ by a twentieth and two millimetres', async (t) => {
  const faultsWith = (factor: number, slackMm: number) =>
    faultsAfter(({ segmentLengthMm }) => ({
      segmentLengthMm: segmentLengthMm.with(5, Math.round(segmentLengthMm[5]! * factor) + slackMm),
    }))
  // shape ≤ length · 1.05 + 2, and ≥ length · 0.95 - 2
  t.same(faultsWith(1 / 1.05, 0), [])
  t.same(faultsWith(1 / 0.95, 0), [])
  t.match(faultsWith(1 / 1.05, -10).join(), /^segment 5 is \d+ mm long, expected \d+ mm$/)
  t.match(faultsWith(1 / 0.95, 10).join(), /^segment 5 is \d+ mm long, expected \d+ mm$/)
})
