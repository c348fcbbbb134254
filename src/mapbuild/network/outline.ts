import type { Polygon, Position } from '../../geo/types.js'
import { localScale } from '../../routing/graph/local-scale.js'

/** Outline of points. */
export interface Outline {
  /** Adds a point. */
  add(lngE7: number, latE7: number): void
  /**
   * Returns a convex polygon of at most 16 sides with all points inside, at least `marginM` from its border.
   */
  polygon(marginM: number): Polygon
  /** Returns [west, south, east, north], degrees. */
  bbox(): [number, number, number, number]
}

const SIDES = 16
/** Corners are rounded to six decimals, 0.1 m, which is far below any margin. */
const ROUNDING = 1e6

/**
 * Creates an outline that keeps how far points reach in 16 directions. Cheaper than a convex hull, and
 * sufficient: a map's area only needs to be not much larger than its roads.
 */
export function createOutline(): Outline {
  const reach = new Float64Array(SIDES).fill(Number.NEGATIVE_INFINITY)
  const cos = Float64Array.from(reach, (_, side) => Math.cos((2 * Math.PI * side) / SIDES))
  const sin = Float64Array.from(reach, (_, side) => Math.sin((2 * Math.PI * side) / SIDES))
  return {
    add(lngE7, latE7) {
      for (let side = 0; side < SIDES; side++) {
        const far = cos[side]! * lngE7 + sin[side]! * latE7
        if (far > reach[side]!) reach[side] = far
      }
    },
    polygon(marginM) {
      const { lngM, latM } = localScale((reach[4]! - reach[12]!) / 2)
      // a metre takes more degrees of longitude than of latitude: used for all directions, the margin is
      // never too small
      const margin = marginM / Math.min(Math.max(lngM, latM / 10), latM)
      return { type: 'Polygon', coordinates: [cornersOf(reach, cos, sin, margin)] }
    },
    // rounded, because the cosine of a right angle is not quite 0 in floating point
    bbox: () => [
      Math.round(-reach[8]!) / 1e7,
      Math.round(-reach[12]!) / 1e7,
      Math.round(reach[0]!) / 1e7,
      Math.round(reach[4]!) / 1e7,
    ],
  }
}

/** Corners where neighbouring sides meet, counterclockwise, closed. */
function cornersOf(reach: Float64Array, cos: Float64Array, sin: Float64Array, margin: number): Position[] {
  const ring: Position[] = []
  const determinant = Math.sin((2 * Math.PI) / SIDES)
  for (let side = 0; side < SIDES; side++) {
    const next = (side + 1) % SIDES
    const a = reach[side]! + margin
    const b = reach[next]! + margin
    const lng = (a * sin[next]! - b * sin[side]!) / determinant
    const lat = (b * cos[side]! - a * cos[next]!) / determinant
    ring.push([
      Math.max(-180, Math.min(180, Math.round((lng / 1e7) * ROUNDING) / ROUNDING)),
      Math.max(-90, Math.min(90, Math.round((lat / 1e7) * ROUNDING) / ROUNDING)),
    ])
  }
  ring.push(ring[0]!)
  return ring
}
