// Not counted: its loops are long, and shorter tests take the same branches (scripts/test/load-typescript.mjs)
import { crc32 } from 'node:zlib'
import t from 'tap'
import type { Polygon } from '../../../src/geo/types.js'
import { buildMap } from '../../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../../src/mapbuild/graph/write-graph.js'
import { buildOverlay } from '../../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../../src/risk/cell-set.js'
import type { RequestPoint } from '../../../src/route-answer/request-point.js'
import { snapPoints } from '../../../src/route-engine/locate.js'
import { chooseKind, finish, startCustomisation, startUpdate } from '../../../src/routing/cch/customise.js'
import { mapHierarchy } from '../../../src/routing/cch/map-hierarchy.js'
import { createHierarchySearch } from '../../../src/routing/cch/search.js'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { readGraph } from '../../../src/routing/graph/graph-file.js'
import { findLeg, type Leg, stepRange } from '../../../src/routing/search/leg.js'
import { createDijkstraSearch } from '../../../src/routing/search/leg-search.js'
import { endsOf } from '../../../src/routing/search/link-ends.js'
import { createProfile, freeWeights, type Profile, partMs } from '../../../src/routing/search/profile.js'
import { createSearchState } from '../../../src/routing/search/search-state.js'
import { seeded } from '../../support/random-graph.js'
import { missingPorto, PORTO } from '../../support/real-map.js'

/** The long form is `npm run bench -- routing-exact`: 40 profiles of 500 queries. */
const PROFILES = 4
const QUERIES = 20
const FACTORS = [2, 11, 100, 10_000]

t.test(
  'Porto: a build gives the same bytes again, and the hierarchy the costs of layer 1',
  { skip: missingPorto },
  async (t) => {
    const build = async () =>
      writeGraphShared(
        await buildMap({ input: PORTO, profile: 'car', country: null, name: 'porto', builtBy: 'test' }),
      )
    const [buffer, again] = [await build(), await build()]
    t.ok(Buffer.from(buffer).equals(Buffer.from(again)), `${buffer.byteLength} bytes twice`)
    const graph = readGraph(buffer, crc32)
    const hierarchy = mapHierarchy(graph)!
    const random = seeded(3)
    const state = createSearchState(graph.nodeCount)
    const free = freeWeights(graph)
    const base = { metric: finish(startCustomisation(hierarchy, free, 'int32')), weights: free }
    let [found, repaired] = [0, 0]
    for (let i = 0; i < PROFILES; i++) {
      const profile = randomProfile(graph, random, i)
      const { weights } = profile
      const kind = chooseKind(weights, profile.themes)
      const metric = finish(startCustomisation(hierarchy, weights, kind))
      const repair = startUpdate(graph, hierarchy, weights, kind, base)
      if (repair !== undefined) {
        repaired++
        const { up, down } = finish(repair)
        t.ok(Buffer.from(up.buffer).equals(Buffer.from(metric.up.buffer)), 'up, bit for bit')
        t.ok(Buffer.from(down.buffer).equals(Buffer.from(metric.down.buffer)), 'down, bit for bit')
      }
      const prepared = { roads: graph, hierarchy, weights, metric, widen: () => t.fail('widened') }
      const search = createHierarchySearch(prepared)
      const oracle = createDijkstraSearch(graph, weights, state)
      for (let query = 0; query < QUERIES; query++) {
        const [from, to] = snapPoints({ name: 'porto', graph }, randomPoints(graph, random), 1000).map(
          (place) => endsOf(profile, place),
        )
        const control = { maxSettledNodes: 1e9 }
        const leg = findLeg(profile, search, from!, to!, control)
        const expected = findLeg(profile, oracle, from!, to!, control)
        if (leg?.costMs !== expected?.costMs)
          t.fail(`profile ${i}, query ${query}: ${leg?.costMs} ms, layer 1 finds ${expected?.costMs}`)
        if (leg === undefined) continue
        found++
        if (sumOf(profile, leg) !== leg.costMs)
          t.fail(`profile ${i}, query ${query}: its links cost ${sumOf(profile, leg)} ms, not ${leg.costMs}`)
      }
    }
    t.ok(found > (PROFILES * QUERIES) / 2, `${found} ways compared`)
    t.ok(repaired > 0, `${repaired} repairs compared`)
  },
)

/** Scattered small squares, or large discs, of levels 1 to 10. */
function randomProfile(graph: Graph, random: () => number, i: number): Profile {
  const cells = createCellSet()
  const [count, radius, corners] = i % 2 === 0 ? [500, 0.0005, 4] : [6, 0.01, 24]
  for (let cell = 0; cell < count; cell++) {
    addCell(cells, disc(graph, random, radius, corners), 1 + Math.floor(random() * 10))
  }
  const factor = FACTORS[i % FACTORS.length]!
  const sensitivity = Array.from({ length: 11 }, (_, level) => (level * (factor - 1)) / 10)
  return createProfile(graph, [{ overlay: buildOverlay(graph, cells), sensitivity }])
}

function disc(graph: Graph, random: () => number, radius: number, corners: number): Polygon {
  const junction = Math.floor(random() * graph.junctionCount)
  const [x, y] = [graph.junctionLngE7[junction]! / 1e7, graph.junctionLatE7[junction]! / 1e7]
  const ring = Array.from({ length: corners + 1 }, (_, corner): [number, number] => {
    const angle = ((corner % corners) / corners) * 2 * Math.PI
    return [x + Math.cos(angle) * radius, y + Math.sin(angle) * radius]
  })
  return { type: 'Polygon', coordinates: [ring] }
}

function randomPoints(graph: Graph, random: () => number): RequestPoint[] {
  return [0, 1].map((role) => {
    const junction = Math.floor(random() * graph.junctionCount)
    const lng = graph.junctionLngE7[junction]! / 1e7 + (random() - 0.5) * 0.0004
    return { role: `${role}`, lng, lat: graph.junctionLatE7[junction]! / 1e7 }
  })
}

function sumOf(profile: Profile, leg: Leg): number {
  return leg.steps.reduce((sum, step) => {
    const [fromMm, toMm] = stepRange(profile.graph, step)
    return sum + partMs(profile, step.link, fromMm, toMm)
  }, 0)
}
