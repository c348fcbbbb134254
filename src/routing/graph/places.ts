import { AppError } from '../../errors.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import type { Geometry } from '../../geo/types.js'
import type { Graph, GraphMeta } from './graph.js'
import { type Place, snap } from './snap.js'

/** A point of a request as it was written, and what it is there. */
export interface AskedPoint {
  /** `start_lonlat`, `via[3]`: for messages */
  readonly role: string
  readonly lng: number
  readonly lat: number
}

/** A map that is served. */
export interface NamedGraph {
  readonly name: string
  readonly graph: Graph
}

/**
 * The map that a request asks for: by name, else the first one whose area holds all its points.
 *
 * @param maps in the order of their names
 * @throws AppError UNKNOWN_MAP, OUTSIDE_MAP for the first point that no area holds
 */
export function chooseMap<M extends NamedGraph>(
  maps: readonly M[],
  name: string | undefined,
  points: readonly AskedPoint[],
): M {
  const known = maps.map((map) => map.name)
  if (name !== undefined || maps.length === 0) {
    const named = maps.find((map) => map.name === name)
    if (named !== undefined) return named
    const found =
      name === undefined ? 'No map is served yet' : `Found map ${JSON.stringify(name.slice(0, 100))}`
    const expected = known.length === 0 ? 'build one with `map build`' : `expected one of ${known.join(', ')}`
    throw new AppError('UNKNOWN_MAP', { map: name ?? null, known }, { message: `${found}; ${expected}` })
  }
  for (const map of maps) {
    if (points.every((point) => isInArea(map.graph, point))) return map
  }
  const lost = points.find((point) => !maps.some((map) => isInArea(map.graph, point)))
  if (lost !== undefined) throw outsideArea(lost, maps)
  throw spreadOut(maps, points)
}

/** Puts the points of a request on the roads of a map. @throws AppError OUTSIDE_MAP for the first that cannot be */
export function placePoints(map: NamedGraph, points: readonly AskedPoint[], maxSnapM: number): Place[] {
  return points.map((point) => placePoint(map, point, maxSnapM))
}

/**
 * Puts a point on the roads of a map.
 *
 * @param maxSnapM farthest that it may be from a drivable road
 * @throws AppError OUTSIDE_MAP naming the point when it lies outside the map's area, or too far from a road
 */
export function placePoint(map: NamedGraph, point: AskedPoint, maxSnapM: number): Place {
  if (!isInArea(map.graph, point)) throw outsideArea(point, [map])
  const place = snap(map.graph, point.lng, point.lat, maxSnapM)
  if (place !== undefined) return place
  throw new AppError(
    'OUTSIDE_MAP',
    { ...pointData(point), maxSnapM, areas: [areaOf(map)] },
    { message: `${nameOf(point)} has no drivable road within ${maxSnapM} m on map ${map.name}` },
  )
}

/** Each point lies on some map: names the first that is not on the map of the first. */
function spreadOut(maps: readonly NamedGraph[], points: readonly AskedPoint[]): AppError {
  const home = maps.find((map) => points[0] !== undefined && isInArea(map.graph, points[0]))
  const astray = points.find((point) => home !== undefined && !isInArea(home.graph, point))
  if (home === undefined || astray === undefined) throw new Error('no point is astray')
  return new AppError(
    'OUTSIDE_MAP',
    { ...pointData(astray), areas: maps.map(areaOf) },
    {
      message: `${nameOf(astray)} lies outside the area of map ${home.name}, on which ${points[0]?.role} lies; no map holds all points`,
    },
  )
}

/** The border counts as inside. */
function isInArea({ meta }: Graph, { lng, lat }: AskedPoint): boolean {
  let area = areas.get(meta)
  if (area === undefined) {
    area = prepareArea(meta.area as Geometry)
    areas.set(meta, area)
  }
  return area.intersectsPoint(lng, lat)
}

const areas = new WeakMap<GraphMeta, PreparedArea>()

function outsideArea(point: AskedPoint, maps: readonly NamedGraph[]): AppError {
  const names = maps.map((map) => map.name).join(', ')
  return new AppError(
    'OUTSIDE_MAP',
    { ...pointData(point), areas: maps.map(areaOf) },
    {
      message: `${nameOf(point)} lies outside the area of ${maps.length === 1 ? 'map' : 'the maps'} ${names}`,
    },
  )
}

function nameOf(point: AskedPoint): string {
  return `${point.role} [${point.lng}, ${point.lat}]`
}

function pointData(point: AskedPoint): Record<string, unknown> {
  return { point: point.role, lonlat: [point.lng, point.lat] }
}

/** A map's box rather than its polygon: enough to see what went wrong, and short. */
function areaOf(map: NamedGraph): { map: string; bbox: GraphMeta['bbox'] } {
  return { map: map.name, bbox: map.graph.meta.bbox }
}
