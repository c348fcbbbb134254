// What a map and 1000 searches of layer 1 add to a process, beside ngraph.path on the same arcs.
import { readFileSync } from 'node:fs'
import createGraph, { type Graph as NGraph } from 'ngraph.graph'
import { nba } from 'ngraph.path'
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import type { Topology } from '../../src/routing/graph/topology.js'
import type { Weights } from '../../src/routing/search/dijkstra.js'
import { createDijkstraSearch } from '../../src/routing/search/leg-search.js'
import { createProfile } from '../../src/routing/search/profile.js'
import { createSearchState } from '../../src/routing/search/search-state.js'
import { endless } from './routing-oracle.js'
import { createRandom } from './routing-world.js'

const PAIRS = 1000

export function memoryOfOurs(mapFile: string): number {
  return added(warmOurs, () => holdOurs(mapFile))
}

/** @param arcsFile counts of nodes and arcs, then tail, head and cost of each arc */
export function memoryOfNgraph(arcsFile: string): number {
  return added(warmNgraph, () => holdNgraph(arcsFile))
}

/** Returns the memory that `hold` adds to the resident set of this process, megabytes. */
function added(warm: () => unknown, hold: () => unknown): number {
  const warmed = warm()
  const beforeBytes = settledRss()
  const held = [warmed, hold()]
  const addedMb = (settledRss() - beforeBytes) / 1e6
  if (held.length === 0) throw new Error('kept alive until here')
  return addedMb
}

function settledRss(): number {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  return process.memoryUsage().rss
}

/** Side of the square grid that both search before their memory is taken, so that compiled code is in both figures. */
const WARM_SIDE = 60

function warmOurs(): unknown {
  const nodeCount = WARM_SIDE ** 2
  const arcs = gridArcs()
  const firstOut = new Uint32Array(nodeCount + 1)
  for (const [tail] of arcs) firstOut[tail + 1]!++
  for (let node = 0; node < nodeCount; node++) firstOut[node + 1]! += firstOut[node]!
  const head = Uint32Array.from(arcs, ([, to]) => to)
  const weights = Int32Array.from(arcs, ([, , ms]) => ms)
  return searchOurs({ nodeCount, arcCount: arcs.length, firstOut, head }, weights)
}

function warmNgraph(): unknown {
  const flat = Int32Array.from(gridArcs().flat())
  return searchNgraph(WARM_SIDE ** 2, flat)
}

function holdOurs(mapFile: string): unknown {
  const graph = loadGraphFile(mapFile)
  const { weights } = createProfile(graph)
  return [graph, searchOurs(graph, weights)]
}

function holdNgraph(arcsFile: string): unknown {
  const bytes = readFileSync(arcsFile)
  const [nodeCount = 0, arcCount = 0] = new Int32Array(bytes.buffer, bytes.byteOffset, 2)
  return searchNgraph(nodeCount, new Int32Array(bytes.buffer, bytes.byteOffset + 8, arcCount * 3))
}

function searchOurs(topology: Topology, weights: Weights): unknown {
  const state = createSearchState(topology.nodeCount)
  const random = createRandom(7)
  for (let pair = 0; pair < PAIRS; pair++) {
    const [from, to] = [Math.floor(random() * topology.nodeCount), Math.floor(random() * topology.nodeCount)]
    const search = createDijkstraSearch(topology, weights, state)
    search.one([{ node: from, costMs: 0 }], [{ node: to, costMs: 0 }], endless())
  }
  return { weights, state }
}

/** @param arcs tail, head, cost in turn */
function searchNgraph(nodeCount: number, arcs: Int32Array): unknown {
  const ngraph = createGraph<number, number>()
  for (let node = 0; node < nodeCount; node++) ngraph.addNode(node, node)
  for (let at = 0; at < arcs.length; at += 3) addCheapest(ngraph, arcs[at]!, arcs[at + 1]!, arcs[at + 2]!)
  const finder = nba(ngraph, { oriented: true, distance: (_from, _to, link) => link.data })
  const random = createRandom(7)
  for (let pair = 0; pair < PAIRS; pair++) {
    finder.find(Math.floor(random() * nodeCount), Math.floor(random() * nodeCount))
  }
  return { ngraph, finder }
}

function gridArcs(): [tail: number, head: number, ms: number][] {
  const arcs: [number, number, number][] = []
  for (let node = 0; node < WARM_SIDE ** 2; node++) {
    if (node % WARM_SIDE > 0) arcs.push([node, node - 1, 10 + (node % 7)])
    if (node % WARM_SIDE < WARM_SIDE - 1) arcs.push([node, node + 1, 10 + (node % 5)])
    if (node >= WARM_SIDE) arcs.push([node, node - WARM_SIDE, 10 + (node % 3)])
    if (node < WARM_SIDE * (WARM_SIDE - 1)) arcs.push([node, node + WARM_SIDE, 10 + (node % 11)])
  }
  return arcs
}

function addCheapest(ngraph: NGraph<number, number>, tail: number, head: number, ms: number): void {
  const known = ngraph.getLink(tail, head)
  if (known === undefined || known === null || known.data > ms) ngraph.addLink(tail, head, ms)
}
