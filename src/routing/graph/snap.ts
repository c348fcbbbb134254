import { cornerOffsets, endPoint, type LinePoint, readLine } from './geometry.js'
import { type Graph, LINK_FLAG } from './graph.js'
import { type LocalScale, localScale } from './local-scale.js'
import { findSegments, type SegmentIndex, segmentIndex } from './segment-index.js'

/** A point on a segment. */
export interface RoadPoint extends LinePoint {
  readonly segment: number
}

/** A point of a request, snapped to the nearest road. */
export interface Snap {
  /** the point of the request, degrees */
  readonly lng: number
  readonly lat: number
  readonly distanceM: number
  /**
   * One point; or, when the nearest point is a junction, that junction as an end of each drivable segment
   * that meets there, so that a route may begin or end at it by any of them.
   */
  readonly points: readonly RoadPoint[]
  /** a nearer road that is not used, because no way leads from there to the other points of the request */
  readonly passedOver?: Snap | undefined
}

/** Roads near a point. */
export interface NearRoads {
  /** on the nearest road */
  readonly nearest: Snap
  /** on the nearest road of the main network: the same snap, or undefined where there is none */
  readonly main: Snap | undefined
}

/** First radius of the search; most points are closer to a road. */
const FIRST_RADIUS_M = 60
const RADIUS_GROWTH = 4

interface Candidate {
  readonly segment: number
  readonly distanceM: number
}

/** One search for the nearest segment: its point in 1e-7 degree, and scratch for the segment's line. */
interface NearestSearch {
  readonly graph: Graph
  readonly index: SegmentIndex
  readonly x: number
  readonly y: number
  readonly scale: LocalScale
  readonly line: number[]
}

/**
 * Finds the nearest drivable point on a road.
 *
 * The nearest link of the main network within `maxSnapM` wins; where there is none, the nearest other link.
 * Of equally near segments the smaller number wins. Some 10 µs in a city.
 *
 * @param lng degrees, `lat` likewise
 * @returns undefined when no drivable segment lies within `maxSnapM`
 */
export function snap(graph: Graph, lng: number, lat: number, maxSnapM: number): Snap | undefined {
  const near = snapNear(graph, lng, lat, maxSnapM)
  return near && (near.main ?? near.nearest)
}

/**
 * Finds the nearest drivable point on any road, and that on a road of the main network. Of equally near
 * segments the smaller number wins.
 *
 * @param lng degrees, `lat` likewise
 * @returns undefined when no drivable segment lies within `maxSnapM`
 */
export function snapNear(graph: Graph, lng: number, lat: number, maxSnapM: number): NearRoads | undefined {
  const y = lat * 1e7
  const search: NearestSearch = {
    graph,
    index: segmentIndex(graph),
    x: lng * 1e7,
    y,
    scale: localScale(y),
    line: [],
  }
  const { main, other } = nearestSegments(search, maxSnapM)
  const snapTo = (candidate: Candidate): Snap => {
    const foot = footOn(search, candidate.segment)
    return { lng, lat, distanceM: foot.distanceM, points: roadPoints(search, candidate.segment, foot) }
  }
  if (main === undefined) return other && { nearest: snapTo(other), main: undefined }
  const onMain = snapTo(main)
  const isOther = other !== undefined && nearer(main, other) === other
  return { nearest: isOther ? snapTo(other) : onMain, main: onMain }
}

/** The nearest segment of the main network, and the nearest of all others. */
interface NearestSegments {
  main: Candidate | undefined
  other: Candidate | undefined
}

/** Searches in growing squares until one holds a segment of the main network. */
function nearestSegments(search: NearestSearch, maxSnapM: number): NearestSegments {
  let radiusM = Math.min(FIRST_RADIUS_M, maxSnapM)
  let near = nearestWithin(search, radiusM)
  // the nearest one within the radius is the nearest of all
  while (near.main === undefined && radiusM < maxSnapM) {
    radiusM = Math.min(radiusM * RADIUS_GROWTH, maxSnapM)
    near = nearestWithin(search, radiusM)
  }
  return near
}

/** A segment nearer than the radius has a box that meets the square of that radius around the point. */
function nearestWithin(search: NearestSearch, radiusM: number): NearestSegments {
  const { graph, index, x, y, scale } = search
  // half of the square in 1e-7 degree; at a pole a degree of longitude has no length
  const dx = Math.ceil(radiusM / Math.max(scale.lngM, 1e-9))
  const dy = Math.ceil(radiusM / scale.latM)
  let main: Candidate | undefined
  let other: Candidate | undefined
  for (const segment of findSegments(index, [x - dx, y - dy, x + dx, y + dy])) {
    const flags = drivableFlags(graph, segment)
    if (flags < 0) continue
    const { distanceM } = footOn(search, segment)
    if (distanceM > radiusM) continue
    const candidate = { segment, distanceM }
    if ((flags & LINK_FLAG.MAIN) !== 0) main = nearer(main, candidate)
    else other = nearer(other, candidate)
  }
  return { main, other }
}

/** Returns the flags of the directions that may be driven, -1 when neither may. */
function drivableFlags(graph: Graph, segment: number): number {
  const forward = segment * 2
  const isForward = graph.linkSpeed[forward]! > 0
  const isBackward = graph.linkSpeed[forward + 1]! > 0
  if (!isForward && !isBackward) return -1
  return (isForward ? graph.linkFlags[forward]! : 0) | (isBackward ? graph.linkFlags[forward + 1]! : 0)
}

/** Returns the nearer of two candidates; of equally near ones that with the smaller segment. */
function nearer(known: Candidate | undefined, found: Candidate): Candidate {
  if (known === undefined || found.distanceM < known.distanceM) return found
  return found.distanceM === known.distanceM && found.segment < known.segment ? found : known
}

/** Nearest point of a line: between corner `corner` and the next, `fraction` of the way (0 to 1). */
interface Foot {
  corner: number
  fraction: number
  distanceM: number
}

/** Finds the nearest point of a segment's line; of equally near ones the one closest to the tail. */
function footOn({ graph, x, y, scale, line }: NearestSearch, segment: number): Foot {
  const corners = readLine(graph, segment, line)
  let best2 = Number.POSITIVE_INFINITY // square metres
  let bestCorner = 0
  let bestFraction = 0
  for (let corner = 0; corner + 1 < corners; corner++) {
    // metres in a plane with the point at its origin
    const ax = (line[corner * 2]! - x) * scale.lngM
    const ay = (line[corner * 2 + 1]! - y) * scale.latM
    const dx = (line[corner * 2 + 2]! - line[corner * 2]!) * scale.lngM
    const dy = (line[corner * 2 + 3]! - line[corner * 2 + 1]!) * scale.latM
    const length2 = dx * dx + dy * dy
    // projection onto the part: 0 at its first corner, 1 at its second; beyond both the corner is nearest
    const along = length2 === 0 ? 0 : -(ax * dx + ay * dy) / length2
    const fraction = Math.min(1, Math.max(0, along))
    const fx = ax + fraction * dx
    const fy = ay + fraction * dy
    const distance2 = fx * fx + fy * fy
    // squares are compared; the root is taken once at the end
    if (distance2 >= best2) continue
    best2 = distance2
    bestCorner = corner
    bestFraction = fraction
  }
  return { corner: bestCorner, fraction: bestFraction, distanceM: Math.sqrt(best2) }
}

/** Returns the points of a snap: one, or the end of each drivable segment at a junction. */
function roadPoints(search: NearestSearch, segment: number, foot: Foot): RoadPoint[] {
  const { graph } = search
  const point = linePointAt(search, segment, foot)
  // at an end of the segment the point is a junction, from which other segments leave too
  if (point.offsetMm === 0) return junctionPoints(search, graph.segmentTail[segment]!)
  if (point.offsetMm === graph.segmentLengthMm[segment]!)
    return junctionPoints(search, graph.segmentHead[segment]!)
  return [{ ...point, segment }]
}

/**
 * Returns the point of a segment at a foot. It is first rounded to 1e-7 degree (a centimetre) and its offset
 * taken from the rounded coordinates, so that equal coordinates in an answer always mean equal offsets, and a
 * point on a corner is that corner.
 *
 * @param search whose `line` is that of the segment, as `footOn` leaves it
 */
function linePointAt({ graph, line }: NearestSearch, segment: number, foot: Foot): LinePoint {
  const offsets: number[] = []
  const lengthMm = graph.segmentLengthMm[segment]!
  cornerOffsets(line, lengthMm, offsets)
  const at = foot.corner * 2
  const dLng = line[at + 2]! - line[at]!
  const dLat = line[at + 3]! - line[at + 1]!
  const lngE7 = Math.round(line[at]! + foot.fraction * dLng)
  const latE7 = Math.round(line[at + 1]! + foot.fraction * dLat)
  // the longer axis gives the more precise fraction of the rounded point
  const isWide = Math.abs(dLng) >= Math.abs(dLat)
  const whole = isWide ? dLng : dLat
  const fraction = whole === 0 ? 0 : (isWide ? lngE7 - line[at]! : latE7 - line[at + 1]!) / whole
  // a point that rounds onto the next corner is that corner, with fraction 0
  const corner = fraction === 1 ? foot.corner + 1 : foot.corner
  const withinPart = fraction === 1 ? 0 : fraction
  const fromMm = offsets[corner]!
  const toMm = offsets[corner + 1] ?? lengthMm
  const offsetMm = Math.min(lengthMm, Math.max(0, Math.round(fromMm + withinPart * (toMm - fromMm))))
  return { corner, fraction: withinPart, offsetMm, lngE7, latE7 }
}

/** Returns a junction as an end of each drivable segment that meets there (twice for a loop), by segment. */
function junctionPoints({ graph, index }: NearestSearch, junction: number): RoadPoint[] {
  const x = graph.junctionLngE7[junction]!
  const y = graph.junctionLatE7[junction]!
  const points: RoadPoint[] = []
  for (const segment of findSegments(index, [x, y, x, y]).sort((a, b) => a - b)) {
    if (drivableFlags(graph, segment) < 0) continue
    if (graph.segmentTail[segment] === junction) points.push({ ...endPoint(graph, segment, false), segment })
    if (graph.segmentHead[segment] === junction) points.push({ ...endPoint(graph, segment, true), segment })
  }
  return points
}
