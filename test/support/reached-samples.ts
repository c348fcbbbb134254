import { cornerOffsets, readLine } from '../../src/routing/graph/geometry.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import type { Snap } from '../../src/routing/graph/snap.js'
import { searchMany } from '../../src/routing/search/dijkstra.js'
import { directLeg } from '../../src/routing/search/leg.js'
import { endsOf } from '../../src/routing/search/link-ends.js'
import type { Profile } from '../../src/routing/search/profile.js'
import { createSearchState, isSettled } from '../../src/routing/search/search-state.js'

/** A point on a road, and the cost of the cheapest route there; degrees. */
export interface RoadSample {
  readonly lng: number
  readonly lat: number
  readonly costMs: number
  readonly isFerry: boolean
}

/**
 * Lists points along all roads, at most some metres apart, each with what a route to it costs, searched with flat
 * Dijkstra for that point as a goal.
 *
 * @param stepM distance of neighbouring points
 */
export function roadSamples(profile: Profile, from: Snap, stepM: number): RoadSample[] {
  const { graph } = profile
  const nodeMs = reachAll(profile, from)
  const start = endsOf(profile, from)
  const samples: RoadSample[] = []
  const line: number[] = []
  const offsets: number[] = []
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    readLine(graph, segment, line)
    const lengthMm = graph.segmentLengthMm[segment]!
    cornerOffsets(line, lengthMm, offsets)
    const flags = graph.linkFlags[segment * 2]! | graph.linkFlags[segment * 2 + 1]!
    const steps = Math.max(1, Math.ceil(lengthMm / 1000 / stepM))
    for (let step = 0; step <= steps; step++) {
      const offsetMm = Math.round((lengthMm * step) / steps)
      let corner = 0
      while (corner + 2 < offsets.length && offsets[corner + 1]! <= offsetMm) corner++
      const share = (offsetMm - offsets[corner]!) / Math.max(1e-9, offsets[corner + 1]! - offsets[corner]!)
      const at = corner * 2
      const lngE7 = line[at]! + (line[at + 2]! - line[at]!) * share
      const latE7 = line[at + 1]! + (line[at + 3]! - line[at + 1]!) * share
      const points = [{ segment, corner, fraction: share, offsetMm, lngE7, latE7 }]
      const goal = endsOf(profile, { lng: lngE7 / 1e7, lat: latE7 / 1e7, distanceM: 0, points })
      let costMs = directLeg(profile, start, goal)?.costMs ?? Number.POSITIVE_INFINITY
      for (const target of goal.targets) costMs = Math.min(costMs, nodeMs[target.node]! + target.costMs)
      samples.push({ lng: lngE7 / 1e7, lat: latE7 / 1e7, costMs, isFerry: (flags & LINK_FLAG.FERRY) !== 0 })
    }
  }
  return samples
}

/** Node → cost of the cheapest path, flat Dijkstra. */
export function reachAll(profile: Profile, from: Snap): number[] {
  const { graph, weights } = profile
  const state = createSearchState(graph.nodeCount)
  const { sources } = endsOf(profile, from)
  searchMany({ topology: graph, weights, state }, sources, [], { maxSettledNodes: 1e9 })
  return Array.from(state.costMs, (ms, node) => (isSettled(state, node) ? ms : Number.POSITIVE_INFINITY))
}

/**
 * Returns a function that tells the distance to the nearest of some points, metres, as far as they are within a
 * radius; Infinity beyond it.
 */
export function nearestOf(
  points: readonly Pick<RoadSample, 'lng' | 'lat'>[],
  { meta }: Graph,
  radiusM: number,
): (lng: number, lat: number) => number {
  const { lngM, latM } = localScale(((meta.bbox[1] + meta.bbox[3]) / 2) * 1e7)
  const planar = (lng: number, lat: number) => [lng * 1e7 * lngM, lat * 1e7 * latM] as const
  const cells = new Map<string, (readonly [number, number])[]>()
  const keyOf = (x: number, y: number) => `${Math.floor(x / radiusM)} ${Math.floor(y / radiusM)}`
  for (const { lng, lat } of points) {
    const point = planar(lng, lat)
    const known = cells.get(keyOf(...point))
    if (known === undefined) cells.set(keyOf(...point), [point])
    else known.push(point)
  }
  return (lng, lat) => {
    const [x, y] = planar(lng, lat)
    let nearest = Number.POSITIVE_INFINITY
    for (const dx of [-radiusM, 0, radiusM]) {
      for (const dy of [-radiusM, 0, radiusM]) {
        for (const [px, py] of cells.get(keyOf(x + dx, y + dy)) ?? [])
          nearest = Math.min(nearest, Math.hypot(px - x, py - y))
      }
    }
    return nearest <= radiusM ? nearest : Number.POSITIVE_INFINITY
  }
}
