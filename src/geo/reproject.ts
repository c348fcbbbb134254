import type { Bbox, Geometry, Position } from './types.js'

/** EPSG code of the system of GeoJSON. */
export const SRID_WGS84 = 4326
/** EPSG code of Web Mercator, metres on a sphere. */
export const SRID_MERCATOR = 3857

/** Radius of the sphere of Web Mercator, metres: the semi-major axis of WGS 84. */
const RADIUS_M = 6_378_137
const RADIANS = Math.PI / 180

/** Converts one position; heights are kept. */
type Project = (x: number, y: number) => [number, number]

/** Web Mercator of a longitude and latitude. The poles are finite, some 38 radii away: tan(90°) is. */
export function toMercator(lng: number, lat: number): [number, number] {
  return [lng * RADIANS * RADIUS_M, Math.asinh(Math.tan(lat * RADIANS)) * RADIUS_M]
}

/** Longitude and latitude of a Web Mercator position, the inverse of `toMercator`. */
export function fromMercator(x: number, y: number): [number, number] {
  return [x / RADIUS_M / RADIANS, Math.atan(Math.sinh(y / RADIUS_M)) / RADIANS]
}

/** True when geometries of one system can be converted to another: the same, or WGS 84 and Web Mercator. */
export function canReproject(from: number, to: number): boolean {
  return from === to || projectionOf(from, to) !== undefined
}

/**
 * Converts a geometry to another system: each position by itself, so that a straight edge stays straight.
 *
 * @param from EPSG code, as `to`
 * @returns the geometry itself when the systems are the same; undefined when it cannot be converted
 */
export function reproject(geometry: Geometry, from: number, to: number): Geometry | undefined {
  if (from === to) return geometry
  const project = projectionOf(from, to)
  return project === undefined ? undefined : projected(geometry, project)
}

/** Converts a box, as `reproject` does. */
export function reprojectBox([west, south, east, north]: Bbox, from: number, to: number): Bbox | undefined {
  const project = from === to ? samePlace : projectionOf(from, to)
  return project === undefined ? undefined : [...project(west, south), ...project(east, north)]
}

function projectionOf(from: number, to: number): Project | undefined {
  if (from === SRID_WGS84 && to === SRID_MERCATOR) return toMercator
  return from === SRID_MERCATOR && to === SRID_WGS84 ? fromMercator : undefined
}

function samePlace(x: number, y: number): [number, number] {
  return [x, y]
}

function projected(geometry: Geometry, project: Project): Geometry {
  if (geometry.type === 'GeometryCollection')
    return { ...geometry, geometries: geometry.geometries.map((member) => projected(member, project)) }
  return { ...geometry, coordinates: projectNested(geometry.coordinates, project) } as Geometry
}

type Nested = number[] | Nested[]

function projectNested(coordinates: Nested, project: Project): Nested {
  const [x, y, ...height] = coordinates
  if (typeof x === 'number') return [...project(x, y as number), ...(height as number[])] as Position
  return (coordinates as Nested[]).map((inner) => projectNested(inner, project))
}
