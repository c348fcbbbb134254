// One process of the hierarchy's bench: `build`, `measure` or `memory`, for one map.
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import type { Position } from '../../src/geo/types.js'
import { buildMap } from '../../src/mapbuild/build-map.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import {
  chooseKind,
  finish,
  kernelsOf,
  metricBytes,
  startCustomisation,
  startUpdate,
} from '../../src/routing/cch/customise.js'
import { depthOf, type Hierarchy, hierarchyBytes } from '../../src/routing/cch/hierarchy.js'
import { mapHierarchy } from '../../src/routing/cch/map-hierarchy.js'
import { KINDS, type Kind } from '../../src/routing/cch/metric.js'
import { coordinatesOf, rankNodes } from '../../src/routing/cch/order.js'
import { createPrepared, type Prepared, prepareNow } from '../../src/routing/cch/prepared.js'
import { createQuery, findCost } from '../../src/routing/cch/query.js'
import { createHierarchySearch } from '../../src/routing/cch/search.js'
import { costsToAll } from '../../src/routing/cch/sweep.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import type { Control, End } from '../../src/routing/search/dijkstra.js'
import { createDijkstraSearch, type LegSearch } from '../../src/routing/search/leg-search.js'
import { findMatrix } from '../../src/routing/search/matrix.js'
import type { Overlay } from '../../src/routing/search/overlay.js'
import { createProfile, type Profile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { runToEnd } from '../../src/routing/search/sliced-task.js'
import { routeTextNow } from '../../test/support/routes.js'

const [mode = '', mapFile = '', extract = '', pairCount = '100', warmFile = ''] = process.argv.slice(2)
const PAIRS = Number(pairCount)
const modes: Record<string, () => void | Promise<void>> = { build: buildIt, measure, memory }

async function buildIt(): Promise<void> {
  const startedAt = performance.now()
  const parts = await buildMap({
    input: extract,
    profile: 'car',
    country: null,
    name: 'bench',
    builtBy: 'bench',
  })
  const bytes = writeGraphFile(mapFile, parts)
  const peakMb = process.resourceUsage().maxRSS / 1024
  console.log(
    `${extract.split('/').at(-1)}: ${parts.nodeCount} nodes, ${parts.arcCount} arcs; built in ${seconds(startedAt)}, peak ${peakMb.toFixed(0)} MB, ${(bytes / 1e6).toFixed(1)} MB on disk`,
  )
}

function measure(): void {
  const startedAt = performance.now()
  const graph = loadGraphFile(mapFile)
  const loadedAt = performance.now()
  const hierarchy = mapHierarchy(graph)!
  const builtAt = performance.now()
  const free = prepare(hierarchy, createProfile(graph), 'int32')
  const [source, target] = [[{ node: 0, costMs: 0 }], [{ node: graph.nodeCount - 1, costMs: 0 }]]
  createHierarchySearch(free).one(source, target, control())
  console.log(
    `load ${ms(loadedAt - startedAt)}, hierarchy ${ms(builtAt - loadedAt)}, load to first answer ${ms(performance.now() - startedAt)}`,
  )
  printSize(graph, hierarchy)
  printCustomisation(graph, hierarchy, free)
  printSearches(graph, hierarchy, free)
  printMany(graph, free)
}

function printSize(graph: Graph, hierarchy: Hierarchy): void {
  const startedAt = performance.now()
  rankNodes(graph, coordinatesOf(graph, graph.meta.bbox))
  let triangles = 0
  let depths = 0
  for (let v = 0; v < hierarchy.nodeCount; v++) {
    const arcs = hierarchy.first[v + 1]! - hierarchy.first[v]!
    triangles += (arcs * (arcs - 1)) / 2
    depths += depthOf(hierarchy, v)
  }
  console.log(
    `order ${seconds(startedAt)}; ${hierarchy.arcCount} arcs, ${triangles} triangles, depth mean ${(depths / hierarchy.nodeCount).toFixed(0)}, max ${hierarchy.depthCount}; arrays ${mb(hierarchyBytes(hierarchy))}, a metric ${mb(metricBytes(hierarchy, 'int32'))} int32, ${mb(metricBytes(hierarchy, 'float64'))} float64`,
  )
}

function printCustomisation(graph: Graph, hierarchy: Hierarchy, free: Prepared): void {
  const rounds = graph.nodeCount < 200_000 ? 21 : 5
  for (const kind of KINDS) {
    const times = Array.from({ length: rounds }, () =>
      timeOf(() => finish(startCustomisation(hierarchy, free.weights, kind))),
    )
    console.log(`customise in full, ${kind}: ${spread(times)}`)
  }
  for (const { title, profile } of profilesOf(graph).slice(1)) {
    const kind = chooseKind(profile.weights, profile.themes)
    const first = startUpdate(graph, hierarchy, profile.weights, kind, free)
    const times = Array.from({ length: rounds }, () =>
      timeOf(() => {
        const { weights } = createProfile(graph, profile.themes)
        const job = startUpdate(graph, hierarchy, weights, kind, free)
        return finish(job ?? startCustomisation(hierarchy, weights, kind))
      }),
    )
    const priceMs = spread(
      Array.from({ length: rounds }, () => timeOf(() => createProfile(graph, profile.themes))),
    )
    console.log(
      `price and customise, ${title}, ${kind}, ${first === undefined ? 'in full' : 'repaired from free flow'}: ${spread(times)}; pricing alone ${priceMs}`,
    )
  }
}

function printSearches(graph: Graph, hierarchy: Hierarchy, free: Prepared): void {
  const plainState = createSearchState(graph.nodeCount)
  const pairs = pairsOf(graph, Math.max(PAIRS, 1000))
  for (const { title, profile } of profilesOf(graph)) {
    const { weights } = profile
    const kind = chooseKind(weights, profile.themes)
    const prepared = weights === free.weights ? free : prepare(hierarchy, profile, kind)
    const fast = createHierarchySearch(prepared)
    const plain = createDijkstraSearch(graph, weights, plainState)
    const query = createQuery(hierarchy, kernelsOf(kind))
    const queryMs: number[] = []
    const pathMs: number[] = []
    const wholeMs: number[] = []
    const plainMs: number[] = []
    for (const [source, target] of pairs) {
      queryMs.push(
        timeOf(() => findCost(hierarchy, prepared.metric, query, source, target, query.kernels.infinite)),
      )
      pathMs.push(timeOf(() => fast.one(source, target, control())))
    }
    for (const [source, target] of pairs) {
      wholeMs.push(timeOf(() => wholeAnswer(graph, profile, fast, source[0]!.node, target[0]!.node)))
    }
    let wrong = 0
    for (const [source, target] of pairs.slice(0, PAIRS)) {
      let expected: number | undefined
      plainMs.push(
        timeOf(() => {
          expected = plain.one(source, target, control())?.costMs
        }),
      )
      if (fast.one(source, target, control())?.costMs !== expected) wrong++
    }
    console.log(
      `${title.padEnd(17)} ${kind.padEnd(7)} query ${summary(queryMs)}   with path ${summary(pathMs)}   whole answer ${summary(wholeMs)}   flat Dijkstra ${summary(plainMs)}   ${wrong === 0 ? `${PAIRS} costs equal` : `${wrong} WRONG`}`,
    )
  }
}

/** Snapping, search and the answer's features, as the method makes them, without JSON. */
function wholeAnswer(graph: Graph, profile: Profile, search: LegSearch, from: number, to: number): unknown {
  const points = [from, to].map((node, i) => {
    const junction = graph.nodeJunction[node]!
    const lng = graph.junctionLngE7[junction]! / 1e7 + 0.0003
    const lat = graph.junctionLatE7[junction]! / 1e7 - 0.0002
    return { role: i === 0 ? 'start_lonlat' : 'goal_lonlat', lng, lat }
  })
  const map = { name: 'bench', graph }
  try {
    const places = snapPoints(map, points, 5000)
    return routeTextNow({ points, snaps: places, profile, searchWith: () => search, control: control() })
  } catch (error) {
    return error // a pair without a way
  }
}

function printMany(graph: Graph, free: Prepared): void {
  const search = createHierarchySearch(free)
  const ends = pairsOf(graph, 100)
  const [sources, targets] = [ends.map(([source]) => source), ends.map(([, target]) => target)]
  const tableMs = Array.from({ length: 9 }, () => timeOf(() => search.costs(sources, targets, control())))
  console.log(`costs of 100 × 100 node pairs: ${spread(tableMs)}`)
  const kernels = kernelsOf('int32')
  const sweepMs = Array.from({ length: 9 }, () =>
    timeOf(() => costsToAll(free.hierarchy, kernels, free.metric, sources[0]!)),
  )
  console.log(`costs from one node to all: ${spread(sweepMs)}`)
  const profile = createProfile(graph)
  const points = ends.map(([[end]], i) => {
    const junction = graph.nodeJunction[end!.node]!
    return {
      role: `${i}`,
      lng: graph.junctionLngE7[junction]! / 1e7,
      lat: graph.junctionLatE7[junction]! / 1e7,
    }
  })
  const map = { name: 'bench', graph }
  const places = snapPoints(map, points, 1000)
  const searcher = { profile, search, control: control() }
  const matrixMs = Array.from({ length: 5 }, () =>
    timeOf(() => runToEnd(findMatrix(searcher, places, places))),
  )
  console.log(`matrix of 100 × 100 places with times and lengths: ${spread(matrixMs)}`)
  const orderMs = Array.from({ length: 9 }, (_, i) => {
    const some = points.slice(i * 5, i * 5 + 14)
    return timeOf(() => {
      try {
        const found = snapPoints(map, some, 1000)
        return routeTextNow({
          points: some,
          snaps: found,
          profile,
          searchWith: () => search,
          control: control(),
          reorder: true,
        })
      } catch (error) {
        return error
      }
    })
  })
  console.log(`12 via points in the best order, whole answer: ${spread(orderMs)}`)
}

/** Measures the memory of serving a map, with one risk profile: resident after collection, when the code has run on another map before. */
async function memory(): Promise<void> {
  serve(warmFile)
  const before = await residentBytes()
  const { graph, searches } = serve(mapFile)
  const rss = await residentBytes()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  const peakMb = process.resourceUsage().maxRSS / 1024
  console.log(
    `resident set added by the map, free flow and one risk profile: ${mb(rss - before)} (arrays ${mb(arrayBuffers)}, of them the file ${mb(graph.fileBytes)}; heap ${mb(heapUsed)}; peak ${peakMb.toFixed(0)} MB, ${searches.length} searches held)`,
  )
}

/** Everything that the search worker holds for a map in use. */
function serve(file: string) {
  const graph = loadGraphFile(file)
  const hierarchy = mapHierarchy(graph)!
  const free = prepare(hierarchy, createProfile(graph), 'int32')
  const overlay = discsOf(graph, createRandom(11))
  const profile = createProfile(graph, [{ overlay, sensitivity: sensitivityOf(10) }])
  const job = startUpdate(graph, hierarchy, profile.weights, 'int32', free)
  const metric = finish(job ?? startCustomisation(hierarchy, profile.weights, 'int32'))
  const risky = createPrepared({ ...free, weights: profile.weights, metric })
  const searches = [free, risky].map(createHierarchySearch)
  for (const search of searches) {
    for (const [source, target] of pairsOf(graph, 1000)) {
      wholeAnswer(graph, profile, search, source[0]!.node, target[0]!.node)
    }
  }
  return { graph, searches }
}

async function residentBytes(): Promise<number> {
  const gc = (globalThis as unknown as { gc: () => void }).gc
  for (let i = 0; i < 4; i++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 100)) // buffers are given back by another thread
  }
  return process.memoryUsage().rss
}

function prepare(hierarchy: Hierarchy, { graph, weights }: Profile, kind: Kind): Prepared {
  return prepareNow({ roads: graph, hierarchy, weights }, kind)
}

/** Free flow, 5 % of the roads scattered, and about as many in discs, each at three strengths. */
function profilesOf(graph: Graph): { title: string; profile: Profile }[] {
  const random = createRandom(11)
  const area = graph.nodeCount / 60_000
  const scattered = createCellSet()
  for (let i = 0; i < 3000 * area; i++) addCell(scattered, circle(graph, random, 40, 4), 10)
  const overlays = { scattered: buildOverlay(graph, scattered), discs: discsOf(graph, random) }
  const risky = (['scattered', 'discs'] as const).flatMap((name) =>
    [1, 10, 9999].map((x) => ({
      title: `${name} x${x + 1}`,
      profile: createProfile(graph, [{ overlay: overlays[name], sensitivity: sensitivityOf(x) }]),
    })),
  )
  return [{ title: 'free flow', profile: createProfile(graph) }, ...risky]
}

function discsOf(graph: Graph, random: () => number): Overlay {
  const discs = createCellSet()
  for (let i = 0; i < (12 * graph.nodeCount) / 60_000; i++) addCell(discs, circle(graph, random, 900, 48), 10)
  return buildOverlay(graph, discs)
}

/** Only the highest level counts. */
function sensitivityOf(x: number): number[] {
  return [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x]
}

/** A regular polygon around a random junction. */
function circle(graph: Graph, random: () => number, radiusM: number, corners: number) {
  const junction = Math.floor(random() * graph.junctionCount)
  const [x, y] = [graph.junctionLngE7[junction]!, graph.junctionLatE7[junction]!]
  const { lngM, latM } = localScale(y)
  const ring = Array.from({ length: corners + 1 }, (_, i): Position => {
    const angle = ((i % corners) / corners) * 2 * Math.PI
    return [(x + (Math.cos(angle) * radiusM) / lngM) / 1e7, (y + (Math.sin(angle) * radiusM) / latM) / 1e7]
  })
  return { type: 'Polygon' as const, coordinates: [ring] }
}

function pairsOf(graph: Graph, count: number): [End[], End[]][] {
  const random = createRandom(7)
  const end = () => [{ node: Math.floor(random() * graph.nodeCount), costMs: 0 }]
  return Array.from({ length: count }, () => [end(), end()])
}

function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function control(): Control {
  return { maxSettledNodes: Number.POSITIVE_INFINITY }
}

function timeOf(work: () => unknown): number {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}

function spread(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  return `min ${sorted[0]!.toFixed(1)} median ${sorted[sorted.length >> 1]!.toFixed(1)} ms`
}

function summary(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(3)
  return `${at(0.5)} / ${at(0.95)}`
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function seconds(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(2)} s`
}

void modes[mode]?.()
