import { describeFound } from '../messages/fault-text.js'
import type { GeometryFault } from './fault.js'
import { GEOMETRY_LIMITS } from './limits.js'
import type { Geometry } from './types.js'

const SRID_WGS84 = 4326

/** Nesting of `coordinates` by type: 0 = one position. */
const COORDINATE_DEPTH: Record<string, number> = {
  Point: 0,
  MultiPoint: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
}

/**
 * Checks a GeoJSON geometry (RFC 7946).
 *
 * Empty `coordinates` make an empty geometry. Positions have two or three
 * numbers. With srid 4326 longitude is within ±180 and latitude within ±90, so a geometry never crosses the
 * antimeridian: it must be cut there, as RFC 7946 section 3.1.9 asks. Members other than `type` and the
 * coordinates are dropped.
 *
 * Cost: linear in the positions; coordinates are not copied.
 *
 * @param path JSON path of `json`, for the fault
 * @returns the geometry, which shares the coordinate arrays of `json`, or the first fault
 */
export function parseGeometry(json: unknown, path: string, srid = SRID_WGS84): Geometry | GeometryFault {
  const state: State = { isWgs84: srid === SRID_WGS84, positionCount: 0, fault: undefined }
  const geometry = readGeometry(state, json, path, 0)
  return state.fault ?? (geometry as Geometry) // without a fault there is a geometry
}

/** State of checking one geometry. The first fault ends it. */
interface State {
  readonly isWgs84: boolean
  positionCount: number
  fault: GeometryFault | undefined
}

/** Checks one geometry. @param depth collections around it @returns undefined after a fault */
function readGeometry(state: State, json: unknown, path: string, depth: number): Geometry | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return refuse(state, path, json, 'a GeoJSON geometry object')
  const { type, coordinates, geometries }: { type?: unknown; coordinates?: unknown; geometries?: unknown } =
    json
  if (type === 'GeometryCollection') return readCollection(state, geometries, path, depth)
  if (typeof type !== 'string' || !Object.hasOwn(COORDINATE_DEPTH, type))
    return refuse(
      state,
      `${path}.type`,
      type,
      `one of ${Object.keys(COORDINATE_DEPTH).join(', ')}, GeometryCollection`,
    )
  const at = `${path}.coordinates`
  if (!Array.isArray(coordinates)) return refuse(state, at, coordinates, 'an array')
  if (coordinates.length > 0) checkLevel(state, coordinates, at, COORDINATE_DEPTH[type]!, type)
  return state.fault === undefined ? ({ type, coordinates } as Geometry) : undefined // just checked
}

/** Checks the members of a collection; positions count for the whole geometry. */
function readCollection(
  state: State,
  geometries: unknown,
  path: string,
  depth: number,
): Geometry | undefined {
  const at = `${path}.geometries`
  if (depth >= GEOMETRY_LIMITS.maxDepth)
    return refuse(
      state,
      path,
      'a deeper collection',
      `at most ${GEOMETRY_LIMITS.maxDepth} nested collections`,
    )
  if (!Array.isArray(geometries)) return refuse(state, at, geometries, 'an array of geometries')
  const members: Geometry[] = []
  for (let index = 0; index < geometries.length; index++) {
    countPosition(state, at) // an empty member counts too
    const member = readGeometry(state, geometries[index], `${at}[${index}]`, depth + 1)
    if (member === undefined || state.fault !== undefined) return undefined
    members.push(member)
  }
  return { type: 'GeometryCollection', geometries: members }
}

/**
 * Checks nested coordinates.
 *
 * @param levels arrays above a position: 1 is a line, a ring or points of a MultiPoint
 */
function checkLevel(state: State, value: unknown, path: string, levels: number, type: string): void {
  if (levels === 0) {
    checkPosition(state, value, path)
  } else if (!Array.isArray(value)) {
    refuse(state, path, value, levels === 1 ? 'an array of positions' : 'an array')
  } else if (levels === 1 && type !== 'MultiPoint') {
    checkChain(state, value, path, type)
  } else {
    for (let index = 0; index < value.length && state.fault === undefined; index++) {
      countPosition(state, path)
      // counted before it is read: a million empty rings cost as much as a million positions
      checkLevel(state, value[index], `${path}[${index}]`, levels - 1, type)
    }
  }
}

/** Checks a line, or a ring of a polygon or multipolygon. */
function checkChain(state: State, chain: unknown[], path: string, type: string): void {
  const isRing = type === 'Polygon' || type === 'MultiPolygon'
  if (type === 'LineString' && chain.length === 0) return // an empty geometry
  const least = isRing ? 4 : 2
  if (chain.length < least) {
    const expected = isRing ? 'a ring of 4 or more positions' : 'a line of 2 or more positions'
    refuse(state, path, `${chain.length} positions`, expected)
    return
  }
  for (let index = 0; index < chain.length; index++) {
    const position = chain[index]
    countPosition(state, path)
    if (!isPlain(state, position)) checkPosition(state, position, `${path}[${index}]`)
    if (state.fault !== undefined) return
  }
  if (isRing && !isSame(chain[0], chain[chain.length - 1]))
    refuse(state, path, 'a ring whose last position differs from its first', 'a closed ring')
}

/** Returns true for two finite numbers in range: the common case, checked without building a path. */
function isPlain(state: State, position: unknown): boolean {
  if (!Array.isArray(position) || position.length !== 2) return false
  const [x, y] = position
  const [maxX, maxY] = state.isWgs84
    ? [180, 90]
    : [GEOMETRY_LIMITS.maxAbsCoordinate, GEOMETRY_LIMITS.maxAbsCoordinate]
  return typeof x === 'number' && typeof y === 'number' && Math.abs(x) <= maxX && Math.abs(y) <= maxY
}

/** Checks any position, and records what is wrong with it. */
function checkPosition(state: State, position: unknown, path: string): void {
  if (!Array.isArray(position)) {
    refuse(state, path, position, 'a position [lng, lat] or [lng, lat, height]')
    return
  }
  if (position.length !== 2 && position.length !== 3) {
    refuse(state, path, position, 'a position of 2 or 3 numbers')
    return
  }
  for (let axis = 0; axis < position.length; axis++) {
    const value: unknown = position[axis]
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      refuse(state, `${path}[${axis}]`, value, 'a finite number')
      return
    }
    const limit = axisLimit(state, axis)
    if (Math.abs(value) > limit) {
      const name = state.isWgs84 ? AXIS_NAMES[axis] : 'coordinate'
      refuse(state, `${path}[${axis}]`, value, `a ${name} from -${limit} to ${limit}`)
      return
    }
  }
}

const AXIS_NAMES = ['longitude', 'latitude', 'height']

/** Returns the largest absolute value on an axis; heights have no range of their own. */
function axisLimit(state: State, axis: number): number {
  if (!state.isWgs84 || axis === 2) return GEOMETRY_LIMITS.maxAbsCoordinate
  return axis === 0 ? 180 : 90
}

/** Counts a position, a ring or a member, and refuses the geometry beyond the limit. */
function countPosition(state: State, path: string): void {
  if (++state.positionCount > GEOMETRY_LIMITS.maxPositions)
    refuse(state, path, 'more positions', `at most ${GEOMETRY_LIMITS.maxPositions} in one geometry`)
}

/** Compares two positions, heights included. */
function isSame(a: unknown, b: unknown): boolean {
  return Array.isArray(a) && Array.isArray(b) && a[0] === b[0] && a[1] === b[1] && a[2] === b[2]
}

/**
 * Records a fault, unless there is one already.
 *
 * @param found a value of the JSON, or words that describe it
 */
function refuse(state: State, path: string, found: unknown, expected: string): undefined {
  // a text with a space describes the value; a `type` is always a value, whatever it contains
  const isWords = typeof found === 'string' && / /.test(found) && !path.endsWith('.type')
  state.fault ??= { path, found: isWords ? found : describeFound(found), expected }
}
