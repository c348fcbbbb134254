import t from 'tap'
import { graphOfOsm, linksOf, sketch } from '../../support/osm-fixture.js'

const street = { highway: 'residential' }

t.test('cutRuns: a duration that no ship or train reaches is ignored', async (t) => {
  // 197 m in one second: 709 km/h
  const ferry = { route: 'ferry', duration: 'PT1S' }
  t.same(linksOf(await graphOfOsm(sketch(['A.B'], [['AB', ferry]]))), ['A>B 6', 'B>A 6'])
})

t.test('cutRuns: a way of one node is no road and makes no junction', async (t) => {
  const graph = await graphOfOsm(
    sketch(
      ['A B C'],
      [
        ['ABC', street],
        ['BB', { highway: 'service' }],
      ],
    ),
  )
  t.same(linksOf(graph), ['A>C 30', 'C>A 30'])
})

t.test('cutRuns: a way is cut where it crosses the antimeridian', async (t) => {
  const node = (id: number, lng: number) => ({ id, lng, lat: 10 })
  const graph = await graphOfOsm({
    nodes: [node(65, 179.998), node(66, 179.999), node(67, -179.999), node(68, -179.998)],
    ways: [{ id: 1, refs: [65, 66, 67, 68], tags: street }],
  })
  t.same(linksOf(graph), ['A>B 30', 'B>A 30', 'C>D 30', 'D>C 30'])
  t.ok(Math.max(...graph.segmentLengthMm) < 200_000, 'no segment runs round the Earth')
})
