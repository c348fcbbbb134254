// One process: random profiles on a real map, each query compared with layer 1 and summed again on the input graph.
import { crc32 } from 'node:zlib'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import { chooseKind, finish, startCustomisation, startUpdate } from '../../src/routing/cch/customise.js'
import { mapHierarchy } from '../../src/routing/cch/map-hierarchy.js'
import type { Metric } from '../../src/routing/cch/metric.js'
import { createPrepared } from '../../src/routing/cch/prepared.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { directLeg, findLeg, type Leg, stepRange } from '../../src/routing/search/leg.js'
import { endsOf } from '../../src/routing/search/link-ends.js'
import type { ThemeRisk } from '../../src/routing/search/overlay.js'
import { createProfile, freeWeights, type Profile, partMs } from '../../src/routing/search/profile.js'
import { linkDijkstra } from '../../test/support/link-dijkstra.js'
import { endless } from './routing-oracle.js'
import { circle, createRandom, randomPoint } from './routing-world.js'

const [extract = '', profileCount = '40', queryCount = '500'] = process.argv.slice(2)
const CLOSED_EVERY = 5

interface Tally {
  equal: number
  none: number
  wrong: number
  badSums: number
  repairs: number
  badRepairs: number
  widened: number
}

async function main(): Promise<void> {
  const [first, second] = [await buildBytes(), await buildBytes()]
  const isSame = Buffer.from(first).equals(Buffer.from(second))
  console.log(
    `two builds of the same extract: ${first.byteLength} bytes, ${isSame ? 'identical' : 'DIFFERENT'}`,
  )
  const graph = readGraph(first, crc32)
  const random = createRandom(2026)
  const tally: Tally = { equal: 0, none: 0, wrong: 0, badSums: 0, repairs: 0, badRepairs: 0, widened: 0 }
  for (let i = 0; i < Number(profileCount); i++)
    compareProfile(graph, randomProfile(graph, random, i), random, tally)
  const { equal, none, wrong, badSums, repairs, badRepairs, widened } = tally
  console.log(
    `${profileCount} random profiles, ${equal + none + wrong} random queries: ${equal} equal to layer 1, ${none} without a way in both, ${wrong} WRONG; ${badSums} paths of another cost when summed again on the input graph`,
  )
  console.log(
    `${repairs} of the profiles could be customised from free flow: ${badRepairs} differ in any bit from a full customisation; ${widened} needed float64 after all`,
  )
  if (!isSame || wrong + badSums + badRepairs > 0) process.exitCode = 1
}

async function buildBytes(): Promise<SharedArrayBuffer> {
  const parts = await buildMap({
    input: extract,
    profile: 'car',
    country: null,
    name: 'porto',
    builtBy: 'bench',
  })
  return writeGraphShared(parts)
}

/** One to three themes of squares or discs of random size, number, levels and sensitivities; some with closed areas. */
function randomProfile(graph: Graph, random: () => number, i: number): Profile {
  const themes = Array.from({ length: 1 + Math.floor(random() * 3) }, (): ThemeRisk => {
    const isScattered = random() < 0.4
    const count = isScattered ? 100 + Math.floor(random() * 3000) : 1 + Math.floor(random() * 20)
    const cells = createCellSet()
    for (let cell = 0; cell < count; cell++) {
      const radiusM = isScattered ? 20 + random() * 60 : 100 + random() * 2000
      addCell(cells, circle(graph, random, radiusM, isScattered ? 4 : 32), Math.floor(random() * 11))
    }
    const top = 10 ** (random() * 4.5 - 0.5)
    const sensitivity = Array.from({ length: 11 }, (_, level) => (level / 10) ** 2 * top)
    return { overlay: buildOverlay(graph, cells), sensitivity }
  })
  if (i % CLOSED_EVERY !== 0) return createProfile(graph, themes)
  const closed = createCellSet()
  for (let cell = 0; cell < 50; cell++) addCell(closed, circle(graph, random, 30 + random() * 300, 24), 10)
  return createProfile(graph, themes, buildOverlay(graph, closed))
}

function compareProfile(graph: Graph, profile: Profile, random: () => number, tally: Tally): void {
  const hierarchy = mapHierarchy(graph)!
  const { weights } = profile
  const kind = chooseKind(weights, profile.themes)
  const metric = finish(startCustomisation(hierarchy, weights, kind))
  const free = freeWeights(graph)
  const base = { metric: finish(startCustomisation(hierarchy, free, 'int32')), weights: free }
  const repair = startUpdate(graph, hierarchy, weights, kind, base)
  if (repair !== undefined) {
    tally.repairs++
    if (!areEqual(finish(repair), metric)) tally.badRepairs++
  }
  const search = createHierarchySearch(
    createPrepared({ roads: graph, hierarchy, weights, metric }, () => tally.widened++),
  )
  for (let query = 0; query < Number(queryCount); query++) {
    const points = [0, 1].map((role) => {
      const [lng, lat] = randomPoint(graph, random).lonlat
      return { role: `${role}`, lng, lat }
    })
    const [from, to] = snapPoints({ name: 'porto', graph }, points, 5000).map((place) =>
      endsOf(profile, place),
    )
    const found = findLeg(profile, search, from!, to!, endless())
    const searchedMs = linkDijkstra(graph, (arc) => weights[arc]!, from!.sources, to!.targets)
    const expectedMs = Math.min(
      searchedMs,
      directLeg(profile, from!, to!)?.costMs ?? Number.POSITIVE_INFINITY,
    )
    if ((found?.costMs ?? Number.POSITIVE_INFINITY) !== expectedMs) tally.wrong++
    else if (found === undefined) tally.none++
    else tally.equal++
    if (found !== undefined && sumOf(profile, found) !== found.costMs) tally.badSums++
  }
}

function areEqual(a: Metric, b: Metric): boolean {
  return (
    Buffer.from(a.up.buffer).equals(Buffer.from(b.up.buffer)) &&
    Buffer.from(a.down.buffer).equals(Buffer.from(b.down.buffer))
  )
}

/** Link by link, as each is priced from its pieces: what the search knew of weights does not count. */
function sumOf(profile: Profile, leg: Leg): number {
  return leg.steps.reduce((sum, step) => {
    const [fromMm, toMm] = stepRange(profile.graph, step)
    return sum + partMs(profile, step.link, fromMm, toMm) + step.turnMs
  }, 0)
}

void main()
