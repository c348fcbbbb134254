import { readLine } from './geometry.js'
import type { Graph } from './graph.js'
import { planeLengthM } from './plane-length.js'
import { isBackward } from './topology.js'

/** Straight part of a link. */
export interface Hop {
  /** coordinates of both ends, in the order of travel */
  readonly place: string
  readonly lengthM: number
  readonly link: number
}

/** Returns the corners of a line in the opposite order. */
export function turned(line: readonly number[]): number[] {
  const back: number[] = []
  for (let at = line.length - 2; at >= 0; at -= 2) back.push(line[at]!, line[at + 1]!)
  return back
}

/** Lists the straight parts of a link in the order of travel. */
export function hopsOf(graph: Graph, link: number): Hop[] {
  const forward: number[] = []
  readLine(graph, link >>> 1, forward)
  const line = isBackward(link) ? turned(forward) : forward
  const hops: Hop[] = []
  for (let at = 0; at + 3 < line.length; at += 2) {
    const [ax, ay, bx, by] = [line[at]!, line[at + 1]!, line[at + 2]!, line[at + 3]!]
    hops.push({ place: `${ax} ${ay} ${bx} ${by}`, lengthM: planeLengthM(ax, ay, bx, by), link })
  }
  return hops
}
