import type { Graph } from '../graph/graph.js'
import type { Snap } from '../graph/snap.js'
import { correctReach } from './exact-reach.js'
import { endsOf } from './link-ends.js'
import { findReachedRoads, linesOf } from './reached-roads.js'
import { type AreaPolygon, areaAlong } from './road-area.js'
import { type Searcher, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'

/** Area that can be reached from a point within a cost. */
export interface Isochrone {
  /** number of junctions reached */
  readonly junctionCount: number
  /** the surroundings of all parts of roads that are reached: see `areaAlong` */
  readonly polygons: readonly AreaPolygon[]
}

/**
 * Computes the areas that can be reached from a point: those along the roads that a route drives for at most
 * the limit, to the millisecond. A junction is reached when a route to it costs no more than that. The area of
 * a limit does not depend on the other limits. Slices: the search, then some milliseconds each.
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
  const start = endsOf(profile, from)
  const costOf = search.reach(start.sources, control, widestMs)
  throwIfStopped(control)
  // no test: only a limit makes the result undefined, which has thrown above
  if (costOf === undefined) throw new Error('the search returned no costs')
  // a copy: the next search, of another request, overwrites the costs
  const nodeMs = new Float64Array(graph.nodeCount)
  for (let node = 0; node < nodeMs.length; node++) nodeMs[node] = costOf(node)
  yield
  yield* correctReach(profile, start, nodeMs, control, widestMs)
  const reachedMs = junctionCosts(graph, from, nodeMs)
  const isochrones: Isochrone[] = []
  for (const limitMs of limitsMs) {
    yield
    const junctionCount = reachedMs.reduce((count, ms) => (ms <= limitMs ? count + 1 : count), 0)
    const roads = yield* findReachedRoads(profile, from, nodeMs, limitMs)
    const polygons = yield* areaAlong(() => linesOf(graph, from, roads))
    isochrones.push({ junctionCount, polygons })
  }
  return isochrones
}

/** Returns junction → cost of its cheapest node; 0 for a junction that the point lies on. */
function junctionCosts(graph: Graph, from: Snap, nodeMs: Float64Array): Float64Array {
  const { nodeCount, nodeJunction, junctionCount, segmentTail, segmentHead, segmentLengthMm } = graph
  const costMs = new Float64Array(junctionCount).fill(Number.POSITIVE_INFINITY)
  for (let node = 0; node < nodeCount; node++) {
    const junction = nodeJunction[node]!
    if (nodeMs[node]! < costMs[junction]!) costMs[junction] = nodeMs[node]!
  }
  for (const { segment, offsetMm } of from.points) {
    if (offsetMm === 0) costMs[segmentTail[segment]!] = 0
    if (offsetMm === segmentLengthMm[segment]!) costMs[segmentHead[segment]!] = 0
  }
  return costMs
}
