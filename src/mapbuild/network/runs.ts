import { flagsOf, packOutcome, speedOf } from '../../routing/graph/conditions.js'
import { createGrowing, filled, push } from '../arrays/growing.js'
import type { Decision } from '../profile/decision.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import { hopM } from './lengths.js'

/** Ways cut into runs of nodes that the extract holds, without repeated nodes. */
export interface Runs {
  readonly count: number
  /** run → way, ascending */
  readonly way: Uint32Array
  /** run → its nodes are `nodes[first[run] … first[run + 1])`, at least two */
  readonly first: Uint32Array
  readonly nodes: Uint32Array
}

/** A hop over 180 degrees of longitude is not a road: it crosses the antimeridian, or is damaged data. */
const MAX_HOP_LNG_E7 = 1_800_000_000

/**
 * Cuts ways where the extract lacks a node, and drops ways without a node inside the area.
 *
 * Works in place: `roads.refs` is overwritten and becomes `nodes`. Ways with a duration get their speeds
 * here, where their length is known. Counts `waysCut` and `waysOutside`.
 *
 * @param isClipped true: keep only ways with a node that is marked INSIDE
 */
export function cutRuns(roads: RoadData, isClipped: boolean): Runs {
  const { wayFirstRef, refs, nodeState, nodeLngE7, wayId, tally } = roads
  const way = createGrowing(Uint32Array)
  const first = createGrowing(Uint32Array)
  let length = 0
  push(first, 0)
  const closeRun = (of: number) => {
    const start = first.array[first.length - 1]!
    if (length - start < 2) {
      length = start // a single node is not a road
      return
    }
    push(way, of)
    push(first, length)
  }
  for (let of = 0; of < roads.wayCount; of++) {
    const from = wayFirstRef[of]!
    const end = wayFirstRef[of + 1]!
    if (isClipped && !hasInside(refs, from, end, nodeState)) {
      tally.leaveOut('waysOutside', wayId[of]!)
      continue
    }
    let last = -1
    for (let at = from; at < end; at++) {
      const node = refs[at]!
      if (node === last) continue
      const isMissing = (nodeState[node]! & NODE_STATE.PRESENT) === 0
      const isLeap = last >= 0 && Math.abs(nodeLngE7[node]! - nodeLngE7[last]!) > MAX_HOP_LNG_E7
      if (isMissing || isLeap) {
        closeRun(of)
        tally.leaveOut('waysCut', wayId[of]!)
        last = -1
        if (isMissing) continue
      }
      refs[length++] = node
      last = node
    }
    closeRun(of)
  }
  const runs = { count: way.length, way: filled(way), first: filled(first), nodes: refs.subarray(0, length) }
  applyDurations(roads, runs)
  return runs
}

/**
 * Returns true when a node is inside the area. One keeps the whole way, so that roads across the border stay
 * complete.
 */
function hasInside(refs: Uint32Array, from: number, end: number, nodeState: Uint8Array): boolean {
  for (let at = from; at < end; at++) {
    if ((nodeState[refs[at]!]! & NODE_STATE.INSIDE) !== 0) return true
  }
  return false
}

const MIN_FERRY_KMH = 1
const MAX_FERRY_KMH = 120

/** Sets the speed of ways with a tagged duration, unless it is one that no ship or train reaches. */
function applyDurations(roads: RoadData, runs: Runs): void {
  if (roads.durations.size === 0) return
  const lengthM = new Map<number, number>()
  for (let run = 0; run < runs.count; run++) {
    const way = runs.way[run]!
    if (roads.durations.has(way)) lengthM.set(way, (lengthM.get(way) ?? 0) + runLengthM(roads, runs, run))
  }
  for (const [way, durationS] of roads.durations) {
    const kmh = ((lengthM.get(way) ?? 0) / durationS) * 3.6
    if (kmh < MIN_FERRY_KMH || kmh > MAX_FERRY_KMH) continue
    const dkmh = Math.round(kmh * 10)
    if (roads.forwardSpeed[way]! > 0) roads.forwardSpeed[way] = dkmh
    if (roads.backwardSpeed[way]! > 0) roads.backwardSpeed[way] = dkmh
    const conditional = roads.conditional.get(way)
    if (conditional === undefined) continue
    const { forward, backward } = conditional
    roads.conditional.set(way, { forward: atSpeed(forward, dkmh), backward: atSpeed(backward, dkmh) })
  }
}

/** Returns the outcomes of a way at another speed where it is open. */
function atSpeed(decision: Decision | undefined, dkmh: number): Decision | undefined {
  return (
    decision && {
      ...decision,
      out: decision.out.map((one) => (speedOf(one) > 0 ? packOutcome(dkmh, flagsOf(one)) : 0)),
    }
  )
}

/** Length of a run on the ellipsoid, metres. */
function runLengthM({ nodeLngE7, nodeLatE7 }: RoadData, { first, nodes }: Runs, run: number): number {
  let sumM = 0
  for (let at = first[run]! + 1; at < first[run + 1]!; at++) {
    const a = nodes[at - 1]!
    const b = nodes[at]!
    sumM += hopM(nodeLngE7[a]!, nodeLatE7[a]!, nodeLngE7[b]!, nodeLatE7[b]!)
  }
  return sumM
}
