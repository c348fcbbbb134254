import path from 'node:path'
import FlatQueue from 'flatqueue'
import t from 'tap'
import { createRandom } from '../../src/demo/town-builder.js'
import { distanceM } from '../../src/geo/geodesic.js'
import { openExtract } from '../../src/mapbuild/extract/blobs.js'
import { buildAdjacency, widestAdjacency } from '../../src/mapbuild/graph/adjacency.js'
import { buildAutomaton } from '../../src/mapbuild/graph/automaton.js'
import { expandNodes } from '../../src/mapbuild/graph/expand.js'
import { makeNetwork } from '../../src/mapbuild/network/network.js'
import { findProfile } from '../../src/mapbuild/profile/profiles.js'
import { createTally } from '../../src/mapbuild/roads/left-out.js'
import { NODE_STATE, type RoadData, readRoads } from '../../src/mapbuild/roads/read-roads.js'
import { EXTRACTS, missingExtracts } from '../support/osm-fixture.js'

interface Edge {
  to: number
  ms: number
}

/**
 * The roads as OSM has them: every node a place, every hop an edge. Closed barriers are entered and not left.
 */
function rawEdges(roads: RoadData, refs: Uint32Array): Map<number, Edge[]> {
  const edges = new Map<number, Edge[]>()
  const { wayFirstRef, nodeState, nodeLngE7, nodeLatE7, forwardSpeed, backwardSpeed } = roads
  const place = (node: number): [number, number] => [
    (nodeLngE7[node] ?? 0) / 1e7,
    (nodeLatE7[node] ?? 0) / 1e7,
  ]
  const add = (from: number, to: number, speed: number, mm: number) => {
    const isClosed = ((nodeState[from] ?? 0) & NODE_STATE.CLOSED) !== 0
    if (speed > 0 && !isClosed) edges.set(from, [...(edges.get(from) ?? []), { to, ms: (mm * 36) / speed }])
  }
  for (let way = 0; way < roads.wayCount; way++) {
    for (let at = (wayFirstRef[way] ?? 0) + 1; at < (wayFirstRef[way + 1] ?? 0); at++) {
      const [a = 0, b = 0] = [refs[at - 1], refs[at]]
      if (((nodeState[a] ?? 0) & (nodeState[b] ?? 0) & NODE_STATE.PRESENT) === 0) continue
      const mm = distanceM(place(a), place(b)) * 1000
      add(a, b, forwardSpeed[way] ?? 0, mm)
      add(b, a, backwardSpeed[way] ?? 0, mm)
    }
  }
  return edges
}

/** Place → cost of the cheapest way from a place. */
function costsFrom(start: number, edgesOf: (place: number) => readonly Edge[]): Map<number, number> {
  const costs = new Map<number, number>()
  const queue = new FlatQueue<number>()
  queue.push(start, 0)
  while (queue.length > 0) {
    const ms = queue.peekValue() ?? 0
    const place = queue.pop() ?? 0
    if (costs.has(place)) continue
    costs.set(place, ms)
    for (const edge of edgesOf(place)) if (!costs.has(edge.to)) queue.push(edge.to, ms + edge.ms)
  }
  return costs
}

for (const [name, profile] of [
  ['monaco-2020.osm.pbf', 'car'],
  ['andorra-2020.osm.pbf', 'car'],
  ['baltimore-2015.osm.pbf', 'bicycle'],
] as const) {
  t.test(
    `${name} by ${profile}: joining roads changes no distance`,
    { skip: missingExtracts() },
    async (t) => {
      const extract = openExtract(path.join(EXTRACTS, name))
      t.teardown(() => extract.close())
      const read = await readRoads(extract, findProfile(profile), null, createTally(), () => undefined)
      // restrictions and private roads have an oracle of their own
      const roads: RoadData = { ...read, restrictions: [] }
      const refs = roads.refs.slice()
      const network = await makeNetwork(roads, undefined, async () => undefined)
      if (network === undefined) throw new Error('no network')
      const { segments, junctionCount, junctionOsmId } = network
      const adjacency = widestAdjacency(segments, buildAdjacency(segments, junctionCount))
      const open = new Uint8Array(segments.count * 2)
      const { firstOut, head, arcLink, nodeJunction, nodeCount } = expandNodes(
        segments,
        adjacency,
        buildAutomaton([]),
        open,
      )
      t.ok(nodeCount <= junctionCount)
      const arcsOf = (node: number): Edge[] => {
        const arcs: Edge[] = []
        for (let arc = firstOut[node] ?? 0; arc < (firstOut[node + 1] ?? 0); arc++) {
          const link = arcLink[arc] ?? 0
          if (segments.linkSpeed[link] === 0) continue // open under conditions only
          const ms = ((segments.lengthMm[link >>> 1] ?? 0) * 36) / (segments.linkSpeed[link] ?? 1)
          arcs.push({ to: head[arc] ?? 0, ms })
        }
        return arcs
      }
      const raw = rawEdges(roads, refs)
      const osmIds = Array.from(
        { length: nodeCount },
        (_, node) => junctionOsmId[nodeJunction[node] ?? 0] ?? 0,
      )
      const times = new Map<number, number>()
      for (const id of osmIds) times.set(id, (times.get(id) ?? 0) + 1)
      const isOnce = (node: number) => times.get(osmIds[node] ?? 0) === 1
      const index = new Map(Array.from(roads.nodeId, (id, node) => [id, node]))
      const indexOf = (node: number) => index.get(osmIds[node] ?? 0) ?? -1
      const random = createRandom(3)
      let compared = 0
      let worst = 0
      for (let run = 0; run < 12; run++) {
        const start = Math.floor(random() * nodeCount)
        if (!isOnce(start)) continue // one of the ends at a closed barrier
        const expected = costsFrom(indexOf(start), (place) => raw.get(place) ?? [])
        const found = costsFrom(start, arcsOf)
        for (const [node, ms] of found) {
          if (!isOnce(node)) continue
          const other = expected.get(indexOf(node)) ?? Number.NaN
          compared++
          worst = Math.max(worst, Math.abs(ms - other) / (other + 1000))
        }
        const reachable = [...Array(nodeCount).keys()].filter(
          (node) => isOnce(node) && expected.has(indexOf(node)),
        )
        t.equal(reachable.length, [...found.keys()].filter(isOnce).length, 'the same places are reached')
      }
      t.ok(
        worst < 1e-4,
        `${compared} pairs, at most ${worst.toExponential(1)} apart: lengths are rounded to millimetres`,
      )
    },
  )
}
