import { cornerOffsets, readLine } from '../graph/geometry.js'
import { type Graph, LINK_FLAG } from '../graph/graph.js'
import type { Snap } from '../graph/snap.js'
import { isBackward } from '../graph/topology.js'
import { turnMs } from '../graph/turn-costs.js'
import { endsOf } from './link-ends.js'
import { type Profile, partMs } from './profile.js'
import type { SlicedTask } from './sliced-task.js'

/** Part of a segment: offsets from its tail, the smaller first. */
interface RoadPart {
  readonly segment: number
  readonly fromMm: number
  readonly toMm: number
}

/** Parts of roads that a route reaches within a cost. */
export interface ReachedRoads {
  /** link → how far it is driven from its beginning */
  readonly linkMm: Uint32Array
  /** what is driven of the links that the start lies on */
  readonly starts: readonly RoadPart[]
}

/** Nodes, and segments, between two pauses: some milliseconds. */
const SLICE = 1 << 15

/**
 * Finds how far routes from a point come on each link, to the millimetre, for at most a cost. Slices of some
 * milliseconds. Cost: 20 ms for a city of 145,000 arcs.
 *
 * @param nodeMs node → cost of the cheapest route
 */
export function* findReachedRoads(
  profile: Profile,
  from: Snap,
  nodeMs: Float64Array,
  limitMs: number,
): SlicedTask<ReachedRoads> {
  const { graph, weights } = profile
  const { firstOut, arcLink, segmentLengthMm } = graph
  const linkMm = new Uint32Array(graph.segmentCount * 2)
  for (let node = 0; node < nodeMs.length; node++) {
    if (node % SLICE === SLICE - 1) yield
    const restMs = limitMs - nodeMs[node]!
    // also where there is no route
    if (restMs < 0) continue
    for (let arc = firstOut[node]!; arc < firstOut[node + 1]!; arc++) {
      const link = arcLink[arc]!
      const lengthMm = segmentLengthMm[link >>> 1]!
      if (linkMm[link] === lengthMm || graph.closedArcs?.has(arc) === true) continue
      const isWhole = weights[arc]! >= 0 && weights[arc]! <= restMs
      const mm = isWhole ? lengthMm : reachOn(profile, link, 0, restMs - turnMs(graph, arc))
      if (mm > linkMm[link]!) linkMm[link] = mm
    }
  }
  const starts = endsOf(profile, from).starts.map(({ link, point: { segment, offsetMm } }) => {
    const lengthMm = segmentLengthMm[segment]!
    const beginMm = isBackward(link) ? lengthMm - offsetMm : offsetMm
    return partOf(lengthMm, link, beginMm, reachOn(profile, link, beginMm, limitMs))
  })
  return { linkMm, starts }
}

/**
 * Lists the lines of the parts that were reached, segment by segment; the start alone is one, too. Ferries are
 * left out.
 *
 * @returns lng, lat, lng, lat … in 1e-7 degree; one array for all lines
 */
export function* linesOf(
  graph: Graph,
  from: Snap,
  { linkMm, starts }: ReachedRoads,
): Generator<readonly number[], void, undefined> {
  const { segmentCount, segmentLengthMm, linkFlags } = graph
  const line: number[] = []
  const isFerry = (segment: number) =>
    ((linkFlags[segment * 2]! | linkFlags[segment * 2 + 1]!) & LINK_FLAG.FERRY) !== 0
  for (let segment = 0; segment < segmentCount; segment++) {
    const alongMm = linkMm[segment * 2]!
    const againstMm = linkMm[segment * 2 + 1]!
    if ((alongMm === 0 && againstMm === 0) || isFerry(segment)) continue
    const lengthMm = segmentLengthMm[segment]!
    readLine(graph, segment, line)
    if (alongMm + againstMm >= lengthMm) {
      yield line
      continue
    }
    if (alongMm > 0) yield cutOut(line, lengthMm, 0, alongMm)
    if (againstMm > 0) yield cutOut(line, lengthMm, lengthMm - againstMm, lengthMm)
  }
  for (const { segment, fromMm, toMm } of starts) {
    if (isFerry(segment)) continue
    readLine(graph, segment, line)
    yield cutOut(line, segmentLengthMm[segment]!, fromMm, toMm)
  }
  const { lngE7, latE7 } = from.points[0]!
  yield [lngE7, latE7, lngE7, latE7]
}

/**
 * Returns how far a route comes on a link, from its beginning, when it drives it from an offset on: to the
 * farthest millimetre that costs no more than the limit and has no closed piece before it.
 */
function reachOn(profile: Profile, link: number, beginMm: number, limitMs: number): number {
  const lengthMm = profile.graph.segmentLengthMm[link >>> 1]!
  const isReached = (mm: number) => {
    const { fromMm, toMm } = partOf(lengthMm, link, beginMm, mm)
    const ms = partMs(profile, link, fromMm, toMm)
    return ms >= 0 && ms <= limitMs
  }
  if (!isReached(beginMm)) return beginMm
  // invariant: reached at `low`, not reached beyond `high`; costs grow with the way
  let low = beginMm
  let high = lengthMm
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (isReached(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the part of a segment between two offsets from the beginning of one of its links. */
function partOf(lengthMm: number, link: number, beginMm: number, endMm: number): RoadPart {
  const segment = link >>> 1
  return isBackward(link)
    ? { segment, fromMm: lengthMm - endMm, toMm: lengthMm - beginMm }
    : { segment, fromMm: beginMm, toMm: endMm }
}

/** Returns the part of a line between two offsets, with two positions or more. */
function cutOut(line: readonly number[], lengthMm: number, fromMm: number, toMm: number): number[] {
  const offsets: number[] = []
  cornerOffsets(line, lengthMm, offsets)
  const part = pointAt(line, offsets, fromMm)
  for (let corner = 0; corner < offsets.length; corner++) {
    if (offsets[corner]! > fromMm && offsets[corner]! < toMm)
      part.push(line[corner * 2]!, line[corner * 2 + 1]!)
  }
  part.push(...pointAt(line, offsets, toMm))
  return part
}

function pointAt(line: readonly number[], offsets: readonly number[], mm: number): number[] {
  let corner = 0
  while (corner + 2 < offsets.length && offsets[corner + 1]! < mm) corner++
  const partMm = offsets[corner + 1]! - offsets[corner]!
  const share = partMm > 0 ? (mm - offsets[corner]!) / partMm : 0
  const at = corner * 2
  return [
    line[at]! + (line[at + 2]! - line[at]!) * share,
    line[at + 1]! + (line[at + 3]! - line[at + 1]!) * share,
  ]
}
