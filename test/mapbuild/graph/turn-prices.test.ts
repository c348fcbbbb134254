import fc from 'fast-check'
import t from 'tap'
import { packPrices } from '../../../src/mapbuild/graph/turn-prices.js'
import { type Graph, NO_ARC } from '../../../src/routing/graph/graph.js'
import { verifyGraph } from '../../../src/routing/graph/graph-verify.js'
import { turnMs } from '../../../src/routing/graph/turn-costs.js'
import { graphOfOsm, linkBetween, sketch } from '../../support/osm-fixture.js'

const residential = { highway: 'residential' }
const primary = { highway: 'primary' }

/** Price of the turn at the end of `A>B` into `B>C`, for a route that begins by the first; NaN = not allowed. */
function turn(graph: Graph, letters: string): number {
  const [a = '', b = '', c = ''] = letters
  const [from, to] = [linkBetween(graph, a, b), linkBetween(graph, b, c)]
  const start = graph.linkStartArc[from] ?? NO_ARC
  const node = graph.head[start] ?? 0
  for (let arc = graph.firstOut[node] ?? 0; arc < (graph.firstOut[node + 1] ?? 0); arc++)
    if (graph.arcLink[arc] === to) return turnMs(graph, arc)
  return Number.NaN
}

t.test('priceTurns: arrivals have nodes of their own only where the price depends on them', async (t) => {
  const cross = sketch(
    [' N ', 'WXE', ' S '],
    ['XW', 'XE', 'XN', 'XS'].map((way) => [way, residential]),
  )
  const counts = async (turnCosts: 'none' | 'signs' | 'main' | 'full') => {
    const graph = await graphOfOsm(cross, { turnCosts })
    t.same(verifyGraph(graph), [])
    return [...graph.nodeJunction].filter((junction) => graph.junctionOsmId[junction] === 'X'.charCodeAt(0))
      .length
  }
  t.equal(await counts('none'), 1)
  t.equal(await counts('signs'), 1)
  t.equal(await counts('main'), 1, 'no road of 45 km/h')
  t.equal(await counts('full'), 4)
})

t.test('priceTurns: a dead end, a corner and a change of name have one node', async (t) => {
  const graph = await graphOfOsm(sketch(['ABC', '  D'], [['AB', residential], ['BCD', primary]]), { turnCosts: 'full' }) // biome-ignore format: pairs
  t.equal(graph.nodeCount, graph.junctionCount)
  t.same([...graph.turnPrices!], [0])
})

t.test(
  'priceTurns: U-turns are not in the graph where arrivals are told apart, nor near there',
  async (t) => {
    const roads = ['XW', 'XE', 'XN', 'XS'].map((way) => [way, { highway: 'primary' }] as const)
    const graph = await graphOfOsm(sketch([' N ', 'WXE', ' S '], roads), { turnCosts: 'main' })
    t.same(turn(graph, 'WXW'), Number.NaN)
    const small = { highway: 'residential' }
    const stub = (lengthM: number) => {
      const data = sketch(['  N  ', 'WXE  ', ' S   ', 'Q R  '], [...roads.slice(0, 2), ['XS', small], ['SQ', small], ['SR', small]]) // biome-ignore format: pairs
      const [x, s] = ['X', 'S'].map((letter) => data.nodes?.find(({ id }) => id === letter.charCodeAt(0)))
      Object.assign(s ?? {}, { lng: x?.lng, lat: (x?.lat ?? 0) - lengthM * 9e-6 })
      return graphOfOsm(data, { turnCosts: 'main' })
    }
    t.same(turn(await stub(20), 'XSX'), Number.NaN, 'there and back in 5 s, less than a turn costs')
    t.equal(turn(await stub(60), 'XSX'), 0, 'in 14 s: left to the search for the route')
    t.equal(turn(graph, 'XWX'), 27_500, 'a dead end')
  },
)

t.test('priceTurns: a stop for smaller roads has a price by arrival, without angles', async (t) => {
  const roads = [['WX', primary], ['XE', primary], ['NX', residential]] as const // biome-ignore format: rows
  const data = sketch([' N ', 'WXE'], roads, { nodeTags: { X: { highway: 'stop', stop: 'minor' } } })
  const graph = await graphOfOsm(data, { turnCosts: 'signs' })
  t.same(['WXE', 'EXW', 'WXN', 'NXE', 'NXW'].map((letters) => turn(graph, letters)), [0, 0, 0, 2000, 2000]) // biome-ignore format: a row
})

t.test('priceTurns: along a road without length there is no price', async (t) => {
  const data = sketch([' N ', 'WXYE'], [['WX', primary], ['XY', residential], ['YE', primary], ['NX', primary]]) // biome-ignore format: rows
  for (const node of data.nodes ?? [])
    if (node.id === 'Y'.charCodeAt(0)) Object.assign(node, { lng: 10.00125 })
  const graph = await graphOfOsm(data, { turnCosts: 'full' })
  t.equal(graph.segmentLengthMm[linkBetween(graph, 'X', 'Y') >>> 1], 0)
  t.equal(turn(graph, 'WXY'), 0)
  t.equal(turn(graph, 'XYE'), 0)
  t.same(verifyGraph(graph), [])
})

t.test('property: packPrices keeps tenths of a second, and rounds where there are too many', async () => {
  const prices = fc.array(fc.nat(130_000), { maxLength: 400 })
  fc.assert(
    fc.property(prices, (drawn) => {
      const arcMs = Uint32Array.from(drawn)
      const { turnPrices, arcTurn } = packPrices(arcMs)
      const worst = arcMs.reduce(
        (most, ms, arc) => Math.max(most, Math.abs(ms - turnPrices[arcTurn[arc]!]!)),
        0,
      )
      const isAscending = turnPrices.every((ms, i) => (i === 0 ? ms === 0 : ms > turnPrices[i - 1]!))
      return isAscending && turnPrices.length <= 256 && worst <= (drawn.length < 256 ? 50 : 400)
    }),
  )
})
