import { type ContourPolygon, contourOf, triangulate } from '../../geo/contour.js'
import type { Graph } from '../graph/graph.js'
import { localScale } from '../graph/local-scale.js'
import type { Snap } from '../graph/snap.js'
import { endsOf } from './link-ends.js'
import { type Searcher, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'

/** Area that can be reached from a point within a cost. */
export interface Isochrone {
  /** number of junctions reached */
  readonly junctionCount: number
  /** contain every junction reached and no other; degrees */
  readonly polygons: readonly ContourPolygon[]
}

/**
 * The area ends half way to a junction that is not reached, but at most this far from the last one reached.
 */
const MAX_OUT_M = 300
/** Margin around the junctions reached in which other junctions are considered, 1e-7 degree: some 2 km. */
const MARGIN_E7 = 200_000

/**
 * Computes the areas that can be reached from a point. A junction is reached when a route to it costs no more
 * than the limit, to the millisecond. Junctions at the same coordinates count as one, reached when any of
 * them is. The area of a limit does not depend on the other limits. Slices: the search, then one for each
 * limit.
 *
 * @param limitsMs integral
 * @returns one for each limit, in their order
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* findIsochrones(
  { profile, search, control }: Searcher,
  from: Snap,
  limitsMs: readonly number[],
): SlicedTask<Isochrone[]> {
  const { graph } = profile
  // one search for the widest limit answers all of them
  const widestMs = limitsMs.reduce((most, ms) => Math.max(most, ms), 0)
  const costOf = search.reach(endsOf(profile, from).sources, control, widestMs)
  throwIfStopped(control)
  // no test: only a limit makes the result undefined, which has thrown above
  if (costOf === undefined) throw new Error('the search returned no costs')
  const reachedMs = junctionCosts(graph, from, costOf)
  const isochrones: Isochrone[] = []
  for (const limitMs of limitsMs) {
    yield
    isochrones.push(drawArea(graph, reachedMs, limitMs))
  }
  return isochrones
}

/** Draws the area around the junctions that a limit reaches. */
function drawArea(graph: Graph, reachedMs: Float64Array, limitMs: number): Isochrone {
  const sites = sitesNear(graph, reachedMs, limitMs)
  const mesh = triangulate(sites.xy, MARGIN_E7)
  // four more entries: the frame around the sites, which is never in the area
  const isInner = new Uint8Array(sites.costMs.length + 4)
  sites.costMs.forEach((ms, site) => {
    isInner[site] = ms <= limitMs ? 1 : 0
  })
  const polygons = contourOf(mesh, isInner, MAX_OUT_M, lengthNear(sites.middleE7))
  const junctionCount = reachedMs.reduce((count, ms) => (ms <= limitMs ? count + 1 : count), 0)
  return { junctionCount, polygons: polygons.map(inDegrees) }
}

/** Returns junction → cost of its cheapest node; 0 for a junction that the point lies on. */
function junctionCosts(graph: Graph, from: Snap, costOf: (node: number) => number): Float64Array {
  const { nodeCount, nodeJunction, junctionCount, segmentTail, segmentHead, segmentLengthMm } = graph
  const costMs = new Float64Array(junctionCount).fill(Number.POSITIVE_INFINITY)
  for (let node = 0; node < nodeCount; node++) {
    const junction = nodeJunction[node]!
    const nodeMs = costOf(node)
    if (nodeMs < costMs[junction]!) costMs[junction] = nodeMs
  }
  for (const { segment, offsetMm } of from.points) {
    if (offsetMm === 0) costMs[segmentTail[segment]!] = 0
    if (offsetMm === segmentLengthMm[segment]!) costMs[segmentHead[segment]!] = 0
  }
  return costMs
}

/** Sites of a triangulation: coordinates of junctions, each once. */
interface Sites {
  /** lng, lat, 1e-7 degree */
  readonly xy: number[]
  /** site → cost of the cheapest junction there */
  readonly costMs: number[]
  readonly middleE7: number
}

/** Lists the junctions reached and those around them, which bound the area. */
function sitesNear(graph: Graph, reachedMs: Float64Array, limitMs: number): Sites {
  const { junctionLngE7, junctionLatE7 } = graph
  // box of the junctions reached; when there is none, no junction passes the test below
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let junction = 0; junction < reachedMs.length; junction++) {
    if (reachedMs[junction]! > limitMs) continue
    west = Math.min(west, junctionLngE7[junction]!)
    east = Math.max(east, junctionLngE7[junction]!)
    south = Math.min(south, junctionLatE7[junction]!)
    north = Math.max(north, junctionLatE7[junction]!)
  }
  const siteAt = new Map<bigint, number>()
  const xy: number[] = []
  const costMs: number[] = []
  for (let junction = 0; junction < reachedMs.length; junction++) {
    const lng = junctionLngE7[junction]!
    const lat = junctionLatE7[junction]!
    if (lng < west - MARGIN_E7 || lng > east + MARGIN_E7) continue
    if (lat < south - MARGIN_E7 || lat > north + MARGIN_E7) continue
    // the longitude above, the latitude in the lower 32 bits
    const key = (BigInt(lng) << 32n) | BigInt.asUintN(32, BigInt(lat))
    const site = siteAt.get(key)
    if (site !== undefined) {
      costMs[site] = Math.min(costMs[site]!, reachedMs[junction]!)
      continue
    }
    siteAt.set(key, costMs.length)
    xy.push(lng, lat)
    costMs.push(reachedMs[junction]!)
  }
  return { xy, costMs, middleE7: xy.length === 0 ? 0 : (south + north) / 2 }
}

function lengthNear(latE7: number): (dx: number, dy: number) => number {
  const { lngM, latM } = localScale(latE7)
  return (dx, dy) => Math.hypot(dx * lngM, dy * latM)
}

/** Contours cut 1e-7 degree into 32 parts, so that a coordinate has at most 12 decimals. */
function inDegrees(polygon: ContourPolygon): ContourPolygon {
  return polygon.map((ring) => ring.map(([x, y]) => [x / 1e7, y / 1e7]))
}
