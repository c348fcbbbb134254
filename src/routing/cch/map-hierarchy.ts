import { messageOf } from '../../errors.js'
import type { Graph } from '../graph/graph.js'
import { badMapFile } from '../graph/graph-check.js'
import { verifyGraph } from '../graph/graph-verify.js'
import { buildHierarchy, type Hierarchy } from './hierarchy.js'

/**
 * Builds the hierarchy of a map from the order in its file: 15 ms for a city, 0.3 s for 1.2 million nodes.
 *
 * @returns undefined for a file without an order
 * @throws AppError BAD_MAP_FILE when the order is not valid
 */
export function mapHierarchy(graph: Graph): Hierarchy | undefined {
  if (graph.nodeRank === undefined) return undefined
  try {
    return buildHierarchy(graph, graph.nodeRank)
  } catch (cause) {
    throw badMapFile('damaged', `the map file is damaged: ${messageOf(cause)}`, cause)
  }
}

/**
 * Checks the contents of a map, its order included. Seconds for a large map.
 *
 * @param graph from `readGraph`, which has checked bounds and checksums
 * @returns faults as text; empty for a sound map
 */
export function verifyMap(graph: Graph): string[] {
  const faults = verifyGraph(graph)
  try {
    mapHierarchy(graph)
  } catch (error) {
    faults.push(messageOf(error))
  }
  return faults
}
