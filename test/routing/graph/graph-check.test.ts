import t from 'tap'
import type { Graph, GraphMeta } from '../../../src/routing/graph/graph.js'
import { checkGraph } from '../../../src/routing/graph/graph-check.js'
import { openSegmentTree } from '../../../src/routing/graph/index-trees.js'
import { LIMIT_ENTRY, packLimits } from '../../../src/routing/graph/limits.js'
import { makeGraph } from '../../support/make-graph.js'
import { throwsWith } from '../../support/throws.js'
import { town } from '../../support/town.js'

/** A town of 36 junctions and 60 segments, in an index of two levels above the leaves. */
const sound = () => makeGraph(town(6))

t.test('checkGraph: a graph without junctions, segments or nodes is refused', async (t) => {
  checkGraph(sound())
  for (const name of ['junctionCount', 'segmentCount', 'nodeCount'] as const) {
    const { message } = throwsWith(t, () => checkGraph({ ...sound(), [name]: 0 }), 'BAD_MAP_FILE')
    t.match(message, 'the map file is damaged: it contains no road', name)
  }
})

t.test('checkGraph: the start arc of a link drives it; that of a closed link is none', async (t) => {
  const graph = sound()
  const refuses = (change: Partial<Graph>, message: string) => {
    const error = throwsWith(t, () => checkGraph({ ...graph, ...change }), 'BAD_MAP_FILE')
    t.match(error.message, message)
  }
  const start = graph.linkStartArc[7]!
  refuses(
    { linkStartArc: graph.linkStartArc.with(7, graph.linkStartArc[8]!) },
    `linkStartArc[7] is ${graph.linkStartArc[8]}, which is not an arc of link 7`,
  )
  refuses({ linkSpeed: graph.linkSpeed.with(7, 0) }, `linkStartArc[7] is ${start}, which is not an arc of`)
  const last = graph.linkSpeed.length - 1
  refuses({ linkSpeed: graph.linkSpeed.with(last, 0) }, `linkStartArc[${last}] is`)
})

t.test('checkGraph: limits are whole entries of links that exist, ascending', async (t) => {
  const graph = sound()
  const none = { heightCm: 0, widthCm: 0, lengthCm: 0, weightKg: 0, axleLoadKg: 0, noHazmat: 0 }
  const of = (...links: number[]) => packLimits(links.map((link) => [link, { ...none, heightCm: 230 }]))
  const last = graph.segmentCount * 2 - 1
  checkGraph({ ...graph, limits: of(0, 3, last) })
  const refuses = (limits: Uint32Array, message: string) => {
    const error = throwsWith(t, () => checkGraph({ ...graph, limits }), 'BAD_MAP_FILE')
    t.match(error.message, message)
  }
  refuses(of(3).subarray(1), `limits has ${LIMIT_ENTRY - 1} numbers, expected ${LIMIT_ENTRY} a link`)
  const swapped = new Uint32Array([...of(5), ...of(3)])
  refuses(swapped, `limits[${LIMIT_ENTRY}] is 3, expected links in ascending order`)
  refuses(new Uint32Array([...of(5), ...of(5)]), `limits[${LIMIT_ENTRY}] is 5, expected`)
  refuses(of(last + 1), `limits[0] is ${last + 1}, expected links`)
})

t.test('checkGraph: prices of turns ascend from 0, and every arc has one of them', async (t) => {
  const graph = sound()
  const arcTurn = new Uint8Array(graph.arcCount)
  checkGraph({ ...graph, turnPrices: Uint32Array.of(0, 500, 3_600_000), arcTurn: arcTurn.fill(2) })
  const refuses = (turnPrices: Uint32Array | undefined, turns: Uint8Array | undefined, message: string) => {
    const error = throwsWith(t, () => checkGraph({ ...graph, turnPrices, arcTurn: turns }), 'BAD_MAP_FILE')
    t.match(error.message, message)
  }
  refuses(Uint32Array.of(0), undefined, 'one of the sections turnPrices and arcTurn, expected both or none')
  refuses(undefined, arcTurn, 'one of the sections')
  refuses(Uint32Array.of(), arcTurn, 'turnPrices has 0 prices from undefined on, expected 1 to 256 from 0 on')
  refuses(Uint32Array.of(5), arcTurn, 'turnPrices has 1 prices from 5 on')
  refuses(
    new Uint32Array(257).map((_, i) => i),
    arcTurn,
    'turnPrices has 257 prices',
  )
  refuses(Uint32Array.of(0, 7, 7), arcTurn, 'turnPrices[2] is 7, expected ascending prices')
  refuses(Uint32Array.of(0, 3_600_001), arcTurn, 'turnPrices[1] is 3600001, expected ascending prices up to')
  refuses(Uint32Array.of(0, 7), arcTurn.fill(0).with(9, 2), 'arcTurn[9] is 2, expected less than 2')
})

t.test('checkGraph: leaves of the index are segments, branches point to their children', async (t) => {
  const refuses = (node: number, index: number, message: string) => {
    const graph = sound()
    openSegmentTree(graph)!.indices[node] = index
    const error = throwsWith(t, () => checkGraph(graph), 'BAD_MAP_FILE')
    t.match(error.message, message)
  }
  t.same(openSegmentTree(sound())?.levelEnds, [60, 64, 65])
  refuses(0, 60, 'segmentIndex contains segment 60, expected less than 60')
  refuses(59, 61, 'segmentIndex contains segment 61, expected less than 60')
  // the first of four branches has 16 children, the last one 12; the root has the four
  t.same([...openSegmentTree(sound())!.indices.subarray(60)], [0, 64, 128, 192, 240])
  for (const branch of [60, 61, 63, 64])
    refuses(branch, 4, `segmentIndex: branch ${branch} does not point to its children`)
})

t.test('checkGraph: the description has a name, an area and a box', async (t) => {
  const graph = sound()
  const area = { ...graph.meta.area, type: 'MultiPolygon' as const }
  checkGraph({ ...graph, meta: { ...graph.meta, area } })
  const faults: Record<string, unknown>[] = [
    { name: 7 },
    { bbox: undefined },
    { bbox: [1, 2, 3] },
    { bbox: [1, 2, 3, 4, 5] },
    { bbox: [1, 2, 3, null] },
    { area: undefined },
    { area: null },
    { area: { ...graph.meta.area, type: 'Point' } },
    { area: { type: 'Polygon', coordinates: 'x' } },
  ]
  for (const fault of faults) {
    const meta = { ...graph.meta, ...fault } as GraphMeta // a description as a faulty program writes it
    const error = throwsWith(t, () => checkGraph({ ...graph, meta }), 'BAD_MAP_FILE')
    t.match(error.message, 'its description has no name, area or bounding box', JSON.stringify(fault))
  }
  for (const meta of ['text', null] as unknown as GraphMeta[])
    throwsWith(t, () => checkGraph({ ...graph, meta }), 'BAD_MAP_FILE')
})
