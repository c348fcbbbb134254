import geodesic from 'geographiclib-geodesic'
import type { Position } from './types.js'

const { WGS84 } = geodesic.Geodesic

/**
 * Length of the shortest line between two points on the WGS 84 ellipsoid, metres; right to a few nanometres.
 *
 * @see C. F. F. Karney, "Algorithms for geodesics", 2013
 */
export function distanceM(a: Position, b: Position): number {
  return WGS84.Inverse(a[1], a[0], b[1], b[0], geodesic.Geodesic.DISTANCE).s12 as number
}

/** Length of a line, metres: the sum over its pieces, 0 for fewer than two positions. */
export function lineLengthM(positions: readonly Position[]): number {
  let sumM = 0
  for (let index = 1; index < positions.length; index++)
    sumM += distanceM(positions[index - 1]!, positions[index]!)
  return sumM
}

/** The shortest line between two points, to be walked along. */
export interface GeodesicWalk {
  readonly lengthM: number
  /** Longitude (within ±180) and latitude at a distance from the beginning, metres. */
  at(fromStartM: number): [number, number]
}

/** Between opposite points of the Earth, where many lines are shortest, one is taken. */
export function walkGeodesic(a: Position, b: Position): GeodesicWalk {
  const line = WGS84.InverseLine(a[1], a[0], b[1], b[0])
  return {
    lengthM: line.s13,
    at(fromStartM) {
      const place = line.Position(fromStartM)
      return [place.lon2 as number, place.lat2 as number]
    },
  }
}
