import { walkGeodesic } from '../geo/geodesic.js'
import type { Bbox } from '../geo/types.js'
import { toE7 } from './cell-set.js'
import type { MeasuredLine } from './line-cover.js'

/** A straight part of a journey whose exposure to risk is computed. */
export interface RiskStretch {
  readonly from: readonly [lng: number, lat: number]
  readonly to: readonly [lng: number, lat: number]
  /** undefined = the end of the part before */
  readonly startUs: bigint | undefined
  readonly kmPerH: number
}

/** A straight part of a journey, with its times. */
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

/** Fills in when each stretch begins and ends: one without a start begins when the one before ends. */
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

/** The times that a journey takes place in: from the first start until the last end, µs UTC. */
export function travelSpan(legs: readonly Leg[]): { fromUs: bigint; untilUs: bigint } {
  let fromUs = legs[0]?.startUs ?? 0n
  let untilUs = fromUs
  for (const leg of legs) {
    if (leg.startUs < fromUs) fromUs = leg.startUs
    if (leg.endUs > untilUs) untilUs = leg.endUs
  }
  return { fromUs, untilUs }
}

/** Box around a line of a journey, degrees: which cells may matter. */
export function lineBox(line: MeasuredLine): Bbox {
  return [line.west / 1e7, line.south / 1e7, line.east / 1e7, line.north / 1e7]
}

/** A geodesic bends away from the straight line of the map by less than a metre within this length, up to 60° latitude. */
const CHORD_M = 5000

/**
 * The shortest line of a leg as short straight pieces of the map, in 1e-7 degree; offsets are shares of its length, 0 to
 * 1. Where it crosses the antimeridian it leaps from one edge of the map to the other without length.
 */
export function lineOfLeg(leg: Leg): MeasuredLine {
  const walk = walkGeodesic([...leg.from], [...leg.to])
  const chords = Math.max(1, Math.ceil(walk.lengthM / CHORD_M)) // 4001 to the other side of the Earth
  const line: MeasuredLine = {
    xy: [],
    offsets: [],
    west: Infinity,
    south: Infinity,
    east: -Infinity,
    north: -Infinity,
  }
  addCorner(line, leg.from[0], leg.from[1], 0)
  for (let chord = 1; chord <= chords; chord++) {
    const share = chord / chords
    const [lng, lat] = chord === chords ? leg.to : walk.at(walk.lengthM * share)
    const [lastX, lastY] = line.xy.slice(-2) as [number, number]
    const lastLng = lastX / 1e7
    if (Math.abs(lng - lastLng) > 180) {
      const edge = lastLng > 0 ? 180 : -180
      const gap = 360 - Math.abs(lng - lastLng)
      const part = gap === 0 ? 0 : Math.abs(edge - lastLng) / gap
      const edgeLat = lastY / 1e7 + (lat - lastY / 1e7) * part
      const edgeShare = (chord - 1 + part) / chords
      addCorner(line, edge, edgeLat, edgeShare)
      addCorner(line, -edge, edgeLat, edgeShare)
    }
    addCorner(line, lng, lat, share)
  }
  return line
}

/** Corners are in the unit of the cells, on the same lattice of 1e-11 degree. */
function addCorner(line: MeasuredLine, lng: number, lat: number, share: number): void {
  const x = toE7(lng)
  const y = toE7(lat)
  line.xy.push(x, y)
  line.offsets.push(share)
  line.west = Math.min(line.west, x)
  line.south = Math.min(line.south, y)
  line.east = Math.max(line.east, x)
  line.north = Math.max(line.north, y)
}
