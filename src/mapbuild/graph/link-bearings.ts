import { readLine } from '../../routing/graph/geometry.js'
import { localScale } from '../../routing/graph/local-scale.js'
import type { RoadNetwork } from '../network/network.js'

/** Distance at which the bearing of a road is taken: nodes in the middle of a junction are often askew. */
const BEARING_M = 10

/**
 * Computes the bearings of links at their beginnings, towards the point 10 m along the road, or its end.
 *
 * @returns link → degrees clockwise from north, NaN for a link without length
 */
export function linkBearings({
  segments,
  junctionLngE7,
  junctionLatE7,
}: Pick<RoadNetwork, 'segments' | 'junctionLngE7' | 'junctionLatE7'>): Float32Array {
  const { count, tail, head, lengthMm, firstGeometry, geometry } = segments
  const shapes = {
    ...{ segmentTail: tail, segmentHead: head, segmentLengthMm: lengthMm },
    ...{ firstGeometry, geometry, junctionLngE7, junctionLatE7 },
  }
  const bearings = new Float32Array(count * 2)
  const line: number[] = []
  for (let segment = 0; segment < count; segment++) {
    const corners = readLine(shapes, segment, line)
    bearings[segment * 2] = bearingFrom(line, 0, 1, corners)
    bearings[segment * 2 + 1] = bearingFrom(line, corners - 1, -1, corners)
  }
  return bearings
}

/** Bearing from a corner of a line towards the point `BEARING_M` along it. @param step 1 or −1 */
function bearingFrom(line: readonly number[], start: number, step: number, corners: number): number {
  const [lngE7, latE7] = [line[start * 2]!, line[start * 2 + 1]!]
  const { lngM, latM } = localScale(latE7)
  let [x, y] = [0, 0]
  let leftM = BEARING_M
  for (let at = start + step, count = 1; count < corners; at += step, count++) {
    const nextX = (line[at * 2]! - lngE7) * lngM
    const nextY = (line[at * 2 + 1]! - latE7) * latM
    const hopM = Math.hypot(nextX - x, nextY - y)
    const share = hopM > leftM ? leftM / hopM : 1
    x += (nextX - x) * share
    y += (nextY - y) * share
    leftM -= hopM
    if (leftM <= 0) break
  }
  return x === 0 && y === 0 ? Number.NaN : (Math.atan2(x, y) * 180) / Math.PI
}
