import { createGrowing, filled, push } from '../arrays/growing.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import type { Runs } from './runs.js'

/** Runs cut at every node where roads meet or end, and at barriers and nodes of turn restrictions. */
export interface Pieces {
  readonly count: number
  /** piece → way, ascending */
  readonly way: Uint32Array
  /** piece → its nodes are `nodes[from[piece] … to[piece]]`, both included */
  readonly from: Uint32Array
  readonly to: Uint32Array
  readonly nodes: Uint32Array
  /** node → road ends at it, 3 = three or more; a road that passes through counts as two */
  readonly degree: Uint8Array
}

const MANY = 3
const CUT = NODE_STATE.CLOSED | NODE_STATE.FORCED

/**
 * Cuts runs into pieces. Linear in their nodes.
 *
 * @param roads its `nodeState` has barriers and forced junctions
 */
export function cutPieces(roads: RoadData, runs: Runs): Pieces {
  const { nodeState } = roads
  const { first, nodes } = runs
  const degree = countEnds(runs, nodeState.length)
  const way = createGrowing(Uint32Array)
  const from = createGrowing(Uint32Array)
  const to = createGrowing(Uint32Array)
  for (let run = 0; run < runs.count; run++) {
    let start = first[run]!
    const last = first[run + 1]! - 1
    for (let at = start + 1; at <= last; at++) {
      const node = nodes[at]!
      if (at < last && degree[node]! < MANY && (nodeState[node]! & CUT) === 0) continue
      push(way, runs.way[run]!)
      push(from, start)
      push(to, at)
      start = at
    }
  }
  return { count: way.length, way: filled(way), from: filled(from), to: filled(to), nodes, degree }
}

/**
 * Node → road ends: an end counts once, a passage twice. 2 is a corner of one road, or an end-to-end contact
 * of two.
 */
function countEnds({ count, first, nodes }: Runs, nodeCount: number): Uint8Array {
  const degree = new Uint8Array(nodeCount)
  for (let run = 0; run < count; run++) {
    const start = first[run]!
    const last = first[run + 1]! - 1
    for (let at = start; at <= last; at++) {
      const node = nodes[at]!
      degree[node] = Math.min(MANY, degree[node]! + (at === start || at === last ? 1 : 2))
    }
  }
  return degree
}
