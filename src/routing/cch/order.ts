import type { Graph } from '../graph/graph.js'
import type { Topology } from '../graph/topology.js'
import { dissect } from './dissect.js'
import { type Neighbours, neighboursOf } from './neighbours.js'
import type { Coordinates } from './separator.js'
import { type Core, stripLowDegree } from './strip.js'
import { eliminationTree, postOrder } from './tree.js'

/**
 * Computes the order in which the nodes of a road graph are contracted, from which its hierarchy is built.
 * Slow (0.5 s for a city, 11 s for 1.2 million nodes), so it is computed by `map build` and stored in the map
 * file.
 *
 * Nodes of low degree come first, the rest is dissected. The order depends on the graph and on coordinates,
 * not on weights. Equal input gives an equal order. About 90 bytes a node and 40 an arc while it runs.
 *
 * @param coordinates of the nodes; several nodes may have equal ones
 * @yields number of nodes in their final position, for progress, pauses and cancelling
 * @returns node → rank, 0 = contracted first; the ranks of every subtree of the elimination tree are
 *   consecutive
 */
export function* rankSteps(roads: Topology, coordinates: Coordinates): Generator<number, Uint32Array> {
  const order = new Uint32Array(roads.nodeCount)
  const core = stripLowDegree(neighboursOf(roads), order)
  const strippedCount = roads.nodeCount - core.node.length
  const dissection = dissect(core.neighbours, coreCoordinates(core, coordinates))
  let step = dissection.next()
  for (; step.done !== true; step = dissection.next()) yield strippedCount + step.value
  const coreOrder = step.value
  for (let i = 0; i < coreOrder.length; i++) order[strippedCount + i] = core.node[coreOrder[i]!]!
  const neighbours: Neighbours = neighboursOf(roads) // stripping has overwritten the first copy
  return invert(postOrder(order, eliminationTree(neighbours, order)))
}

/** Runs `rankSteps` without a pause. @returns node → rank */
export function rankNodes(roads: Topology, coordinates: Coordinates): Uint32Array {
  const steps = rankSteps(roads, coordinates)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

function invert(order: Uint32Array): Uint32Array {
  const rank = new Uint32Array(order.length)
  for (let at = 0; at < order.length; at++) rank[order[at]!] = at
  return rank
}

/** Returns the coordinates of a map's nodes, with longitudes scaled as at the middle of the map. */
export function coordinatesOf(
  graph: Pick<Graph, 'nodeJunction' | 'junctionLngE7' | 'junctionLatE7'>,
  bbox: readonly [west: number, south: number, east: number, north: number],
): Coordinates {
  const { nodeJunction, junctionLngE7, junctionLatE7 } = graph
  const lngScale = Math.cos((((bbox[1] + bbox[3]) / 2) * Math.PI) / 180)
  return {
    x: valuesOf(nodeJunction, (junction) => junctionLngE7[junction]! * lngScale),
    y: valuesOf(nodeJunction, (junction) => junctionLatE7[junction]!),
  }
}

function coreCoordinates({ node }: Core, { x, y }: Coordinates): Coordinates {
  return { x: valuesOf(node, (old) => x[old]!), y: valuesOf(node, (old) => y[old]!) }
}

/** Returns a value for each item. `Float64Array.from` would list all of them on the heap first. */
function valuesOf(items: Uint32Array, valueFor: (item: number) => number): Float64Array {
  const values = new Float64Array(items.length)
  for (let at = 0; at < items.length; at++) values[at] = valueFor(items[at]!)
  return values
}
