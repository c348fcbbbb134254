import t, { type Test } from 'tap'
import { LINK_FLAG } from '../../src/routing/graph/graph.js'
import { verifyGraph } from '../../src/routing/graph/graph-verify.js'
import { readNotes } from '../../src/routing/graph/strings.js'
import {
  driveBetween,
  graphOfOsm,
  linkBetween,
  linksOf,
  nameOf,
  nodeId,
  sketch,
} from '../support/osm-fixture.js'
import { rejectsWith } from '../support/rejects-with.js'

const street = { highway: 'residential' }
const main = { highway: 'primary' }

/** Links of a map with their arcs' flags, all sound. */
async function soundLinks(t: Test, data: Parameters<typeof graphOfOsm>[0]): Promise<string[]> {
  const graph = await graphOfOsm(data)
  t.same(verifyGraph(graph), [])
  return linksOf(graph)
}

t.test('buildMap: nodes of degree two go into the geometry, junctions and changes stay', async (t) => {
  const data = sketch(
    ['A B C D E', '    F    '],
    [
      ['ABC', street],
      ['CDE', street],
      ['CF', street],
    ],
  )
  t.same(await soundLinks(t, data), ['A>C 30', 'C>A 30', 'C>E 30', 'C>F 30', 'E>C 30', 'F>C 30'])
  const joined = sketch(
    ['A B C D E'],
    [
      ['ABC', street],
      ['EDC', street],
    ],
  )
  t.same(await soundLinks(t, joined), ['A>E 30', 'E>A 30'], 'ways that lie in opposite directions are joined')
  const limits = sketch(
    ['A B C D E'],
    [
      ['ABC', street],
      ['CDE', { ...street, maxspeed: '50' }],
    ],
  )
  t.same(await soundLinks(t, limits), ['A>C 30', 'C>A 30', 'C>E 50', 'E>C 50'])
  const names = sketch(
    ['A B C'],
    [
      ['AB', { ...street, name: 'x' }],
      ['BC', { ...street, name: 'y' }],
    ],
  )
  t.equal((await soundLinks(t, names)).length, 4)
})

t.test('buildMap: one-way streets join only head to tail', async (t) => {
  const oneway = { ...street, oneway: 'yes' }
  t.same(
    await soundLinks(
      t,
      sketch(
        ['A B C'],
        [
          ['AB', oneway],
          ['BC', oneway],
        ],
      ),
    ),
    ['A>C 30'],
  )
  t.same(
    await soundLinks(
      t,
      sketch(
        ['A B C'],
        [
          ['BA', { ...street, oneway: '-1' }],
          ['BC', oneway],
        ],
      ),
    ),
    ['A>C 30'],
  )
  t.same(
    await soundLinks(
      t,
      sketch(
        ['A B C'],
        [
          ['AB', oneway],
          ['CB', oneway],
        ],
      ),
    ),
    ['A>B 30', 'C>B 30'],
  )
})

t.test('buildMap: loops, parallel roads, rings and ways that cross themselves stay', async (t) => {
  const loop = sketch(
    ['A B', ' C '],
    [
      ['AB', street],
      ['BCB', street],
    ],
  )
  t.same(await soundLinks(t, loop), ['A>B 30', 'B>A 30', 'B>B 30', 'B>B 30'], 'out and back is a loop')
  const ring = sketch(['A B', 'D C'], [['ABCDA', street]])
  t.same(await soundLinks(t, ring), ['A>A 30', 'A>A 30'], 'a ring with no junction')
  const rings = sketch(
    ['A B', 'D C'],
    [
      ['ABC', street],
      ['CDA', street],
    ],
  )
  t.same(await soundLinks(t, rings), ['A>A 30', 'A>A 30'], 'a ring of two ways')
  const lollipop = sketch(['E A B', '  D C'], [['EABCDA', street]])
  t.same(await soundLinks(t, lollipop), ['A>A 30', 'A>A 30', 'A>E 30', 'E>A 30'])
  const parallel = sketch(
    ['A B C', '  D  '],
    [
      ['ABC', street],
      ['ADC', street],
      ['AC', main],
    ],
  )
  t.equal((await soundLinks(t, parallel)).length, 6)
})

t.test('buildMap: repeated nodes, single nodes and nodes that the extract lacks', async (t) => {
  const data = sketch(
    ['A B C D'],
    [
      ['AABBCD', street],
      ['A', street],
      ['DD', street],
    ],
  )
  t.same(await soundLinks(t, data), ['A>D 30', 'D>A 30'])
  const cut = sketch(['A B . D E'], [['ABXDE', street]])
  const graph = await graphOfOsm(cut)
  t.same(linksOf(graph), ['A>B 30', 'B>A 30', 'D>E 30', 'E>D 30'])
  t.match(graph.meta.counts, { nodesMissing: 1, waysCut: 1 })
  const places = sketch(['A B'], [['AB', street]])
  const [, b] = places.nodes
  const same = {
    ...places,
    nodes: [...places.nodes, { ...b, id: nodeId('C'), lng: b?.lng ?? 0, lat: b?.lat ?? 0 }],
  }
  t.same(await soundLinks(t, { ...same, ways: [{ id: 1, refs: [65, 66, 67], tags: street }] }), [
    'A>C 30',
    'C>A 30',
  ])
})

t.test('buildMap: a bollard makes two dead ends, a gate none', async (t) => {
  const bollard = { nodeTags: { B: { barrier: 'bollard' } } }
  const graph = await graphOfOsm(sketch(['A B C'], [['ABC', street]], bollard))
  t.same(linksOf(graph), ['A>B 30', 'B>A 30', 'B>C 30', 'C>B 30'])
  t.equal(graph.junctionCount, 4)
  t.equal(driveBetween(graph, linkBetween(graph, 'A', 'B'), linkBetween(graph, 'B', 'C')), undefined)
  t.equal(driveBetween(graph, linkBetween(graph, 'A', 'B'), linkBetween(graph, 'B', 'A')), 'ABA')
  const crossing = await graphOfOsm(
    sketch(
      [' D ', 'ABC', ' E '],
      [
        ['ABC', street],
        ['DBE', street],
      ],
      bollard,
    ),
  )
  t.equal(crossing.junctionCount, 8, 'a closed crossing cannot be passed')
  const gate = { nodeTags: { B: { barrier: 'gate' } } }
  t.same(linksOf(await graphOfOsm(sketch(['A B C'], [['ABC', street]], gate))), ['A>C 30', 'C>A 30'])
})

t.test('buildMap: a ferry takes its tagged duration over the whole way', async (t) => {
  const lengthM = 788.2 // 8 columns of 0.00125 degree at 45 degrees north
  const ferry = { route: 'ferry', duration: '00:06' }
  const graph = await graphOfOsm(
    sketch(
      ['A.B.C.D.E'],
      [
        ['ABCDE', ferry],
        ['AE', main],
      ],
    ),
  )
  const link = linkBetween(graph, 'A', 'E')
  t.same(
    linksOf(graph).filter((line) => line.startsWith('A>E')),
    ['A>E 7.9', 'A>E 80'],
  )
  const isFerry = (graph.linkFlags[link] ?? 0) & LINK_FLAG.FERRY
  const speed = isFerry ? graph.linkSpeed[link] : graph.linkSpeed[link ^ 2]
  t.ok(Math.abs((lengthM / ((speed ?? 1) / 36) - 360) / 360) < 0.01, 'six minutes')
  const wrong = await graphOfOsm(sketch(['A B'], [['AB', { route: 'ferry', duration: '99:00' }]]))
  t.same(linksOf(wrong), ['A>B 6', 'B>A 6'], 'a speed below walking pace is ignored')
})

t.test('buildMap: private roads serve the ends of a route and are never passed through', async (t) => {
  const mine = { ...street, access: 'private' }
  // A-B and E-F public, C private drive at B, B-D-E a private short cut
  const data = sketch(
    ['A B D E F', '  C      ', '  G H I  '],
    [
      ['AB', street],
      ['BC', mine],
      ['BD', mine],
      ['DE', mine],
      ['EF', street],
      ['AGHIF', { highway: 'tertiary' }],
    ],
  )
  const graph = await graphOfOsm(data)
  t.same(verifyGraph(graph), [])
  const drive = (from: string, to: string) =>
    driveBetween(graph, linkBetween(graph, ...pair(from)), linkBetween(graph, ...pair(to)))
  t.equal(drive('AB', 'EF'), 'ABAFEF', 'round, by way of a turn at a dead end for public traffic')
  t.equal(drive('BE', 'EF'), 'BEF', 'out of the private road')
  t.equal(drive('AB', 'BE'), 'ABE', 'into it')
  t.equal(drive('AB', 'BC'), 'ABC', 'into the drive')
  t.equal(drive('CB', 'BE'), 'CBE', 'private to private')
  t.equal(readNotes(graph, linkBetween(graph, 'B', 'C')).join(), 'private or destination only')
  t.ok((graph.linkFlags[linkBetween(graph, 'B', 'C')] ?? 0) & LINK_FLAG.PRIVATE)
})

t.test('buildMap: a private dead end costs no further nodes', async (t) => {
  const mine = { ...street, access: 'private' }
  const roads = [
    ['ABD', street],
    ['BC', mine],
  ] as const
  const graph = await graphOfOsm(sketch(['A B D', '  C  '], roads))
  t.equal(graph.nodeCount, graph.junctionCount)
  t.ok(
    (graph.linkFlags[linkBetween(graph, 'B', 'C')] ?? 0) & LINK_FLAG.PRIVATE,
    'it is still told from others',
  )
})

t.test('buildMap: of two networks of the same size the first one is the main network', async (t) => {
  const graph = await graphOfOsm(
    sketch(
      ['A B  C D'],
      [
        ['AB', street],
        ['CD', street],
      ],
    ),
  )
  const isMain = (from: string, to: string) =>
    ((graph.linkFlags[linkBetween(graph, from, to)] ?? 0) & LINK_FLAG.MAIN) !== 0
  t.equal(isMain('A', 'B'), true)
  t.equal(isMain('C', 'D'), false)
})

t.test('buildMap: roads apart from the main network are kept and flagged', async (t) => {
  const data = sketch(
    ['A B C  X Y', '  D      '],
    [
      ['AB', street],
      ['BC', street],
      ['BD', street],
      ['XY', street],
      ['CX', { ...street, oneway: 'yes' }],
    ],
  )
  const graph = await graphOfOsm(data)
  const isMain = (from: string, to: string) =>
    (graph.linkFlags[linkBetween(graph, from, to)] ?? 0) & LINK_FLAG.MAIN
  t.ok(isMain('A', 'B'))
  t.ok(isMain('C', 'B'))
  t.notOk(isMain('C', 'X'), 'no way back')
  t.notOk(isMain('X', 'Y'))
  t.match(graph.meta.counts, { mainNodes: 4, mainArcs: 6 })
})

t.test('buildMap: the area keeps ways with a node inside, whole, and is stored', async (t) => {
  const data = sketch(
    ['A B C D'],
    [
      ['AB', street],
      ['BC', main],
      ['CD', street],
    ],
  )
  const ring = [
    [9.9999, 44.9],
    [10.0013, 44.9],
    [10.0013, 45.1],
    [9.9999, 45.1],
    [9.9999, 44.9],
  ] as [number, number][]
  const area = { type: 'Polygon' as const, coordinates: [ring] }
  const graph = await graphOfOsm(data, { area })
  t.same(linksOf(graph), ['A>B 30', 'B>A 30'])
  t.same(graph.meta.area, area)
  t.equal(graph.meta.counts.waysOutside, 2)
  const far = {
    type: 'Polygon' as const,
    coordinates: [ring.map(([lng, lat]) => [lng + 1, lat] as [number, number])],
  }
  await rejectsWith(t, graphOfOsm(data, { area: far }), 'BAD_EXTRACT', {
    message: /no road for car inside the area/,
  })
})

t.test('buildMap: without an area the map has one that holds its roads', async (t) => {
  const graph = await graphOfOsm(sketch(['A B', '   ', 'C D'], [['ABDC', street]]))
  t.same(graph.meta.bbox, [10, 44.9982, 10.0025, 45])
  const [ring = []] = graph.meta.area.coordinates as number[][][]
  const lngs = ring.map(([lng = 0]) => lng)
  const lats = ring.map(([, lat = 0]) => lat)
  t.ok(Math.min(...lngs) < 9.99 && Math.max(...lngs) > 10.012)
  t.ok(Math.min(...lats) < 44.99 && Math.max(...lats) > 45.008)
  t.same(ring[0], ring[ring.length - 1])
})

t.test('buildMap: meta data, names and notes', async (t) => {
  const tags = { ...main, name: '桜通り', maxheight: '3', 'maxspeed:conditional': '30 @ (22:00-06:00)' }
  const graph = await graphOfOsm(
    sketch(['A B'], [['AB', tags]]),
    { country: 'JP' },
    { replicatedAtS: 1_600_000_000 },
  )
  t.match(graph.meta, {
    name: 'test',
    profile: 'car',
    country: 'JP',
    builtFrom: { file: 'extract.osm.pbf', osmTimestamp: '2020-09-13T12:26:40Z' },
    builtBy: 'fieldgate test',
    attribution: '© OpenStreetMap contributors',
    licence: 'ODbL-1.0',
  })
  t.match(graph.meta.builtFrom.sha256, /^[0-9a-f]{64}$/)
  t.equal(nameOf(graph, 0), '桜通り')
  t.same(readNotes(graph, 0), ['conditional speed limit: 30 at 22:00-06:00', 'height limit 3 m'])
  t.same(linksOf(graph), ['A>B 60', 'B>A 60'])
})

t.test('buildMap: an extract without roads', async (t) => {
  const none = sketch(['A B'], [['AB', { highway: 'footway' }]])
  await rejectsWith(t, graphOfOsm(none), 'BAD_EXTRACT', { message: /the extract has no road for car$/ })
  t.same(linksOf(await graphOfOsm(none, { profile: 'foot' })), ['A>B 5', 'B>A 5'])
})

t.test('buildMap: stops between two blobs when it is aborted, and reports progress', async (t) => {
  const data = sketch(['A B'], [['AB', street]])
  const stop = new AbortController()
  const stages: string[] = []
  const onProgress = (stage: string, done: number, total: number) => {
    stages.push(`${stage} ${done <= total}`)
    if (stages.length === 3) stop.abort(new Error('enough'))
  }
  await t.rejects(graphOfOsm(data, { onProgress, signal: stop.signal }), { message: 'enough' })
  t.equal(stages.length, 3)
  stages.length = 0
  await graphOfOsm(data, { onProgress: (stage, done, total) => stages.push(`${stage} ${done}/${total}`) })
  t.match(stages[0], /^reading \d+\/\d+$/)
  t.ok(stages.includes('building 6/6'))
  t.equal(stages[stages.length - 1], 'ordering 1/1')
})

function pair(letters: string): [string, string] {
  return [letters[0] ?? '', letters[1] ?? '']
}
