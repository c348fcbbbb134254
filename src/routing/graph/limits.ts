import type { Vehicle } from '../conditions/vehicle.js'
import type { Graph } from './graph.js'

/** Limits of a road for vehicles; 0 = none. */
export interface RoadLimits {
  readonly heightCm: number
  readonly widthCm: number
  readonly lengthCm: number
  readonly weightKg: number
  readonly axleLoadKg: number
  /** 1 = closed to hazardous goods */
  readonly noHazmat: number
}

/** Numbers of an entry of `Graph.limits`: its link, then the limits in the order of `RoadLimits`. */
export const LIMIT_ENTRY = 7

/** Writes the limits of links, ascending by link, as `Graph.limits` has them. */
export function packLimits(entries: readonly (readonly [link: number, limits: RoadLimits])[]): Uint32Array {
  return Uint32Array.from(
    entries.flatMap(([link, { heightCm, widthCm, lengthCm, weightKg, axleLoadKg, noHazmat }]) => [
      ...[link, heightCm, widthCm, lengthCm, weightKg, axleLoadKg, noHazmat],
    ]),
  )
}

/**
 * Lists the links that a vehicle may not use; a vehicle as large as the limit may.
 *
 * @param limits `Graph.limits`
 * @returns ascending
 */
export function closedToVehicle(limits: NonNullable<Graph['limits']>, vehicle: Vehicle): number[] {
  const { heightM = 0, widthM = 0, lengthM = 0, weightT = 0, axleLoadT = 0, isHazmat = false } = vehicle
  // one number for each limit, in its unit: centimetres, kilograms
  const sizes = [heightM * 100, widthM * 100, lengthM * 100, weightT * 1000, axleLoadT * 1000]
  const closed: number[] = []
  for (let at = 0; at < limits.length; at += LIMIT_ENTRY) {
    const isTooLarge = sizes.some((size, i) => {
      const limit = limits[at + 1 + i]!
      // rounded, because 2.3 m · 100 is not quite 230 in floating point
      return limit > 0 && Math.round(size * 1000) / 1000 > limit
    })
    if (isTooLarge || (isHazmat && limits[at + 6] === 1)) closed.push(limits[at]!)
  }
  return closed
}
