import { AppError } from '../errors.js'
import { prepareArea } from '../geo/prepared-area.js'
import type { Geometry } from '../geo/types.js'
import { candidates } from '../messages/candidates.js'
import type { GraphMeta, MapPlace } from '../routing/graph/graph.js'
import type { NoRoute } from '../routing/search/solve.js'
import type { RequestPoint } from './request-point.js'

/** Longest part of a name from a request that an error repeats. */
const MAX_NAME = 100

/**
 * Creates the error of a leg without a path. It names the ends that lie in a closed area: no other goal or
 * start would help.
 *
 * @param points start, via points as given, goal
 * @param closed areas that the request closes
 */
export function noRouteError(
  { blockedLeg, from, to }: NoRoute,
  points: readonly RequestPoint[],
  closed: readonly Geometry[] = [],
): AppError {
  const [start, end] = [points[from]!, points[to]!]
  const areas = closed.map(prepareArea)
  const inside = [start, end].flatMap((point) => {
    const index = areas.findIndex((area) => area.intersectsPoint(point.lng, point.lat))
    return index === -1 ? [] : [`${point.role} lies in the closed area avoid_polygons[${index}]`]
  })
  const reason = inside.length === 0 ? '' : `: ${inside.join(' and ')}`
  return new AppError(
    'NO_ROUTE',
    { leg: blockedLeg, from: [start.lng, start.lat], to: [end.lng, end.lat] },
    { message: `Found no path on leg ${blockedLeg + 1}, from ${start.role} to ${end.role}${reason}` },
  )
}

/** Creates the error of a map name that no map has, or of a request while there is no map. */
export function unknownMap(name: string | undefined, maps: readonly MapPlace[]): AppError {
  const known = maps.map((map) => map.name)
  const found = name === undefined ? 'Found no map' : `Found map ${JSON.stringify(name.slice(0, MAX_NAME))}`
  const expected =
    known.length === 0
      ? 'expected a map built with `map build`'
      : `expected one of ${candidates(known, name)}`
  return new AppError('UNKNOWN_MAP', { map: name ?? null, known }, { message: `${found}; ${expected}` })
}

/** Creates the error of a point that is farther than `maxSnapM` from every drivable road. */
export function tooFarFromRoad(map: MapPlace, point: RequestPoint, maxSnapM: number): AppError {
  return new AppError(
    'OUTSIDE_MAP',
    { ...pointData(point), maxSnapM, areas: [areaOf(map)] },
    { message: `${nameOf(point)} has no drivable road within ${maxSnapM} m on map ${map.name}` },
  )
}

/** Creates the error of a point outside the areas of all maps of a request. */
export function outsideArea(point: RequestPoint, maps: readonly MapPlace[]): AppError {
  const names = maps.map((map) => map.name).join(', ')
  return new AppError(
    'OUTSIDE_MAP',
    { ...pointData(point), areas: maps.map(areaOf) },
    {
      message: `${nameOf(point)} lies outside the area of ${maps.length === 1 ? 'map' : 'the maps'} ${names}`,
    },
  )
}

/**
 * Creates the error of points that lie on different maps.
 *
 * @param point lies outside `first.map`, on which `first.point` lies
 */
export function onDifferentMaps(
  point: RequestPoint,
  first: { readonly map: MapPlace; readonly point: RequestPoint },
  maps: readonly MapPlace[],
): AppError {
  return new AppError(
    'OUTSIDE_MAP',
    { ...pointData(point), areas: maps.map(areaOf) },
    {
      message: `${nameOf(point)} lies outside the area of map ${first.map.name}, on which ${first.point.role} lies; no map contains all points`,
    },
  )
}

/**
 * Creates the error of a theme without a usable table.
 *
 * @param missing its level column, undefined = no table
 * @param known themes that have a table
 */
export function unknownTheme(name: string, missing: string | undefined, known: readonly string[]): AppError {
  const theme = name.slice(0, MAX_NAME)
  const problem =
    missing === undefined ? 'which has no table' : `whose table has no integer column ${missing}`
  return new AppError(
    'UNKNOWN_THEME',
    { theme },
    {
      message: `Found theme ${JSON.stringify(theme)}, ${problem}, expected one of: ${candidates(known, name)}`,
    },
  )
}

function nameOf(point: RequestPoint): string {
  return `${point.role} [${point.lng}, ${point.lat}]`
}

function pointData(point: RequestPoint): Record<string, unknown> {
  return { point: point.role, lonlat: [point.lng, point.lat] }
}

/** The map's bounding box: shorter than its polygon, and enough to find the mistake. */
function areaOf(map: MapPlace): { map: string; bbox: GraphMeta['bbox'] } {
  return { map: map.name, bbox: map.meta.bbox }
}
