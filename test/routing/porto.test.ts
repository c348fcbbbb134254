// Not counted: its loops are long, and shorter tests take the same branches (scripts/test/load-typescript.mjs)
import t from 'tap'
import { isAppError } from '../../src/errors.js'
import type { Bbox, Position } from '../../src/geo/types.js'
import { buildOverlay } from '../../src/risk/build-overlay.js'
import { addCell, createCellSet } from '../../src/risk/cell-set.js'
import type { RouteFeature } from '../../src/route-answer/features.js'
import type { RequestPoint } from '../../src/route-answer/request-point.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import type { Weights } from '../../src/routing/search/dijkstra.js'
import { directLeg } from '../../src/routing/search/leg.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { endsOf } from '../../src/routing/search/link-ends.js'
import { findSegment, type Overlay } from '../../src/routing/search/overlay.js'
import { createProfile, type Profile } from '../../src/routing/search/profile.js'
import { findRoute } from '../../src/routing/search/route.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { linkDijkstra } from '../support/link-dijkstra.js'
import { missingPorto, portoGraph } from '../support/real-map.js'
import { type RouteAnswer, routeNow, routeTextNow } from '../support/routes.js'
import { throwsWith } from '../support/throws.js'

/** The long form: FIELDGATE_TEST_PAIRS=1000. */
const PAIRS = Number(process.env.FIELDGATE_TEST_PAIRS ?? 20)
const SENSITIVITY = [0, 0.5, 1, 2, 3, 5, 10, 20, 100, 1000, 9999]

interface Hazard {
  title: string
  /** rings of a level each */
  cells: { ring: Position[]; box: Bbox; level: number }[]
}

t.test(
  'Porto: answers have the costs of the oracle, and their links add up',
  { skip: missingPorto },
  async (t) => {
    const graph = await portoGraph()
    const random = createRandom(5)
    const hazards = [{ title: 'no risk', cells: [] }, discs(graph, random), scattered(graph, random)]
    const pairs = placedPairs(graph, random)
    for (const hazard of hazards) {
      t.same(wrongAnswers(graph, hazard, pairs), [], `${hazard.title}: ${PAIRS} pairs`)
    }
  },
)

t.test('Porto: a search stops when its caller has disconnected', { skip: missingPorto }, async (t) => {
  const graph = await portoGraph()
  const profile = createProfile(graph)
  const state = createSearchState(graph.nodeCount)
  const cancel = new Int32Array(new SharedArrayBuffer(4)).fill(1)
  const search = createDijkstraSearch(graph, profile.weights, state)
  const [west, south, east, north] = graph.meta.bbox
  const points = [
    { role: 'start_lonlat', lng: west * 0.6 + east * 0.4, lat: south * 0.8 + north * 0.2 },
    { role: 'goal_lonlat', lng: west * 0.5 + east * 0.5, lat: south * 0.4 + north * 0.6 },
  ]
  const places = snapPoints({ name: 'porto', graph }, points, 5000)
  throwsWith(
    t,
    () => routeNow(findRoute({ profile, search, control: { cancel, maxSettledNodes: 1e9 } }, places)),
    'CANCELLED',
  )
  t.ok(state.settledCount < 10_000, `stopped after ${state.settledCount} nodes`)
})

/** Lists the faults of the answers under a hazard. */
function wrongAnswers(
  graph: Graph,
  hazard: Hazard,
  pairs: { points: RequestPoint[]; places: Snap[] }[],
): string[] {
  const cells = createCellSet()
  for (const { ring, level } of hazard.cells) addCell(cells, { type: 'Polygon', coordinates: [ring] }, level)
  const overlay = buildOverlay(graph, cells)
  const profile = createProfile(graph, [{ overlay, sensitivity: SENSITIVITY }])
  const closed = createProfile(graph, [], dangerous(overlay))
  const costs = Float64Array.from({ length: graph.arcCount }, (_, arc) => arcMs(graph, overlay, arc))
  const state = createSearchState(graph.nodeCount)
  const searchWith = (weights: Weights) => createDijkstraSearch(graph, weights, state)
  return pairs.flatMap(({ points, places }, i) => {
    const answer = JSON.parse(routeTextNow({ points, snaps: places, profile, searchWith })) as RouteAnswer
    const { features } = answer.geojson as { features: RouteFeature[] }
    const faults: string[] = []
    const expectedMs = oracleMs(profile, costs, places)
    // a link's cost is rounded to a millisecond in the search, not in the answer
    const slackH = (features.length + 2) / 3_600_000
    if (Math.abs(answer.total_cost - expectedMs / 3_600_000) > slackH) {
      faults.push(`${i}: total_cost ${answer.total_cost}, the oracle finds ${expectedMs / 3_600_000}`)
    }
    const { hours, slack } = sumByWalking(features, hazard)
    if (Math.abs(hours - answer.total_cost) > slack + 1e-6 * hours) {
      faults.push(
        `${i}: total_cost ${answer.total_cost}, its lines through the cells give ${hours} ± ${slack}`,
      )
    }
    if (answer.max_risk === 10) {
      const safeMs = oracleMs(
        closed,
        Float64Array.from(closed.weights, (ms) => (ms < 0 ? Infinity : ms)),
        places,
      )
      if (safeMs < answer.total_cost * 3_600_000) faults.push(`${i}: enters level 10, which could be avoided`)
    }
    return faults
  })
}

/** Returns the least cost by the plain search, or of the direct leg within one link. */
function oracleMs(profile: Profile, costs: Float64Array, [from, to]: Snap[]): number {
  const start = endsOf(profile, from!)
  const goal = endsOf(profile, to!)
  const aheadMs = directLeg(profile, start, goal)?.costMs ?? Number.POSITIVE_INFINITY
  return Math.min(
    aheadMs,
    linkDijkstra(profile.graph, (arc) => costs[arc]!, start.sources, goal.targets),
  )
}

/** Returns the cost of a whole link by the documented formula, from the pieces of the overlay. */
function arcMs(graph: Graph, overlay: Overlay, arc: number): number {
  const link = graph.arcLink[arc]!
  const at = findSegment(overlay, link >> 1)
  let weightedMm = graph.segmentLengthMm[link >> 1]!
  if (at >= 0) {
    weightedMm = 0
    for (let piece = overlay.firstPiece[at]!, fromMm = 0; piece < overlay.firstPiece[at + 1]!; piece++) {
      weightedMm += (overlay.pieceEndMm[piece]! - fromMm) * (1 + SENSITIVITY[overlay.pieceLevel[piece]!]!)
      fromMm = overlay.pieceEndMm[piece]!
    }
  }
  const has = (flag: number) => (graph.linkFlags[link]! & flag) !== 0
  const uTurnMs = has(LINK_FLAG.AFTER_U_TURN) ? 27_500 : 0
  const entryMs = has(LINK_FLAG.PRIVATE) && has(LINK_FLAG.FROM_PUBLIC) ? 450_000 : 0
  return Math.round((weightedMm * 36) / graph.linkSpeed[link]!) + uTurnMs + entryMs
}

/** Level 10 as closed pieces, the rest open. */
function dangerous(overlay: Overlay): Overlay {
  return { ...overlay, pieceLevel: overlay.pieceLevel.map((level) => (level === 10 ? 10 : 0)) }
}

/**
 * Sums up the hours of an answer from its lines and the cells, without overlay and pieces. `slack` bounds the
 * effect of rounding each border to a millimetre.
 */
function sumByWalking(
  features: readonly RouteFeature[],
  { cells }: Hazard,
): { hours: number; slack: number } {
  let hours = 0
  let slack = 1e-9
  for (const { geometry, properties } of features) {
    const line = geometry.coordinates
    const lengths = line.slice(1).map((corner, i) => metres(line[i]!, corner))
    const total = lengths.reduce((sum, length) => sum + length, 0)
    if (total === 0) continue
    const lineBox = boxOf(line)
    const near = cells.filter(({ box }) => touches(box, lineBox))
    const highest = SENSITIVITY[Math.max(0, ...near.map((cell) => cell.level))]!
    for (const [i, length] of lengths.entries()) {
      const [a, b] = [line[i]!, line[i + 1]!]
      const cuts = [0, ...near.flatMap(({ ring }) => crossings(ring, a, b)), 1].sort((x, y) => x - y)
      for (let cut = 0; cut + 1 < cuts.length; cut++) {
        const middle = (cuts[cut]! + cuts[cut + 1]!) / 2
        const here: [number, number] = [a[0] + (b[0] - a[0]) * middle, a[1] + (b[1] - a[1]) * middle]
        const level = Math.max(0, ...near.map((cell) => (isInside(cell.ring, here) ? cell.level : 0)))
        const km = (((cuts[cut + 1]! - cuts[cut]!) * length) / total) * (properties.length / 1000)
        hours += (km / properties.speed) * (1 + SENSITIVITY[level]!)
      }
      // a corner of an answer is on the road to 1e-7 degree: 8 mm where a route is cut
      slack += ((cuts.length * 9e-6) / properties.speed) * highest
    }
  }
  return { hours, slack }
}

/** Lists the crossings of a straight line with a ring, as shares of the line. */
function crossings(ring: readonly Position[], a: readonly number[], b: readonly number[]): number[] {
  const [dx, dy] = [b[0]! - a[0]!, b[1]! - a[1]!]
  return ring.slice(1).flatMap((to, i) => {
    const from = ring[i]!
    const [ex, ey] = [to[0] - from[0], to[1] - from[1]]
    const across = dx * ey - dy * ex
    if (across === 0) return []
    const share = ((from[0] - a[0]!) * ey - (from[1] - a[1]!) * ex) / across
    const along = ((from[0] - a[0]!) * dy - (from[1] - a[1]!) * dx) / across
    return share > 0 && share < 1 && along >= 0 && along <= 1 ? [share] : []
  })
}

function discs(graph: Graph, random: () => number): Hazard {
  return {
    title: 'discs',
    cells: Array.from({ length: 12 }, (_, i) => around(graph, random, 900, 48, [10, 9, 6][i % 3]!)),
  }
}

function scattered(graph: Graph, random: () => number): Hazard {
  return {
    title: 'scattered cells',
    cells: Array.from({ length: 3000 }, (_, i) => around(graph, random, 50, 4, (i % 10) + 1)),
  }
}

/** A regular polygon around a random junction. */
function around(graph: Graph, random: () => number, radiusM: number, corners: number, level: number) {
  const junction = Math.floor(random() * graph.junctionCount)
  const [x, y] = [graph.junctionLngE7[junction]!, graph.junctionLatE7[junction]!]
  const { lngM, latM } = localScale(y)
  const ring = Array.from({ length: corners + 1 }, (_, i): Position => {
    const angle = (((i % corners) + 0.5) / corners) * 2 * Math.PI
    return [(x + (Math.cos(angle) * radiusM) / lngM) / 1e7, (y + (Math.sin(angle) * radiusM) / latM) / 1e7]
  })
  return { ring, box: boxOf(ring), level }
}

/** Draws pairs of points near roads, with a route between them. */
function placedPairs(graph: Graph, random: () => number): { points: RequestPoint[]; places: Snap[] }[] {
  const [west, south, east, north] = graph.meta.bbox
  const map = { name: 'porto', graph }
  const free = createProfile(graph)
  const search = createDijkstraSearch(graph, free.weights, createSearchState(graph.nodeCount))
  const pairs: { points: RequestPoint[]; places: Snap[] }[] = []
  while (pairs.length < PAIRS) {
    const points = ['start_lonlat', 'goal_lonlat'].map((role) => ({
      role,
      lng: west + random() * (east - west),
      lat: south + random() * (north - south),
    }))
    try {
      const places = snapPoints(map, points, 1000)
      const [from, to] = places.map((place) => endsOf(free, place))
      if (search.one(from!.sources, to!.targets, { maxSettledNodes: 1e9 }) !== undefined)
        pairs.push({ points, places })
    } catch (error) {
      if (!isAppError(error)) throw error
    }
  }
  return pairs
}

function metres(a: readonly number[], b: readonly number[]): number {
  const { lngM, latM } = localScale(((a[1]! + b[1]!) / 2) * 1e7)
  return Math.hypot((b[0]! - a[0]!) * 1e7 * lngM, (b[1]! - a[1]!) * 1e7 * latM)
}

function touches([west, south, east, north]: Bbox, [w, s, e, n]: Bbox): boolean {
  return w <= east && s <= north && e >= west && n >= south
}

function boxOf(line: readonly (readonly number[])[]): Bbox {
  const [lngs, lats] = [line.map((corner) => corner[0]!), line.map((corner) => corner[1]!)]
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
}

function isInside(ring: readonly Position[], [x, y]: [number, number]): boolean {
  let inside = false
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1]!
    const [bx, by] = ring[i]!
    if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside
  }
  return inside
}

/** Numbers in [0, 1) from a seed. @see G. Marsaglia, "Xorshift RNGs", 2003 */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
