import { distanceM } from '../../geo/geodesic.js'

/** WGS 84 */
const SEMI_MAJOR_M = 6_378_137
const FLATTENING = 1 / 298.257_223_563
/** Squares of the first and the second eccentricity. */
const E2 = FLATTENING * (2 - FLATTENING)
const EP2 = E2 / (1 - E2)
const RADIANS_PER_E7 = (Math.PI / 180) * 1e-7
const DEGREES_PER_E7 = 1e-7

/**
 * Up to 0.02 degree (2 km) in each axis and 85 degrees of latitude, the series is accurate to 1e-10 and 3 nm.
 */
const MAX_STEP_E7 = 200_000
const MAX_LAT_E7 = 850_000_000

/**
 * Distance of two places on the WGS 84 ellipsoid, metres.
 *
 * Nearly every hop of a road is short. For those, Gauss's mid-latitude series gives Karney's result to ten
 * digits in a thirtieth of the time; longer ones use Karney's algorithm.
 *
 * @see R. H. Rapp, "Geometric Geodesy, Part I", 1991, section 3.5
 */
export function hopM(lngE7a: number, latE7a: number, lngE7b: number, latE7b: number): number {
  const dLatE7 = latE7b - latE7a
  const dLngE7 = lngE7b - lngE7a
  const isShort = Math.abs(dLatE7) <= MAX_STEP_E7 && Math.abs(dLngE7) <= MAX_STEP_E7
  if (!isShort || Math.abs(latE7a) > MAX_LAT_E7) {
    return distanceM(
      [lngE7a * DEGREES_PER_E7, latE7a * DEGREES_PER_E7],
      [lngE7b * DEGREES_PER_E7, latE7b * DEGREES_PER_E7],
    )
  }
  const dLat = dLatE7 * RADIANS_PER_E7
  const dLng = dLngE7 * RADIANS_PER_E7
  const middle = ((latE7a + latE7b) / 2) * RADIANS_PER_E7
  const sin = Math.sin(middle)
  const cos = Math.cos(middle)
  const eta2 = EP2 * cos * cos
  const v2 = 1 + eta2
  const tan2 = (sin * sin) / (cos * cos)
  const normalM = SEMI_MAJOR_M / Math.sqrt(1 - E2 * sin * sin)
  const bend = dLng * sin
  const eastM =
    normalM *
    cos *
    dLng *
    (1 - (bend * bend) / 24 + ((1 + eta2 - 9 * eta2 * tan2) * dLat * dLat) / (24 * v2 * v2))
  const northM =
    ((normalM * dLat) / v2) *
    Math.cos(dLng / 2) *
    (1 +
      ((1 - 2 * eta2) / 24) * dLng * dLng * cos * cos +
      ((eta2 * (1 - tan2)) / (8 * v2 * v2)) * dLat * dLat)
  return Math.sqrt(eastM * eastM + northM * northM)
}
