import { type PreparedArea, prepareArea } from '../geo/prepared-area.js'
import type { Geometry } from '../geo/types.js'
import { onDifferentMaps, outsideArea, tooFarFromRoad, unknownMap } from '../route-answer/errors.js'
import type { RequestPoint } from '../route-answer/request-point.js'
import type { GraphMeta, MapPlace, NamedGraph } from '../routing/graph/graph.js'
import { type NearRoads, type Snap, snapNear } from '../routing/graph/snap.js'

/**
 * Chooses the map of a request: by name, else the first one whose area contains all its points.
 *
 * @param maps in the order of their names
 * @throws AppError UNKNOWN_MAP, OUTSIDE_MAP for the first point that no area contains
 */
export function chooseMap<M extends MapPlace>(
  maps: readonly M[],
  name: string | undefined,
  points: readonly RequestPoint[],
): M {
  if (name !== undefined || maps.length === 0) {
    const named = maps.find((map) => map.name === name)
    if (named !== undefined) return named
    throw unknownMap(name, maps)
  }
  for (const map of maps) {
    if (points.every((point) => isInArea(map, point))) return map
  }
  const outside = points.find((point) => !maps.some((map) => isInArea(map, point)))
  throw outside === undefined ? differentMaps(maps, points) : outsideArea(outside, maps)
}

/**
 * Snaps the points of a request to the roads of a map, in the ways that are to be tried one after another
 * until they are joined by routes: each point to the nearest road; then, where some of those roads are not
 * part of the main network, each to the nearest road that is.
 *
 * @returns one or two lists
 * @throws AppError OUTSIDE_MAP for the first point that cannot be snapped
 */
export function snapChoices(map: NamedGraph, points: readonly RequestPoint[], maxSnapM: number): Snap[][] {
  const near = points.map((point) => nearRoads(map, point, maxSnapM))
  const nearest = near.map((roads) => roads.nearest)
  const preferred = near.map(onMainNetwork)
  return nearest.every((snap, i) => snap === preferred[i]) ? [nearest] : [nearest, preferred]
}

/**
 * Snaps points to the main network, or to other roads where it is out of reach.
 *
 * @throws AppError OUTSIDE_MAP for the first that cannot be snapped
 */
export function snapPoints(map: NamedGraph, points: readonly RequestPoint[], maxSnapM: number): Snap[] {
  return points.map((point) => snapPoint(map, point, maxSnapM))
}

/**
 * Snaps a point to the main network, or to another road where there is none within reach.
 *
 * @param maxSnapM greatest distance to a drivable road
 * @throws AppError OUTSIDE_MAP when the point lies outside the map's area, or too far from a road
 */
export function snapPoint(map: NamedGraph, point: RequestPoint, maxSnapM: number): Snap {
  return onMainNetwork(nearRoads(map, point, maxSnapM))
}

function nearRoads(map: NamedGraph, point: RequestPoint, maxSnapM: number): NearRoads {
  const place = { name: map.name, meta: map.graph.meta }
  if (!isInArea(place, point)) throw outsideArea(point, [place])
  const found = snapNear(map.graph, point.lng, point.lat, maxSnapM)
  if (found === undefined) throw tooFarFromRoad(place, point, maxSnapM)
  return found
}

function onMainNetwork({ nearest, main }: NearRoads): Snap {
  return main === undefined || main === nearest ? nearest : { ...main, passedOver: nearest }
}

/** Each point lies on some map: finds the first that is not on the map of the first point. */
function differentMaps(maps: readonly MapPlace[], points: readonly RequestPoint[]): Error {
  const first = points[0]
  const map = maps.find((each) => first !== undefined && isInArea(each, first))
  const other = points.find((point) => map !== undefined && !isInArea(map, point))
  if (first === undefined || map === undefined || other === undefined)
    return new Error('one map contains all points')
  return onDifferentMaps(other, { map, point: first }, maps)
}

/** The border counts as inside. */
function isInArea({ meta }: MapPlace, { lng, lat }: RequestPoint): boolean {
  let area = areas.get(meta)
  if (area === undefined) {
    area = prepareArea(meta.area as Geometry) // `map build` writes GeoJSON there, and `checkGraph` its type
    areas.set(meta, area)
  }
  return area.intersectsPoint(lng, lat)
}

const areas = new WeakMap<GraphMeta, PreparedArea>()
