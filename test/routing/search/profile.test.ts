import fc from 'fast-check'
import t from 'tap'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { costMs, measure } from '../../../src/routing/search/cost.js'
import { createProfile, freeWeights, partMs } from '../../../src/routing/search/profile.js'
import { makeGraph, type Network } from '../../support/make-graph.js'
import { driveCost, levelAt, type World } from '../../support/oracle.js'
import { networks, overlayOf, themes } from '../../support/random-network.js'

const NEVER = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999]

/** One two-way road of a length and speed. */
function road(lengthMm: number, kmPerH: number): Graph {
  const network: Network = {
    junctions: [[0, 0], [0.1, 0]], // biome-ignore format: pairs
    roads: [{ from: 0, to: 1, speed: [kmPerH, kmPerH], lengthMm }],
  }
  return makeGraph(network)
}

function wholeAt(graph: Graph, level: number) {
  return overlayOf(new Map([[0, [[graph.segmentLengthMm[0]!, level]]]]))
}

t.test('createProfile: 9999 over a long link is exact, beyond 32 bits', async (t) => {
  const graph = road(400_000_000, 8)
  const { weights } = createProfile(graph, [{ overlay: wholeAt(graph, 10), sensitivity: NEVER }])
  t.type(weights, Float64Array)
  t.same([...weights], [1_800_000_000_000, 1_800_000_000_000])
  t.type(createProfile(graph).weights, Int32Array)
})

t.test('createProfile: a link whose free cost is beyond 32 bits', async (t) => {
  const graph = road(4_000_000_000, 1)
  t.type(freeWeights(graph), Float64Array)
  t.same([...freeWeights(graph)], [14_400_000_000, 14_400_000_000])
})

t.test('createProfile: 32 bits as long as the worst cost of the longest link fits', async (t) => {
  // at 3.6 km/h a millimetre takes a millisecond
  const typeAt = (lengthMm: number, worst: number) => {
    const graph = road(lengthMm, 3.6)
    const theme = { overlay: wholeAt(graph, 1), sensitivity: [0, worst, 0, 0, 0, 0, 0, 0, 0, 0, 0] }
    return createProfile(graph, [theme]).weights.constructor
  }
  t.equal(typeAt(2 ** 30 - 1, 1), Int32Array)
  t.equal(typeAt(2 ** 30, 1), Float64Array)
  t.equal(typeAt(2 ** 30 - 1, 1.01), Float64Array)
  t.equal(typeAt(2 ** 29, 2.9), Int32Array)
})

t.test('createProfile: without risk the free weights themselves, computed once a graph', async (t) => {
  const graph = road(1_000_000, 50)
  t.equal(createProfile(graph).weights, freeWeights(graph))
  const none = overlayOf(new Map())
  t.equal(createProfile(graph, [{ overlay: none, sensitivity: NEVER }]).weights, freeWeights(graph))
  createProfile(graph, [{ overlay: wholeAt(graph, 10), sensitivity: NEVER }])
  t.same([...freeWeights(graph)], [72_000, 72_000], 'untouched by a risk profile')
})

t.test('createProfile: themes add up, sensitivity[0] counts where there is no cell', async (t) => {
  const graph = road(1_000_000, 50)
  const a = { overlay: wholeAt(graph, 3), sensitivity: [0.5, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0] }
  const b = { overlay: overlayOf(new Map()), sensitivity: [0.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }
  t.same([...createProfile(graph, [b]).weights], [90_000, 90_000])
  t.same([...createProfile(graph, [a, b]).weights], [234_000, 234_000])
})

t.test('createProfile: closed pieces close the whole link, and the parts that meet them', async (t) => {
  const graph = road(1_000_000, 50)
  const closed = overlayOf(new Map([[0, [[200_000, 0], [300_000, 10], [1_000_000, 0]]]])) // biome-ignore format: pieces
  const profile = createProfile(graph, [], closed)
  t.same([...profile.weights], [-1, -1])
  t.equal(partMs(profile, 0, 0, 200_000), 14_400)
  t.equal(partMs(profile, 1, 300_000, 1_000_000), 50_400)
  t.equal(partMs(profile, 0, 199_000, 201_000), -1)
  t.equal(partMs(profile, 0, 250_000, 260_000), -1)
})

t.test(
  'createProfile: a closed overlay that lists a segment without a closed piece leaves it open',
  async (t) => {
    const graph = road(1_000_000, 50)
    const closed = overlayOf(new Map([[0, [[1_000_000, 0]]]]))
    t.same([...createProfile(graph, [], closed).weights], [72_000, 72_000])
  },
)

t.test('property: costs, levels and sums of links and parts agree with the oracle', async (t) => {
  const cases = networks().chain((network) => {
    const lengthMm = [...makeGraph(network).segmentLengthMm]
    const cut = fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000))
    return fc.record({
      network: fc.constant(network),
      risk: fc.array(themes(lengthMm), { maxLength: 3 }),
      cut,
    })
  })
  fc.assert(
    fc.property(cases, ({ network, risk, cut: [pick, a, b] }) => {
      const graph = makeGraph(network)
      const lengthMm = [...graph.segmentLengthMm]
      const world: World = { network, lengthMm, themes: risk }
      const laid = risk.map((theme) => ({
        overlay: overlayOf(theme.pieces),
        sensitivity: theme.sensitivity,
      }))
      const profile = createProfile(graph, laid)
      const areWeightsRight = [...graph.arcLink].every(
        (link, arc) =>
          profile.weights[arc] ===
          enterMs(graph, network, arc) + driveCost(world, { link, fromMm: 0, toMm: lengthMm[link >> 1]! }),
      )
      const segment = pick % graph.segmentCount
      const [fromMm, toMm] = [a, b]
        .map((part) => Math.round((part / 1000) * lengthMm[segment]!))
        .sort((x, y) => x - y)
      const part = measure(laid, segment, fromMm!, toMm!)
      const speed = 360
      const levels = Array.from({ length: Math.min(200, toMm! - fromMm!) }, (_, i) => {
        const mm = fromMm! + ((i + 0.5) * (toMm! - fromMm!)) / Math.min(200, toMm! - fromMm!)
        return Math.max(0, ...risk.map((theme) => levelAt(theme, segment, mm)))
      })
      const seen = Math.max(0, ...levels)
      const isWhole = toMm! - fromMm! <= 200
      return (
        areWeightsRight &&
        part.lengthMm === toMm! - fromMm! &&
        (isWhole ? part.maxLevel === seen : part.maxLevel >= seen) &&
        (!isWhole || part.levelMm === levels.reduce((sum, level) => sum + level, 0)) &&
        costMs(part.weightedMm, speed) >= costMs(part.lengthMm, speed)
      )
    }),
    { numRuns: 500 },
  )
  t.pass('500 networks')
})

/** Price that an arc has in the map, and that of leaving a dead end. */
function enterMs({ arcLink, arcTurn, turnPrices }: Graph, { afterUTurn }: Network, arc: number): number {
  return turnPrices![arcTurn![arc]!]! + (afterUTurn!.includes(arcLink[arc]!) ? 27_500 : 0)
}
