import { walkGeodesic } from '../geo/geodesic.js'
import type { Extent } from '../geo/types.js'
import { toE7 } from './cell-set.js'
import type { MeasuredLine } from './line-cover.js'

/** Part of a journey along one geodesic, as the caller gives it. */
export interface RiskStretch {
  readonly from: readonly [lng: number, lat: number]
  readonly to: readonly [lng: number, lat: number]
  /** undefined = the end of the part before */
  readonly startUs: bigint | undefined
  readonly kmPerH: number
}

/** Part of a journey along one geodesic at constant speed, with its times. */
export interface Leg {
  readonly from: readonly [lng: number, lat: number]
  readonly to: readonly [lng: number, lat: number]
  readonly kmPerH: number
  readonly lengthM: number
  readonly hours: number
  /** µs UTC */
  readonly startUs: bigint
  readonly endUs: bigint
}

const US_PER_HOUR = 3.6e9

/** Plans a journey: a stretch without a start of its own begins when the one before ends. */
export function planTravel(stretches: readonly RiskStretch[], startUs: bigint): Leg[] {
  let atUs = startUs
  return stretches.map(({ from, to, kmPerH, startUs: ownUs }) => {
    const lengthM = walkGeodesic([...from], [...to]).lengthM
    const hours = lengthM / 1000 / kmPerH
    const beginUs = ownUs ?? atUs
    atUs = beginUs + BigInt(Math.round(hours * US_PER_HOUR))
    return { from, to, kmPerH, lengthM, hours, startUs: beginUs, endUs: atUs }
  })
}

/** Time span of a journey, from the first start to the last end, µs UTC. */
export function travelSpan(legs: readonly Leg[]): { fromUs: bigint; untilUs: bigint } {
  let fromUs = legs[0]?.startUs ?? 0n
  let untilUs = fromUs
  for (const leg of legs) {
    if (leg.startUs < fromUs) fromUs = leg.startUs
    if (leg.endUs > untilUs) untilUs = leg.endUs
  }
  return { fromUs, untilUs }
}

/**
 * Length within which a geodesic and the straight line on the map differ by less than a metre, up to 60°
 * latitude.
 */
const CHORD_M = 5000

/**
 * Converts the geodesic of a leg to short straight pieces on the map, in 1e-7 degree. Offsets are shares of
 * its length, 0 to 1. At the antimeridian the line jumps from one edge of the map to the other, which adds no
 * length.
 */
export function lineOfLeg(leg: Leg): MeasuredLine {
  const walk = walkGeodesic([...leg.from], [...leg.to])
  const chords = Math.max(1, Math.ceil(walk.lengthM / CHORD_M)) // at most 4001, to the other side of the Earth
  const xy: number[] = []
  const offsets: number[] = []
  // rounded like the cells' coordinates
  const addCorner = (lng: number, lat: number, share: number) => {
    xy.push(toE7(lng), toE7(lat))
    offsets.push(share)
  }
  addCorner(leg.from[0], leg.from[1], 0)
  for (let chord = 1; chord <= chords; chord++) {
    const share = chord / chords
    const [lng, lat] = chord === chords ? leg.to : walk.at(walk.lengthM * share)
    const lastLng = xy[xy.length - 2]! / 1e7
    const lastLat = xy[xy.length - 1]! / 1e7
    if (Math.abs(lng - lastLng) > 180) {
      const edge = lastLng > 0 ? 180 : -180
      const gap = 360 - Math.abs(lng - lastLng)
      const part = gap === 0 ? 0 : Math.abs(edge - lastLng) / gap
      const edgeLat = lastLat + (lat - lastLat) * part
      const edgeShare = (chord - 1 + part) / chords
      addCorner(edge, edgeLat, edgeShare)
      addCorner(-edge, edgeLat, edgeShare)
    }
    addCorner(lng, lat, share)
  }
  return {
    corners: offsets.length,
    xy: Float64Array.from(xy),
    offsets: Float64Array.from(offsets),
    ...extentOf(xy),
  }
}

/** Box of corners. @param xy x, y, x, y … */
function extentOf(xy: readonly number[]): Extent {
  const extent = { west: Infinity, south: Infinity, east: -Infinity, north: -Infinity }
  for (let at = 0; at < xy.length; at += 2) {
    const [x, y] = [xy[at]!, xy[at + 1]!]
    extent.west = Math.min(extent.west, x)
    extent.south = Math.min(extent.south, y)
    extent.east = Math.max(extent.east, x)
    extent.north = Math.max(extent.north, y)
  }
  return extent
}
