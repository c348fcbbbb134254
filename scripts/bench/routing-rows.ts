// One process: every row of the target table that is measured while a map is served, each cost compared with layer 1.
import { rmSync } from 'node:fs'
import { isAppError } from '../../src/errors.js'
import { meshRange, meshRing } from '../../src/geo/mesh.js'
import { encodeWkb } from '../../src/geo/wkb.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCellWkb, createCellSet } from '../../src/risk/cell-set.js'
import { matrixText } from '../../src/route-answer/matrix-text.js'
import { snapChoices } from '../../src/route-engine/locate.js'
import type { LoadedMap } from '../../src/route-engine/maps.js'
import type { NamedGraph } from '../../src/routing/graph/graph.js'
import { createDijkstraSearch, type LegSearch } from '../../src/routing/search/leg-search.js'
import { findMatrix } from '../../src/routing/search/matrix.js'
import { createProfile } from '../../src/routing/search/profile.js'
import type { BlockedLeg, Route } from '../../src/routing/search/route.js'
import { createSearchState, type SearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { findTimedRoute } from '../../src/routing/search/time-dependent.js'
import type { Timeline } from '../../src/routing/search/timed-search.js'
import { ngraphRoads } from './routing-ngraph.js'
import { createOracle, endless, type Oracle, pointsOf } from './routing-oracle.js'
import {
  type Answer,
  circle,
  createRandom,
  type Kind,
  LEVEL,
  type Lonlat,
  now,
  openWorld,
  type Question,
  randomPoint,
  riskAreas,
  times,
  type World,
} from './routing-world.js'

export interface Counts {
  /** pairs that are asked under each profile */
  pairs: number
  /** of them, those whose cost layer 1 checks, and those that ngraph.path searches */
  oracle: number
  ngraph: number
  /** of what is measured some times only */
  rounds: number
}

/** One row: milliseconds measured, and how many costs were compared. */
export interface Row {
  key: string
  title: string
  ms: number[]
  /** mean CPU time of this thread for one of them: what others run beside it does not count */
  cpuMs?: number
  /** the same on layer 1, and by ngraph.path between the nodes */
  flatMs?: number[]
  ngraphMs?: number[]
  compared?: number
  wrong?: number
}

interface Pair {
  question: Question
  from: number
  to: number
}

interface Bench {
  world: World
  map: LoadedMap
  counts: Counts
  state: SearchState
  random: () => number
  pairs: Pair[]
  /** as many others, to have everything compiled before something is measured */
  others: Pair[]
  emit: (row: Row) => void
}

const AT = '2026-06-01 00:00:00+00'
/** `routing.maxSnapM`, as it is by default. */
const MAX_SNAP_M = 1000
const FACTORS = [2, 11, 10_000]
/** A virtual machine is half as quick again at one time as at another: of so many passes over all profiles each keeps its quickest. */
const PASSES = 3
const KINDS: readonly Kind[] = ['scattered', 'discs']

/** @param dataDir serves the map; tables of risk are added to it */
export async function measureRows(
  dataDir: string,
  mapName: string,
  counts: Counts,
  emit: (row: Row) => void,
): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${dataDir}/data.db${suffix}`, { force: true })
  const world = openWorld(dataDir)
  try {
    const map = world.map(mapName)
    await world.warm()
    const random = createRandom(7)
    const state = createSearchState(map.graph.nodeCount)
    const bench: Bench = { world, map, counts, state, random, pairs: [], others: [], emit }
    bench.pairs = await routablePairs(bench)
    bench.others = await routablePairs(bench)
    await seenProfiles(bench)
    await newProfiles(bench)
    await newRows(bench)
    meshOverlay(bench)
    floodOverlays(bench)
    await viaPoints(bench)
    await manyToMany(bench)
    await overTime(bench)
  } finally {
    world.close()
  }
}

/** Random pairs with a way between them, which free flow decides for all profiles. */
async function routablePairs({ world, map, counts, random }: Bench): Promise<Pair[]> {
  const pairs: Pair[] = []
  while (pairs.length < counts.pairs) {
    const [from, to] = [randomPoint(map.graph, random), randomPoint(map.graph, random)]
    const question = ask(from.lonlat, to.lonlat)
    const isFound = await world.ask(question).then(
      () => true,
      () => false,
    )
    if (isFound) pairs.push({ question, from: from.node, to: to.node })
  }
  return pairs
}

/** Free flow, and profiles that were seen before: ours, then layer 1, then ngraph.path, each left alone. */
async function seenProfiles(bench: Bench): Promise<void> {
  const { world, map, counts, random, state, pairs, others, emit } = bench
  const seen: { key: string; title: string; themes: Question['themes']; oracle: Oracle }[] = [
    { key: 'seen', title: 'free flow', themes: {}, oracle: createOracle(map, [], state) },
  ]
  for (const kind of KINDS) {
    const areas = riskAreas(map.graph, kind, random)
    await world.putCells(world.addTheme(kind), areas)
    for (const factor of FACTORS) {
      const oracle = createOracle(map, [{ polygons: areas, sensitivity: times(factor) }], state)
      seen.push({ key: 'seen', title: `${kind} ×${factor}`, themes: { [kind]: times(factor) }, oracle })
    }
  }
  const rows: Row[] = []
  const answers: number[][] = []
  for (const { key, title, themes, oracle } of seen) {
    for (const { question } of others) await world.ask({ ...question, themes }) // compiled, and the profile is seen
    const costs: number[] = []
    for (const { question } of pairs.slice(0, counts.oracle))
      costs.push(await costOf(world, oracle, { ...question, themes }))
    rows.push({ key, title, ms: [] })
    answers.push(costs)
  }
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [i, { themes }] of seen.entries()) await addPass(world, themes, pairs, rows[i]!)
  }
  for (const [i, { oracle, themes }] of seen.entries()) {
    const flatMs: number[] = []
    let wrong = 0
    for (const [at, { question }] of pairs.slice(0, counts.oracle).entries()) {
      const expected = timedNow(flatMs, () => oracle.costMs({ ...question, themes }))
      if (expected !== answers[i]![at]) wrong++
    }
    Object.assign(rows[i]!, { flatMs, compared: flatMs.length, wrong })
  }
  const roads = ngraphRoads(map.graph)
  for (const [i, { oracle }] of seen.entries()) addNgraph(bench, roads, oracle, rows[i]!)
  for (const [i, { themes, title }] of seen.entries()) {
    emit(rows[i]!)
    if (title === 'free flow' || title === LONGEST) emit(await jsonRow(bench, themes))
  }
}

/** The profile whose answers are the longest: they go round whatever they can. */
const LONGEST = `scattered ×${FACTORS.at(-1)}`

/** Asks everything once more, and keeps the times if the machine was quicker than in the passes before. */
async function addPass(world: World, themes: Question['themes'], pairs: Pair[], row: Row): Promise<void> {
  const ms: number[] = []
  const before = process.threadCpuUsage()
  for (const { question } of pairs) await timed(ms, () => world.ask({ ...question, themes }), WALL)
  const { user, system } = process.threadCpuUsage(before)
  const cpuMs = (user + system) / 1000 / pairs.length
  if (row.cpuMs === undefined || cpuMs < row.cpuMs) Object.assign(row, { ms, cpuMs })
}

/** Measures `JSON.stringify` of the answers, which are written as text at once: for scale. */
async function jsonRow({ world, pairs }: Bench, themes: Question['themes']): Promise<Row> {
  const ms: number[] = []
  let bytes = 0
  for (const { question } of pairs) {
    const text = await world.ask({ ...question, themes })
    bytes += text.length
    const answer: unknown = JSON.parse(text.toString())
    timedNow(ms, () => JSON.stringify(answer), WALL)
  }
  const kB = (bytes / pairs.length / 1000).toFixed(0)
  return { key: 'json', title: `  JSON.stringify of the same, ${kB} kB`, ms }
}

/** Node to node: it knows no places inside links. Its costs are compared with those of layer 1 between the same nodes. */
function addNgraph(bench: Bench, roads: ReturnType<typeof ngraphRoads>, oracle: Oracle, row: Row): void {
  const { pairs, counts } = bench
  const { weights } = oracle.profile
  const finder = roads.finderOf(weights)
  const ngraphMs: number[] = []
  for (const { from, to } of pairs.slice(0, counts.ngraph)) {
    const found = timedNow(ngraphMs, () => finder.find(from, to))
    const expectedMs = oracle.costs([from], [to])[0]!
    if (roads.turnsRound(found, weights)) continue // traffic must not do so there
    if (Number.isFinite(expectedMs) && roads.costOf(found, weights) !== expectedMs)
      row.wrong = (row.wrong ?? 0) + 1
    row.compared = (row.compared ?? 0) + 1
  }
  row.ngraphMs = ngraphMs
}

/**
 * A table that no answer has seen yet, under sensitivities that none has: overlay, prices, customising, answer. All tables
 * are made before: after each one SQLite reads the schema of all again.
 */
async function newProfiles(bench: Bench): Promise<void> {
  const { world, map, counts, random, state, pairs, emit } = bench
  for (const kind of KINDS) {
    const row: Row = {
      key: `new ${kind}`,
      title: `first answer, new profile, ${kind}`,
      ms: [],
      compared: 0,
      wrong: 0,
    }
    const tables: { name: string; areas: ReturnType<typeof riskAreas> }[] = []
    for (let round = 0; round < counts.rounds; round++) {
      const [name, areas] = [`${kind}_${round}`, riskAreas(map.graph, kind, random)]
      await world.putCells(world.addTheme(name), areas)
      tables.push({ name, areas })
    }
    for (const [round, { name, areas }] of tables.entries()) {
      const sensitivity = times(FACTORS[round % FACTORS.length]!)
      const question = { ...pick(pairs, random).question, themes: { [name]: sensitivity } }
      await compare(row, world, createOracle(map, [{ polygons: areas, sensitivity }], state), question)
    }
    emit(row)
  }
}

/** A table in use gets a hundredth more of cells (one disc at least); the first answer after the commit. */
async function newRows(bench: Bench): Promise<void> {
  const { world, map, counts, random, state, pairs, emit } = bench
  for (const kind of KINDS) {
    const row: Row = {
      key: `rows ${kind}`,
      title: `first answer, new rows, ${kind}`,
      ms: [],
      compared: 0,
      wrong: 0,
    }
    const areas = riskAreas(map.graph, kind, random)
    const name = `${kind}_rows`
    const table = world.addTheme(name)
    await world.putCells(table, areas)
    for (const factor of FACTORS) {
      const sensitivity = times(factor)
      const next = () => ({ ...pick(pairs, random).question, themes: { [name]: sensitivity } })
      await world.ask(next())
      for (let round = 0; round < Math.ceil(counts.rounds / FACTORS.length); round++) {
        const more = riskAreas(map.graph, kind, random, 0.01)
        areas.push(...more)
        await world.putCells(table, more)
        await compare(row, world, createOracle(map, [{ polygons: areas, sensitivity }], state), next())
      }
    }
    emit(row)
  }
}

/** 10,000 squares of the finest standard mesh, anywhere on the map, from their bytes as they are stored. */
function meshOverlay({ map, counts, random, emit }: Bench): void {
  const range = meshRange(5, map.graph.meta.bbox)
  const [columns, rows] = [range.east - range.west + 1, range.north - range.south + 1]
  const asked = Math.min(10_000, columns * rows)
  const chosen = new Set<number>()
  while (chosen.size < asked) chosen.add(Math.floor(random() * columns * rows))
  const wkbs = [...chosen].map((at) => {
    const [x, y] = [range.west + (at % columns), range.south + Math.floor(at / columns)]
    return encodeWkb({ type: 'Polygon', coordinates: [meshRing(5, x, y)] })
  })
  const row: Row = { key: 'overlay', title: `overlay of ${asked} mesh cells`, ms: [] }
  for (let round = 0; round < counts.rounds + 5; round++) {
    const ms: number[] = []
    timedNow(ms, () => {
      const cells = createCellSet()
      wkbs.forEach((wkb, i) => {
        addCellWkb(cells, wkb, 1 + (i % 10))
      })
      return buildOverlay(map.graph, cells)
    })
    if (round >= 5) row.ms.push(...ms)
  }
  emit(row)
}

/** Flood maps of many corners: twice as many polygons, or corners, may take little more than twice as long. */
function floodOverlays({ map, counts, random, emit }: Bench): void {
  for (const [polygons, corners] of [
    [1000, 200],
    [2000, 200],
    [2000, 400],
  ] as const) {
    const wkbs = Array.from({ length: polygons }, () =>
      encodeWkb(circle(map.graph, random, 100 + random() * 400, corners)),
    )
    const row: Row = { key: 'flood', title: `overlay of ${polygons} polygons of ${corners}`, ms: [] }
    for (let round = 0; round < Math.ceil(counts.rounds / 2); round++) {
      timedNow(row.ms, () => {
        const cells = createCellSet()
        for (const wkb of wkbs) addCellWkb(cells, wkb, LEVEL)
        return buildOverlay(map.graph, cells)
      })
    }
    emit(row)
  }
}

/** In the best order, under a profile that was seen before. */
async function viaPoints(bench: Bench): Promise<void> {
  const { world, map, counts, random, state, pairs, emit } = bench
  const oracle = createOracle(map, [], state)
  const row: Row = { key: 'via', title: '12 via points, best order', ms: [], compared: 0, wrong: 0 }
  for (let round = -3; round < counts.rounds; round++) {
    const [first, ...via] = draw(pairs, 13, random).map(({ question }) => question.start_lonlat)
    const { goal_lonlat } = pick(pairs, random).question
    const question = { ...ask(first!, goal_lonlat), via, reorder_waypoints: true }
    if (round < 0) await world.ask(question).catch(() => undefined)
    else await compare(row, world, oracle, question)
  }
  emit(row)
}

async function manyToMany(bench: Bench): Promise<void> {
  const { world, map, counts, pairs, random, state, emit } = bench
  const row: Row = { key: 'matrix', title: 'matrix 100 × 100', ms: [], compared: 0, wrong: 0 }
  let points: Lonlat[] = []
  let text = ''
  for (let round = -2; round < counts.rounds; round++) {
    points = Array.from({ length: 100 }, () => pick(pairs, random).question.start_lonlat)
    const ms: number[] = []
    text = await timed(ms, () => world.askMatrix(points))
    if (round >= 0) row.ms.push(...ms)
  }
  // the last one again, on layer 1
  const flat = flatMatrix(
    map,
    createDijkstraSearch(map.graph, createProfile(map.graph).weights, state),
    points,
  )
  const { costs } = JSON.parse(text) as { costs: (number | null)[][] }
  costs.flat().forEach((cost, i) => {
    row.compared = (row.compared ?? 0) + 1
    if (!isSameCost(cost, flat.costs.flat()[i] ?? null)) row.wrong = (row.wrong ?? 0) + 1
  })
  emit({ ...row, flatMs: [flat.ms] })
}

const MS_PER_HOUR = 3_600_000

/** Compares costs, hours: ways of the same integral milliseconds may differ by less than one. */
function isSameCost(one: number | null, other: number | null): boolean {
  return one === null || other === null ? one === other : Math.abs(one - other) * MS_PER_HOUR < 1
}

function flatMatrix(map: NamedGraph, search: LegSearch, points: readonly Lonlat[]) {
  const ms: number[] = []
  const { costs } = timedNow(ms, () => {
    const asked = points.map(([lng, lat], i) => ({ role: `${i}`, lng, lat }))
    const searcher = { profile: createProfile(map.graph), search, control: endless() }
    const matrices = snapChoices(map, asked, MAX_SNAP_M).map((places) =>
      runToEnd(findMatrix(searcher, places, places)),
    )
    // the nearest roads where all of them are joined, else those of the main network
    const matrix =
      matrices.find(({ costMs }) => !costMs.includes(Number.POSITIVE_INFINITY)) ?? matrices.at(-1)!
    return JSON.parse(matrixText(map.name, matrix)) as { costs: (number | null)[][] }
  })
  return { costs, ms: ms[0]! }
}

/** Departure into a risk that changes on the way: three slots of 5 minutes, discs of their own in each. */
async function overTime(bench: Bench): Promise<void> {
  const { world, map, counts, random, pairs, emit } = bench
  const table = world.addTheme('passing')
  const slots = [0, 5, 10].map((minute) =>
    riskAreas(map.graph, 'discs', random).map((area) => ({ minute, area })),
  )
  for (const cells of slots) {
    const minute = cells[0]!.minute
    const end = minute === 10 ? null : timeAt(minute + 5)
    const areas = cells.map(({ area }) => area)
    await world.putCells(table, areas, [minute === 0 ? null : timeAt(minute), end])
  }
  const sensitivity = times(11)
  const profiles = slots.map(
    (cells) => createOracle(map, [{ polygons: cells.map(({ area }) => area), sensitivity }]).profile,
  )
  const timetable: Timeline = {
    slotStartMs: [0, 300_000, 600_000],
    profileOf: (slot) => profiles[slot]!,
  }
  const row: Row = {
    key: 'timed',
    title: 'over time, three slots',
    ms: [],
    flatMs: [],
    compared: 0,
    wrong: 0,
  }
  const asked = pairs.slice(0, counts.oracle).map(({ question }) => ({
    ...question,
    themes: { passing: sensitivity },
    depart: 'time_dependent' as const,
  }))
  for (const question of asked.slice(0, 50)) await world.ask(question)
  for (const question of asked) {
    const answer = JSON.parse(String(await timed(row.ms, () => world.ask(question)))) as Answer
    const flatOf = (timeline: Timeline) =>
      snapChoices(map, pointsOf(question), MAX_SNAP_M)
        .map((places) => runToEnd(findTimedRoute(timeline, places, endless())))
        .find((route) => !('blockedLeg' in route))
    const flat = timedNow(row.flatMs!, () => flatOf(timetable))
    const guided = flatOf({ ...timetable, potentialTo: (targets) => world.potentialTo(map, targets) })
    // a link's cost is rounded to a millisecond in the search, not in the answer
    const slackMs = answer.geojson.features.length / 2 + 1
    const [flatMs, guidedMs] = [flat, guided].map((route) => costOfRoute(route))
    const isRight = guidedMs === flatMs && Math.abs(answer.total_cost * 3_600_000 - flatMs!) <= slackMs
    row.compared!++
    if (!isRight) row.wrong!++
  }
  emit(row)
}

function costOfRoute(route: Route | BlockedLeg | undefined): number {
  return route === undefined || 'blockedLeg' in route ? Number.POSITIVE_INFINITY : route.costMs
}

function timeAt(minute: number): string {
  return `2026-06-01 00:${String(minute).padStart(2, '0')}:00+00`
}

/** Asks once, measured, and once more on layer 1: both may find that there is no way, and then nothing is measured. */
async function compare(row: Row, world: World, oracle: Oracle, question: Question): Promise<void> {
  const ms: number[] = []
  const flatMs: number[] = []
  const before = process.threadCpuUsage()
  const text = await timed(ms, () => world.ask(question)).catch(noRoute)
  addCpu(row, before)
  const foundMs =
    text === undefined
      ? Number.POSITIVE_INFINITY
      : oracle.answerMs(question, JSON.parse(text.toString()) as Answer)
  const expectedMs = timedNow(flatMs, () => oracle.costMs(question))
  row.ms.push(...ms)
  row.flatMs = [...(row.flatMs ?? []), ...flatMs]
  row.compared = (row.compared ?? 0) + 1
  if (foundMs !== expectedMs) row.wrong = (row.wrong ?? 0) + 1
}

/** Keeps the mean over the times that were compared. */
function addCpu(row: Row, before: NodeJS.CpuUsage): void {
  const { user, system } = process.threadCpuUsage(before)
  const count = row.compared ?? 0
  row.cpuMs = ((row.cpuMs ?? 0) * count + (user + system) / 1000) / (count + 1)
}

/** Takes a missing way for an answer, no other error. */
function noRoute(error: unknown): undefined {
  if (!isAppError(error) || error.errorName !== 'NO_ROUTE') throw error
}

async function costOf(world: World, oracle: Oracle, question: Question): Promise<number> {
  return oracle.answerMs(question, JSON.parse(String(await world.ask(question))) as Answer)
}

function ask(start_lonlat: Lonlat, goal_lonlat: Lonlat): Question {
  return { start_lonlat, goal_lonlat, start_datetime: AT, themes: {} }
}

/** Different ones: between equal places there is nothing to drive. */
function draw<T>(items: readonly T[], count: number, random: () => number): T[] {
  const drawn = new Set<T>()
  while (drawn.size < Math.min(count, items.length)) drawn.add(pick(items, random))
  return [...drawn]
}

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)]!
}

/** For what takes less than a tick of the clock of CPU time. */
const WALL = () => performance.now()

async function timed<T>(ms: number[], work: () => Promise<T>, clock = now): Promise<T> {
  const startedAt = clock()
  const result = await work()
  ms.push(clock() - startedAt)
  return result
}

function timedNow<T>(ms: number[], work: () => T, clock = now): T {
  const startedAt = clock()
  const result = work()
  ms.push(clock() - startedAt)
  return result
}
