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
