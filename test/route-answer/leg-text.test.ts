import fc from 'fast-check'
import t from 'tap'
import { takeBytes } from '../../src/route-answer/byte-text.js'
import { featuresOf } from '../../src/route-answer/features.js'
import { createLegWriter, writeLeg } from '../../src/route-answer/leg-text.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import type { RoadPoint } from '../../src/routing/graph/snap.js'
import type { DrivenStep } from '../../src/routing/search/route.js'
import { makeGraph } from '../support/make-graph.js'
import { at, town } from '../support/town.js'

const strange = [
  '',
  'Rua de São José',
  'a "quoted" \\ name',
  'tab\tline\nbell\u0007',
  '東京都道４０６号',
  '🚧',
]

/** Roads with corners, some at one place, with names that need escaping, and notes. */
function roads(): Graph {
  const network = town(4)
  for (const [i, road] of network.roads.entries()) {
    road.name = strange[i % strange.length]!
    if (i % 5 === 0)
      road.notes = [['no entry Mo-Fr 07:00-09:00 "school"', strange[(i / 5) % strange.length]!], []]
    const [a, b] = [network.junctions[road.from]!, network.junctions[road.to]!]
    const between = (share: number): [number, number] => [
      a[0] + (b[0] - a[0]) * share + 1e-4 * (i % 3),
      a[1] + (b[1] - a[1]) * share,
    ]
    if (i % 3 > 0) road.corners = [between(0.25), between(0.25), between(0.7)]
  }
  network.junctions.push(at(-2500, -25_000)) // beyond 0° E and 0° N
  network.roads.push({ from: 0, to: network.junctions.length - 1, speed: [50, 50] })
  return makeGraph(network)
}

t.test('property: writeLeg writes the features of featuresOf', async () => {
  const graph = roads()
  const writer = createLegWriter()
  const point = fc.record({ corner: fc.nat(1), fraction: fc.constantFrom(0, 0.5), part: fc.nat(1000) })
  const step = fc.record({
    link: fc.nat(graph.segmentCount * 2 - 1),
    maxLevel: fc.nat(10),
    from: fc.option(point, { nil: undefined }),
    to: fc.option(point, { nil: undefined }),
    lengthMm: fc.nat(),
    turnMs: fc.constantFrom(0, 0, 100, 27_500, 3_599_999),
  })
  fc.assert(
    fc.property(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 3 }), (drawn) => {
      const legs = drawn.map((steps) => steps.map((one) => drivenStep(graph, one)))
      const route = { costMs: 0, legs }
      const texts = legs
        .filter((steps) => steps.length > 0)
        .map((steps) => {
          writeLeg(writer, graph, steps)
          return decoded(takeBytes(writer.text))
        })
      const [found, expected] = [JSON.parse(`[${texts.join(',')}]`), featuresOf(graph, route).flat()]
      return JSON.stringify(found) === JSON.stringify(expected)
    }),
    { numRuns: 500 },
  )
})

function decoded(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

interface Drawn {
  link: number
  maxLevel: number
  lengthMm: number
  turnMs: number
  from: { corner: number; fraction: number; part: number } | undefined
  to: { corner: number; fraction: number; part: number } | undefined
}

function drivenStep(graph: Graph, { link, maxLevel, lengthMm, turnMs, from, to }: Drawn): DrivenStep {
  const position = (point: Drawn['from']): RoadPoint | undefined =>
    point && {
      segment: link >>> 1,
      corner: point.corner,
      fraction: point.fraction,
      offsetMm: 0,
      lngE7: graph.junctionLngE7[graph.segmentTail[link >>> 1]!]! + (point.part % 3),
      latE7: graph.junctionLatE7[graph.segmentTail[link >>> 1]!]!,
    }
  const isWhole = from === undefined && to === undefined
  return {
    link,
    speed: graph.linkSpeed[link]!,
    maxLevel,
    lengthMm: isWhole ? graph.segmentLengthMm[link >>> 1]! : lengthMm,
    from: position(from),
    to: position(to),
    weightedMm: 0,
    levelMm: 0,
    turnMs,
  }
}
