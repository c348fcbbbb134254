import { fromMercator, toMercator } from '../geo/reproject.js'
import type { Bbox, Geometry, Position } from '../geo/types.js'

/** Coordinate reference system of requests and responses. */
export interface Crs {
  readonly uri: string
  fromLngLat(position: Position): Position
  toLngLat(a: number, b: number): [number, number]
}

export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'

/** Edge of the square map, degrees: atan(sinh(π)). */
const MAX_LAT = 85.051_128_779_806_59

const SYSTEMS: readonly Crs[] = [
  { uri: CRS84, fromLngLat: (position) => position, toLngLat: (a, b) => [a, b] },
  {
    uri: 'http://www.opengis.net/def/crs/EPSG/0/4326', // latitude first
    fromLngLat: ([lng, lat, ...height]) => [lat, lng, ...height] as Position,
    toLngLat: (a, b) => [b, a],
  },
  {
    uri: 'http://www.opengis.net/def/crs/EPSG/0/3857',
    fromLngLat: ([lng, lat, ...height]) => [...onSquareMap(lng, lat), ...height] as Position,
    toLngLat: fromMercator,
  },
]

export const CRS_URIS: readonly string[] = SYSTEMS.map(({ uri }) => uri)

/** Finds a system by its URI. */
export function findCrs(uri: string): Crs | undefined {
  return SYSTEMS.find((crs) => crs.uri === uri)
}

/** Returns a WGS 84 geometry with its positions in another system. */
export function projectGeometry(geometry: Geometry, crs: Crs): Geometry {
  if (crs.uri === CRS84) return geometry
  if (geometry.type === 'GeometryCollection')
    return { ...geometry, geometries: geometry.geometries.map((member) => projectGeometry(member, crs)) }
  return { ...geometry, coordinates: project(geometry.coordinates, crs) } as Geometry
}

/** Converts a box, given by two corners, to west, south, east, north. West may be greater than east. */
export function toLngLatBox([a, b, c, d]: Bbox, crs: Crs): Bbox {
  return [...crs.toLngLat(a, b), ...crs.toLngLat(c, d)]
}

type Nested = number[] | Nested[]

function project(coordinates: Nested, crs: Crs): Nested {
  return typeof coordinates[0] === 'number'
    ? crs.fromLngLat(coordinates as Position)
    : (coordinates as Nested[]).map((inner) => project(inner, crs))
}

/** Latitudes beyond the edge of the square map are moved to it: the poles are infinitely far. */
function onSquareMap(lng: number, lat: number): [number, number] {
  return toMercator(lng, Math.max(-MAX_LAT, Math.min(MAX_LAT, lat)))
}
