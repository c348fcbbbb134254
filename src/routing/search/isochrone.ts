import { type ContourPolygon, contourOf, meshOf } from '../../geo/contour.js'
import type { Graph } from '../graph/graph.js'
import { localScale } from '../graph/local-scale.js'
import type { Place } from '../graph/snap.js'
import { endsOf } from './leg.js'
import { type Searcher, stopped } from './route.js'
import type { Sliced } from './sliced.js'

/** What can be reached from a place within a cost. */
export interface Isochrone {
  /** junctions reached */
  readonly junctionCount: number
  /** hold every junction reached and no other one; degrees */
  readonly polygons: readonly ContourPolygon[]
}

/** Towards roads that are not reached the area ends half way, but no farther than this from the last junction. */
const MAX_OUT_M = 300
/** Junctions so near to those reached are looked at, 1e-7 degree: some 2 km. */
const MARGIN_E7 = 200_000

/**
 * Areas that can be reached from a place. Reached is a junction when a route to it costs no more than the limit: the same
 * cost that routes have, to the millisecond. Junctions at the same coordinates are one: reached when one of them is.
 *
 * @param limitsMs integral
 * @returns one a limit, in their order
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* findIsochrones(
  { profile, search, control }: Searcher,
  place: Place,
  limitsMs: readonly number[],
): Sliced<Isochrone[]> {
  const { graph } = profile
  const widestMs = limitsMs.reduce((most, ms) => Math.max(most, ms), 0)
  const costOf = search.reach(endsOf(profile, place).sources, control, widestMs)
  if (costOf === undefined) throw stopped(control)
  const reachedMs = junctionCosts(graph, place, costOf)
  yield
  const sites = sitesNear(graph, reachedMs, widestMs)
  const mesh = meshOf(sites.xy, MARGIN_E7)
  const isochrones: Isochrone[] = []
  for (const limitMs of limitsMs) {
    yield
    const isInner = new Uint8Array(sites.costMs.length + 4)
    sites.costMs.forEach((ms, site) => {
      isInner[site] = ms <= limitMs ? 1 : 0
    })
    const polygons = contourOf(mesh, isInner, MAX_OUT_M, lengthNear(sites.middleE7))
    const junctionCount = reachedMs.reduce((count, ms) => (ms <= limitMs ? count + 1 : count), 0)
    isochrones.push({ junctionCount, polygons: polygons.map(inDegrees) })
  }
  return isochrones
}

/** A junction costs what its cheapest state costs; one that the place lies on costs nothing. */
function junctionCosts(graph: Graph, place: Place, costOf: (node: number) => number): Float64Array {
  const { nodeCount, nodeJunction, junctionCount, segmentTail, segmentHead, segmentLengthMm } = graph
  const costMs = new Float64Array(junctionCount).fill(Number.POSITIVE_INFINITY)
  for (let node = 0; node < nodeCount; node++) {
    const junction = nodeJunction[node]!
    const nodeMs = costOf(node)
    if (nodeMs < costMs[junction]!) costMs[junction] = nodeMs
  }
  for (const { segment, offsetMm } of place.positions) {
    if (offsetMm === 0) costMs[segmentTail[segment]!] = 0
    if (offsetMm === segmentLengthMm[segment]!) costMs[segmentHead[segment]!] = 0
  }
  return costMs
}

/** Places of junctions, each once. */
interface Sites {
  /** lng, lat, 1e-7 degree */
  readonly xy: number[]
  /** of the cheapest junction there */
  readonly costMs: number[]
  readonly middleE7: number
}

/** What is reached, and what lies round it: the area ends before that does. */
function sitesNear(graph: Graph, reachedMs: Float64Array, limitMs: number): Sites {
  const { junctionLngE7, junctionLatE7 } = graph
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

/** Cuts of 1e-7 degree by 32 have at most 12 decimals, and so many are sent. */
function inDegrees(polygon: ContourPolygon): ContourPolygon {
  return polygon.map((ring) => ring.map(([x, y]) => [x / 1e7, y / 1e7]))
}
