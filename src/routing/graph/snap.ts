import type Flatbush from 'flatbush'
import { cornerOffsets, endSpot, readLine, type Spot } from './geometry.js'
import { type Graph, LINK_FLAG } from './graph.js'
import { type LocalScale, localScale } from './local-scale.js'
import { segmentIndex } from './segment-index.js'

/** A spot on a segment, from which its links can be driven. */
export interface Position extends Spot {
  readonly segment: number
}

/** A point of a request, put on the road. */
export interface Place {
  /** where it was asked for, degrees */
  readonly lng: number
  readonly lat: number
  readonly distanceM: number
  /**
   * One spot; or, when the nearest spot is a junction, that junction as seen from each drivable segment that meets
   * there, so that a route may begin or end at it by any of them.
   */
  readonly positions: readonly Position[]
}

/** First radius that is searched; most points lie nearer to a road. */
const FIRST_RADIUS_M = 60
const RADIUS_GROWTH = 4

interface Candidate {
  segment: number
  distanceM: number
}

/** What the search for the nearest segment keeps between calls, so that it allocates little. */
const scratch = { line: [] as number[], offsets: [] as number[] }

/**
 * Nearest drivable spot to a point.
 *
 * The nearest link of the main network within `maxSnapM` wins; only where there is none, the nearest other one does.
 * Of equally near segments the smaller number wins.
 *
 * @returns undefined when no drivable segment lies within `maxSnapM`
 */
export function snap(graph: Graph, lng: number, lat: number, maxSnapM: number): Place | undefined {
  const x = lng * 1e7
  const y = lat * 1e7
  const scale = localScale(y)
  const index = segmentIndex(graph)
  let other: Candidate | undefined
  for (
    let radiusM = Math.min(FIRST_RADIUS_M, maxSnapM);
    ;
    radiusM = Math.min(radiusM * RADIUS_GROWTH, maxSnapM)
  ) {
    const near = nearestWithin(graph, index, x, y, scale, radiusM)
    other = near.other
    if (near.main !== undefined) return placeOn(graph, index, lng, lat, scale, near.main.segment)
    if (radiusM >= maxSnapM) break
  }
  return other === undefined ? undefined : placeOn(graph, index, lng, lat, scale, other.segment)
}

/** A segment nearer than the radius has a box that meets the square of that radius around the point. */
function nearestWithin(
  graph: Graph,
  index: Flatbush,
  x: number,
  y: number,
  scale: LocalScale,
  radiusM: number,
): { main: Candidate | undefined; other: Candidate | undefined } {
  const dx = Math.ceil(radiusM / Math.max(scale.lngM, 1e-9))
  const dy = Math.ceil(radiusM / scale.latM)
  let main: Candidate | undefined
  let other: Candidate | undefined
  for (const segment of index.search(x - dx, y - dy, x + dx, y + dy)) {
    const flags = drivableFlags(graph, segment)
    if (flags < 0) continue
    const distanceM = footOn(graph, segment, x, y, scale).distanceM
    if (distanceM > radiusM) continue
    const candidate = { segment, distanceM }
    if ((flags & LINK_FLAG.MAIN) !== 0) main = nearer(main, candidate)
    else other = nearer(other, candidate)
  }
  return { main, other }
}

/** Flags of the directions that may be driven, or -1 when none may. */
function drivableFlags(graph: Graph, segment: number): number {
  const forward = segment * 2
  const isForward = graph.linkSpeed[forward]! > 0
  const isBackward = graph.linkSpeed[forward + 1]! > 0
  if (!isForward && !isBackward) return -1
  return (isForward ? graph.linkFlags[forward]! : 0) | (isBackward ? graph.linkFlags[forward + 1]! : 0)
}

function nearer(known: Candidate | undefined, found: Candidate): Candidate {
  if (known === undefined || found.distanceM < known.distanceM) return found
  return found.distanceM === known.distanceM && found.segment < known.segment ? found : known
}

interface Foot {
  corner: number
  fraction: number
  distanceM: number
}

/** Foot of the perpendicular from a point to a segment's line; of equally near feet the one nearest to the tail. */
function footOn(graph: Graph, segment: number, x: number, y: number, scale: LocalScale): Foot {
  const { line } = scratch
  const corners = readLine(graph, segment, line)
  let best2 = Number.POSITIVE_INFINITY
  let bestCorner = 0
  let bestFraction = 0
  for (let corner = 0; corner + 1 < corners; corner++) {
    const ax = (line[corner * 2]! - x) * scale.lngM
    const ay = (line[corner * 2 + 1]! - y) * scale.latM
    const dx = (line[corner * 2 + 2]! - line[corner * 2]!) * scale.lngM
    const dy = (line[corner * 2 + 3]! - line[corner * 2 + 1]!) * scale.latM
    const length2 = dx * dx + dy * dy
    const along = length2 === 0 ? 0 : -(ax * dx + ay * dy) / length2
    const fraction = Math.min(1, Math.max(0, along))
    const fx = ax + fraction * dx
    const fy = ay + fraction * dy
    const distance2 = fx * fx + fy * fy
    if (distance2 >= best2) continue
    best2 = distance2
    bestCorner = corner
    bestFraction = fraction
  }
  return { corner: bestCorner, fraction: bestFraction, distanceM: Math.sqrt(best2) }
}

function placeOn(
  graph: Graph,
  index: Flatbush,
  lng: number,
  lat: number,
  scale: LocalScale,
  segment: number,
): Place {
  const foot = footOn(graph, segment, lng * 1e7, lat * 1e7, scale)
  const spot = spotOf(graph, segment, foot)
  const isTail = spot.offsetMm === 0
  const isHead = spot.offsetMm === graph.segmentLengthMm[segment]!
  const positions =
    isTail || isHead
      ? positionsAt(graph, index, isTail ? graph.segmentTail[segment]! : graph.segmentHead[segment]!)
      : [{ ...spot, segment }]
  return { lng, lat, distanceM: foot.distanceM, positions }
}

/**
 * The spot at a foot. It is first rounded to 1e-7 degree (a centimetre) and its offset taken from the rounded place,
 * so that equal coordinates in an answer always mean equal offsets, and a spot on a corner is that corner.
 */
function spotOf(graph: Graph, segment: number, foot: Foot): Spot {
  const { line, offsets } = scratch
  readLine(graph, segment, line)
  const lengthMm = graph.segmentLengthMm[segment]!
  cornerOffsets(line, lengthMm, offsets)
  const at = foot.corner * 2
  const dLng = line[at + 2]! - line[at]!
  const dLat = line[at + 3]! - line[at + 1]!
  const lngE7 = Math.round(line[at]! + foot.fraction * dLng)
  const latE7 = Math.round(line[at + 1]! + foot.fraction * dLat)
  // the longer axis tells the fraction of the rounded place best
  const isWide = Math.abs(dLng) >= Math.abs(dLat)
  const whole = isWide ? dLng : dLat
  const fraction = whole === 0 ? 0 : (isWide ? lngE7 - line[at]! : latE7 - line[at + 1]!) / whole
  const corner = fraction === 1 ? foot.corner + 1 : foot.corner
  const inPiece = fraction === 1 ? 0 : fraction
  const fromMm = offsets[corner]!
  const toMm = offsets[corner + 1] ?? lengthMm
  const offsetMm = Math.min(lengthMm, Math.max(0, Math.round(fromMm + inPiece * (toMm - fromMm))))
  return { corner, fraction: inPiece, offsetMm, lngE7, latE7 }
}

/** A junction as an end of each drivable segment that meets there (twice for a loop), by segment. */
function positionsAt(graph: Graph, index: Flatbush, junction: number): Position[] {
  const x = graph.junctionLngE7[junction]!
  const y = graph.junctionLatE7[junction]!
  const positions: Position[] = []
  for (const segment of index.search(x, y, x, y).sort((a, b) => a - b)) {
    if (drivableFlags(graph, segment) < 0) continue
    if (graph.segmentTail[segment] === junction)
      positions.push({ ...endSpot(graph, segment, false), segment })
    if (graph.segmentHead[segment] === junction) positions.push({ ...endSpot(graph, segment, true), segment })
  }
  return positions
}
