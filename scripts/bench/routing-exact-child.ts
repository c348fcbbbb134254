// One process: random mixes of risk, closed areas, vehicles and times on a real map. Each query is compared with an
// independent search on links, summed again on the input graph, and asked again of a profile that threads have made.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { loadConfig } from '../../src/config/config.js'
import { helperThreads } from '../../src/gateway/workers/helper-threads.js'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphShared } from '../../src/mapbuild/graph/write-graph.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, type CellSet, createCellSet } from '../../src/risk/cell-set.js'
import type { HelperThreads } from '../../src/route-engine/helpers.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import { createMapStates, type MapStates } from '../../src/route-engine/map-states.js'
import { chooseKind, finish, startCustomisation, startUpdate } from '../../src/routing/cch/customise.js'
import type { Hierarchy } from '../../src/routing/cch/hierarchy.js'
import { mapHierarchy } from '../../src/routing/cch/map-hierarchy.js'
import type { Metric } from '../../src/routing/cch/metric.js'
import { createPrepared, type Prepared, prepareNow } from '../../src/routing/cch/prepared.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import { type Helpers, startShared } from '../../src/routing/cch/shared-customise.js'
import type { Vehicle } from '../../src/routing/conditions/vehicle.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { readGraph } from '../../src/routing/graph/graph-file.js'
import { graphWhile } from '../../src/routing/graph/graph-state.js'
import { closedToVehicle } from '../../src/routing/graph/limits.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import { directLeg, findLeg, type Leg, stepRange } from '../../src/routing/search/leg.js'
import type { LegSearch } from '../../src/routing/search/leg-search.js'
import { endsOf } from '../../src/routing/search/link-ends.js'
import type { ThemeRisk } from '../../src/routing/search/overlay.js'
import { createProfile, freeWeights, type Profile, partMs } from '../../src/routing/search/profile.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { findTimedRoute } from '../../src/routing/search/time-dependent.js'
import type { Timeline } from '../../src/routing/search/timed-search.js'
import { arcPrices, type Mix } from './exact-prices.js'
import { type LaidByThreads, layWithThreads } from './laid-by-threads.js'
import { linkCosts } from './link-costs.js'
import { endless } from './routing-oracle.js'
import { circle, createRandom, randomPoint } from './routing-world.js'
import { type Slots, timedCost } from './timed-oracle.js'
import { checkTurns, type Kind } from './turn-oracle.js'

const [
  extract = '',
  kind = 'none',
  profileCount = '40',
  queryCount = '500',
  timedCount = '25',
  seed = '1',
  size = '',
] = process.argv.slice(2)
/** A map of a country is built once, and its turns are those of the town that it is made of. */
const isLarge = size === 'large'
const turnCosts = kind as Kind // by the list of places
const CLOSED_EVERY = 5
const FIRST_US = BigInt(Date.UTC(2026, 0, 1)) * 1000n
const MINUTES = 365 * 1440
const US_PER_MINUTE = 60_000_000n
const SLOTS = 4
/** Goals of one start. */
const GOALS = 10
/** Time in which threads start and customise some pieces alone. */
const THREADS_FIRST_MS = 150
/** Wrong answers of which the places are printed. */
const MAX_TOLD = 5

interface Tally {
  equal: number
  none: number
  wrong: number
  timed: number
  badSums: number
  badWeights: number
  repairs: number
  badRepairs: number
  /** profiles that threads have made, too, and routes on them */
  shared: number
  badShared: number
  sharedLegs: number
  badSharedLegs: number
  widened: number
  vehicles: number
  /** profiles at a time at which some conditions of the map hold */
  conditional: number
}

/** A map with what its searches share. */
interface Bench {
  /** while no condition holds */
  readonly graph: Graph
  readonly states: MapStates
  readonly hierarchy: Hierarchy
  readonly free: Prepared
  readonly random: () => number
  readonly tally: Tally
  /** threads of the program, which here help with maps of any size; undefined on one core */
  readonly helpers: Helpers | undefined
  /** cells laid by threads; undefined on one core */
  readonly laid: LaidByThreads | undefined
}

async function main(): Promise<void> {
  const first = await buildBytes()
  const isSame = isLarge || Buffer.from(first).equals(Buffer.from(await buildBytes()))
  const builds = isLarge ? 'one build' : `two builds, ${isSame ? 'identical' : 'DIFFERENT'}`
  console.log(`${path.basename(extract)}, turn costs ${turnCosts}: ${first.byteLength} bytes, ${builds}`)
  const graph = readGraph(first, crc32)
  const wrongTurns = isLarge ? 0 : compareTurns(graph)
  const hierarchy = mapHierarchy(graph)!
  const threads = programThreads()
  const tally = { equal: 0, none: 0, wrong: 0, timed: 0, badSums: 0, badWeights: 0 }
  const bench: Bench = {
    graph,
    states: createMapStates(graph),
    hierarchy,
    free: prepareNow({ roads: graph, hierarchy, weights: freeWeights(graph) }, 'int32'),
    random: createRandom(Number(seed)),
    tally: {
      ...tally,
      repairs: 0,
      badRepairs: 0,
      shared: 0,
      badShared: 0,
      sharedLegs: 0,
      badSharedLegs: 0,
      widened: 0,
      vehicles: 0,
      conditional: 0,
    },
    helpers: threads && { ...threads.customising, minTriangles: 0 },
    laid: threads && layWithThreads(new Uint8Array(first), threads.laying),
  }
  for (let i = 0; i < Number(profileCount); i++) {
    await compareProfile(bench, i)
  }
  print(bench.tally)
  const laid = bench.laid?.tally ?? { overlays: 0, shared: 0, different: 0 }
  console.log(
    `  ${laid.overlays} overlays were laid with threads, too, ${laid.shared} of them in part by those: ${laid.different} DIFFERENT`,
  )
  const { wrong, badSums, badWeights, badRepairs, badShared, badSharedLegs } = bench.tally
  const faults =
    wrongTurns + wrong + badSums + badWeights + badRepairs + badShared + badSharedLegs + laid.different
  if (!isSame || faults > 0) process.exitCode = 1
}

/** @returns wrong turns */
function compareTurns(graph: Graph): number {
  const { turns, priced, wrong } = checkTurns(graph, extract, turnCosts)
  console.log(`  ${turns} turns between arcs, ${priced} with a price: ${wrong.length} WRONG`)
  for (const told of wrong.slice(0, MAX_TOLD)) console.log(`  WRONG: ${told}`)
  return wrong.length
}

function programThreads(): HelperThreads | undefined {
  const loaded = loadConfig(null)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  return helperThreads(loaded.config, path.resolve('dist/fieldgate.cjs'))
}

function print(tally: Tally): void {
  const {
    equal,
    none,
    wrong,
    timed,
    badSums,
    badWeights,
    repairs,
    badRepairs,
    shared,
    badShared,
    sharedLegs,
    badSharedLegs,
    widened,
    vehicles,
    conditional,
  } = tally
  console.log(
    `  ${profileCount} random profiles, ${vehicles} of a vehicle, ${conditional} under conditions of the map that hold; ${equal + none + wrong} random queries, ${timed} of them over time: ${equal} equal to the search on links, ${none} without a way in both, ${wrong} WRONG; ${badSums} paths of another cost when summed again on the input graph; ${badWeights} weights of arcs WRONG`,
  )
  console.log(
    `  ${repairs} of the profiles could be customised from free flow: ${badRepairs} differ in any bit from a full customisation; ${widened} needed a wider kind of costs after all`,
  )
  console.log(
    `  ${shared} of the profiles were customised by threads, too: ${badShared} differ in any bit; ${sharedLegs} queries were asked again of those: ${badSharedLegs} answers DIFFERENT`,
  )
}

async function buildBytes(): Promise<SharedArrayBuffer> {
  const parts = await buildMap({
    input: extract,
    profile: 'car',
    country: null,
    turnCosts,
    name: 'x',
    builtBy: 'bench',
  })
  return writeGraphShared(parts)
}

/**
 * Up to three themes of squares or discs of random size, number, levels and sensitivities, at a random time of 2026;
 * some with closed areas, half of them for a vehicle.
 */
function randomMix(
  { graph, states, random }: Bench,
  i: number,
): Mix & { readonly themes: readonly DrawnTheme[] } {
  const themes = Array.from({ length: Math.floor(random() * 4) }, () => randomTheme(graph, random))
  const vehicle = random() < 0.5 ? randomVehicle(random) : undefined
  const instantUs = FIRST_US + BigInt(Math.floor(random() * MINUTES)) * US_PER_MINUTE
  const holds = states.stateAt(instantUs, vehicle).key
  if (i % CLOSED_EVERY !== 0) return { themes, vehicle, holds }
  const cells = createCellSet()
  // as dense on a town as on a city
  const count = Math.ceil(graph.nodeCount / 1200)
  for (let cell = 0; cell < count; cell++) addCell(cells, circle(graph, random, 30 + random() * 300, 24), 10)
  return { themes, vehicle, holds, closed: buildOverlay(graph, cells) }
}

/** A theme with the cells of its overlay. */
type DrawnTheme = ThemeRisk & { readonly cells: CellSet }

function randomTheme(graph: Graph, random: () => number): DrawnTheme {
  const isScattered = random() < 0.4
  const count = isScattered ? 100 + Math.floor(random() * 3000) : 1 + Math.floor(random() * 20)
  const cells = createCellSet()
  for (let cell = 0; cell < count; cell++) {
    const radiusM = isScattered ? 20 + random() * 60 : 100 + random() * 2000
    addCell(cells, circle(graph, random, radiusM, isScattered ? 4 : 32), Math.floor(random() * 11))
  }
  const top = 10 ** (random() * 4.5 - 0.5)
  const sensitivity = Array.from({ length: 11 }, (_, level) => (level / 10) ** 2 * top)
  return { overlay: buildOverlay(graph, cells), sensitivity, cells }
}

/** Whole centimetres and kilograms, some exactly as large as limits are. */
function randomVehicle(random: () => number): Vehicle {
  const some = (from: number, to: number, steps: number) =>
    random() < 0.6 ? Math.round((from + random() * (to - from)) * steps) / steps : undefined
  return {
    heightM: some(1.5, 5, random() < 0.5 ? 2 : 100),
    widthM: some(1.5, 3.5, 10),
    lengthM: some(4, 20, 1),
    weightT: some(1, 42, random() < 0.5 ? 2 : 1000),
    axleLoadT: some(1, 12, 2),
    isHazmat: random() < 0.5,
  }
}

/** The profile as the program makes it: a graph of its own while some conditions hold. */
function profileOf(base: Graph, { themes, closed, vehicle, holds = '' }: Mix): Profile {
  const graph = holds === '' ? base : graphWhile(base, [...holds].map(Number))
  const links = vehicle === undefined ? [] : closedToVehicle(graph.limits!, vehicle)
  return createProfile(graph, themes, closed, links.length === 0 ? undefined : new Set(links))
}

async function compareProfile(bench: Bench, i: number): Promise<void> {
  const { hierarchy, free, tally } = bench
  const mix = randomMix(bench, i)
  for (const { cells, overlay } of mix.themes) await bench.laid?.compare(cells, overlay)
  if (mix.vehicle !== undefined) tally.vehicles++
  if (mix.holds !== '') tally.conditional++
  const profile = profileOf(bench.graph, mix)
  const { graph } = profile
  const prices = arcPrices(bench.graph, mix)
  tally.badWeights += prices.filter((price, arc) => price !== profile.weights[arc]).length
  const { weights } = profile
  const kind = chooseKind(weights, profile.themes)
  const metric = finish(startCustomisation(hierarchy, weights, kind))
  const repair = startUpdate(graph, hierarchy, weights, kind, free)
  if (repair !== undefined) {
    tally.repairs++
    if (!areEqual(finish(repair), metric)) tally.badRepairs++
  }
  const prepared = createPrepared({ roads: graph, hierarchy, weights, metric }, () => tally.widened++)
  const search = createHierarchySearch(prepared)
  const shared = bench.helpers && startShared(hierarchy, weights, kind, bench.helpers)
  // every other time the threads have some pieces before this one takes any
  await sleep(i % 2 === 0 ? 0 : THREADS_FIRST_MS)
  const sharedMetric = shared && finish(shared)
  if (sharedMetric !== undefined) {
    tally.shared++
    if (!areEqual(sharedMetric, metric)) tally.badShared++
  }
  const searches: Searches = {
    search,
    again:
      sharedMetric &&
      createHierarchySearch(
        createPrepared({ roads: graph, hierarchy, weights, metric: sharedMetric }, () => undefined),
      ),
  }
  const legs = Number(queryCount) - Number(timedCount)
  for (let query = 0; query < legs; query += GOALS)
    compareLegs(bench, profile, prices, searches, Math.min(GOALS, legs - query))
  compareOverTime(bench, mix)
}

/** A search on a profile that one thread has made, and one on the same from several. */
interface Searches {
  readonly search: LegSearch
  readonly again: LegSearch | undefined
}

/** Routes from one place to several: one search on links answers for all of them. */
function compareLegs(
  bench: Bench,
  profile: Profile,
  prices: Float64Array,
  { search, again }: Searches,
  count: number,
): void {
  const { tally } = bench
  const { graph } = profile
  const [start] = randomPlaces(bench, graph) as [Snap]
  const from = endsOf(profile, start)
  const costTo = linkCosts(graph, prices, from.sources)
  for (let i = 0; i < count; i++) {
    const [goal] = randomPlaces(bench, graph) as [Snap]
    const to = endsOf(profile, goal)
    const found = findLeg(profile, search, from, to, endless())
    const directMs = directLeg(profile, from, to)?.costMs ?? Number.POSITIVE_INFINITY
    note(tally, [start, goal], found?.costMs, Math.min(costTo(to.targets), directMs))
    if (found !== undefined && sumOf(profile, found) !== found.costMs) tally.badSums++
    if (again === undefined) continue
    tally.sharedLegs++
    const repeated = findLeg(profile, again, from, to, endless())
    if (JSON.stringify(repeated) !== JSON.stringify(found)) tally.badSharedLegs++
  }
}

/** Departures into a risk that changes some minutes later, three times. */
function compareOverTime(bench: Bench, first: Mix): void {
  const { hierarchy, random, tally } = bench
  const mixes = [
    first,
    ...Array.from({ length: SLOTS - 1 }, (_, i) => ({
      ...randomMix(bench, i + 1),
      vehicle: first.vehicle,
      holds: first.holds,
    })),
  ]
  const profiles = mixes.map((mix) => profileOf(bench.graph, mix))
  const startMs = [0]
  while (startMs.length < SLOTS) startMs.push(startMs.at(-1)! + Math.floor(30_000 + random() * 600_000))
  const { graph } = profiles[0]!
  const weights = mixes.map((mix) => arcPrices(bench.graph, mix))
  const slots: Slots = {
    startMs,
    profiles,
    weights,
    driveMs: arcPrices(bench.graph, { themes: [], holds: first.holds }),
  }
  // of this time: while conditions hold, a road may cost less than while none does
  const freeSearch = createHierarchySearch(
    prepareNow({ roads: graph, hierarchy, weights: freeWeights(graph) }, 'int32'),
  )
  const timeline: Timeline = {
    slotStartMs: startMs,
    profileOf: (slot) => profiles[slot]!,
    potentialTo: (targets) => freeSearch.potentialTo(targets),
  }
  for (let query = 0; query < Number(timedCount); query++) {
    const places = randomPlaces(bench, graph)
    const [from, to] = places as [Snap, Snap]
    const route = runToEnd(findTimedRoute(timeline, places, endless()))
    const direct = directLeg(profiles[0]!, endsOf(profiles[0]!, from), endsOf(profiles[0]!, to))
    const expectedMs = timedCost(graph, slots, from, to, direct?.costMs ?? Number.POSITIVE_INFINITY)
    note(tally, places, 'blockedLeg' in route ? undefined : route.costMs, expectedMs)
    tally.timed++
  }
}

function randomPlaces({ random }: Bench, graph: Graph): Snap[] {
  const points = [0, 1].map((role) => {
    const [lng, lat] = randomPoint(graph, random).lonlat
    return { role: `${role}`, lng, lat }
  })
  return snapPoints({ name: 'x', graph }, points, 5000)
}

function note(tally: Tally, places: readonly Snap[], foundMs: number | undefined, expectedMs: number): void {
  if ((foundMs ?? Number.POSITIVE_INFINITY) === expectedMs) {
    if (foundMs === undefined) tally.none++
    else tally.equal++
    return
  }
  tally.wrong++
  if (tally.wrong > MAX_TOLD) return
  const told = places.map(({ lng, lat }) => `${lng.toFixed(7)},${lat.toFixed(7)}`).join(' to ')
  console.log(`  WRONG: ${told}: found ${foundMs} ms, expected ${expectedMs}`)
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
