import type { RequestPoint } from '../../src/route-answer/request-point.js'
import { snapPoints } from '../../src/route-engine/locate.js'
import type { Control, Weights } from '../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import type { Overlay, ThemeRisk } from '../../src/routing/search/overlay.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { makeGraph, type Network, type Restriction } from './make-graph.js'
import { seeded } from './random-graph.js'
import { type RouteAnswer, type RouteQuestion, routeTextNow } from './routes.js'

const STEP = 0.002

/**
 * A town of `size` × `size` crossings, 143 m and 222 m apart at 50° N: two-way streets at 50 km/h, named by
 * row and column. Crossing (x, y) is junction `y * size + x`; streets to the east come first, then those to
 * the north.
 */
export function town(size = 5, restrictions: Restriction[] = []): Network {
  const junctions: [number, number][] = []
  const roads: Network['roads'] = []
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) junctions.push([10 + x * STEP, 50 + y * STEP])
  for (let y = 0; y < size; y++) {
    for (let x = 0; x + 1 < size; x++) {
      roads.push({ from: y * size + x, to: y * size + x + 1, speed: [50, 50], name: `Row ${y} & <Co>` })
    }
  }
  for (let y = 0; y + 1 < size; y++) {
    for (let x = 0; x < size; x++) {
      roads.push({ from: y * size + x, to: (y + 1) * size + x, speed: [50, 50], name: `Column ${x}` })
    }
  }
  return { junctions, roads, restrictions }
}

/** Streets of different speeds, so that few paths cost the same. */
export function unevenTown(size: number): Network {
  const random = seeded(9)
  const network = town(size)
  const roads = network.roads.map((road) => {
    const speed = 20 + Math.floor(random() * 600) / 10
    return { ...road, speed: [speed, random() < 0.15 ? 0 : speed] as [number, number] }
  })
  return { ...network, roads }
}

/** Coordinates of a crossing, or of a point between crossings. */
export function at(x: number, y: number): [number, number] {
  return [Math.round((10 + x * STEP) * 1e7) / 1e7, Math.round((50 + y * STEP) * 1e7) / 1e7]
}

/** Answers a request on a network; what is absent has its default. */
export function ask(
  network: Network,
  request: {
    points: [number, number][]
    wishes?: Pick<Partial<RouteQuestion>, 'reorder' | 'alternatives' | 'withKml' | 'shape'>
    themes?: ThemeRisk[]
    closed?: Overlay
    control?: Control
  },
): RouteAnswer {
  return JSON.parse(askText(network, request)) as RouteAnswer
}

/** Answers a request on a network as JSON text. */
export function askText(network: Network, request: Parameters<typeof ask>[1]): string {
  const graph = makeGraph(network)
  const points = asked(request.points)
  const state = createSearchState(graph.nodeCount)
  return routeTextNow({
    points,
    snaps: snapPoints({ name: 'town', graph }, points, 1000),
    profile: createProfile(graph, request.themes, request.closed),
    searchWith: (weights: Weights) => createDijkstraSearch(graph, weights, state),
    control: request.control ?? { maxSettledNodes: 1e9 },
    ...request.wishes,
  })
}

/** Returns points under the names that they have in a request. */
export function asked(points: readonly [number, number][]): RequestPoint[] {
  return points.map(([lng, lat], i) => ({
    role: i === 0 ? 'start_lonlat' : i === points.length - 1 ? 'goal_lonlat' : `via[${i - 1}]`,
    lng,
    lat,
  }))
}
