import fc from 'fast-check'
import type { Coordinates } from '../../src/routing/cch/separator.js'
import type { Topology } from '../../src/routing/graph/topology.js'
import type { End, Weights } from '../../src/routing/search/dijkstra.js'

/** Nodes and weighted arcs without roads around them. */
export interface PlainGraph extends Topology {
  readonly weights: Weights
  readonly sites: Coordinates
}

export interface PlainArc {
  from: number
  to: number
  ms: number
}

export function plainGraph(nodeCount: number, arcs: readonly PlainArc[], sites?: Coordinates): PlainGraph {
  const sorted = [...arcs].sort((a, b) => a.from - b.from)
  const firstOut = new Uint32Array(nodeCount + 1)
  for (const { from } of sorted) firstOut[from + 1]!++
  for (let node = 0; node < nodeCount; node++) firstOut[node + 1]! += firstOut[node]!
  return {
    nodeCount,
    arcCount: sorted.length,
    firstOut,
    head: Uint32Array.from(sorted, ({ to }) => to),
    weights: Float64Array.from(sorted, ({ ms }) => ms),
    sites: sites ?? { x: new Float64Array(nodeCount), y: new Float64Array(nodeCount) },
  }
}

export const COSTS = [0, 0, 1, 2, 3, 7, 10, 10, 1000, 65_536, 1_000_003, -1]

/**
 * Graphs of up to `maxNodes` nodes with loops, parallel arcs, one-ways, arcs of cost 0, closed arcs, lone
 * nodes, several components and nodes with equal coordinates.
 */
export function plainGraphs(maxNodes: number, costs: readonly number[] = COSTS): fc.Arbitrary<PlainGraph> {
  return fc.integer({ min: 1, max: maxNodes }).chain((nodeCount) => {
    const node = fc.nat(nodeCount - 1)
    const road = fc.record({ from: node, to: node, ms: fc.constantFrom(...costs), back: fc.boolean() })
    return fc
      .record({
        roads: fc.array(road, { maxLength: nodeCount * 2 }),
        x: fc.array(fc.nat(5), { minLength: nodeCount, maxLength: nodeCount }),
        y: fc.array(fc.nat(5), { minLength: nodeCount, maxLength: nodeCount }),
      })
      .map(({ roads, x, y }) =>
        plainGraph(
          nodeCount,
          roads.flatMap(
            ({ from, to, ms, back }) =>
              back
                ? [
                    { from, to, ms },
                    { from: to, to: from, ms },
                  ]
                : [{ from, to, ms }], // prettier-ignore
          ),
          { x: Float64Array.from(x), y: Float64Array.from(y) },
        ),
      )
  })
}

/** A grid of streets with diagonals, one-ways and gaps: large enough to be dissected several times. */
export function gridGraph(width: number, height: number, random: () => number): PlainGraph {
  const arcs: PlainArc[] = []
  const join = (from: number, to: number) => {
    if (random() < 0.15) return
    const ms = Math.floor(random() * 100) * (random() < 0.02 ? 0 : 1)
    arcs.push({ from, to, ms })
    if (random() < 0.8) arcs.push({ from: to, to: from, ms })
  }
  const sites = { x: new Float64Array(width * height), y: new Float64Array(width * height) }
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const node = y * width + x
      sites.x[node] = x + random() * 0.5
      sites.y[node] = y + random() * 0.5
      if (x + 1 < width) join(node, node + 1)
      if (y + 1 < height) join(node, node + width)
      if (x + 1 < width && y + 1 < height && random() < 0.1) join(node, node + width + 1)
    }
  }
  return plainGraph(width * height, arcs, sites)
}

/** Numbers from 0 to 1, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Ends at random nodes, several at once, some of them twice. */
export function endLists(nodeCount: number): fc.Arbitrary<End[]> {
  return fc.array(fc.record({ node: fc.nat(nodeCount - 1), costMs: fc.constantFrom(0, 0, 1, 5, 500) }), {
    minLength: 1,
    maxLength: 5,
  })
}
