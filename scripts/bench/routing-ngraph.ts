// ngraph.path on the roads of a map: the baseline of the routing bench.
import createGraph, { type Graph as NGraph } from 'ngraph.graph'
import { nba } from 'ngraph.path'
import { type Graph, isBannedUTurn } from '../../src/routing/graph/graph.js'
import { localScale } from '../../src/routing/graph/local-scale.js'
import type { Weights } from '../../src/routing/search/dijkstra.js'

export interface NgraphRoads {
  /** finds ways under some weights */
  finderOf(weights: Weights): { find(from: number, to: number): unknown }
  /** @param found what a finder found */
  costOf(found: unknown, weights: Weights): number
  /** Returns true when what a finder found turns round where traffic must not: it knows no such rule. */
  turnsRound(found: unknown, weights: Weights): boolean
}

type Nodes = readonly { id: string | number }[]

/** Links carry arcs; of parallel arcs the first, and `parallels` knows the others. */
export function ngraphRoads(graph: Graph): NgraphRoads {
  const parallels = new Map<number, number[]>()
  const ngraph = createGraph<number, number>()
  for (let node = 0; node < graph.nodeCount; node++) ngraph.addNode(node, node)
  for (let tail = 0; tail < graph.nodeCount; tail++) {
    for (let arc = graph.firstOut[tail]!; arc < graph.firstOut[tail + 1]!; arc++) {
      const known = ngraph.getLink(tail, graph.head[arc]!)
      if (known === undefined || known === null) ngraph.addLink(tail, graph.head[arc]!, arc)
      else parallels.set(known.data, [...(parallels.get(known.data) ?? [known.data]), arc])
    }
  }
  /** Weight of an arc; Infinity of one that is closed, whose weight is negative. */
  const ownWeight = (weights: Weights, arc: number) =>
    weights[arc]! < 0 ? Number.POSITIVE_INFINITY : weights[arc]!
  const cheapest = (weights: Weights, arc: number): number =>
    (parallels.get(arc) ?? []).reduce(
      (best, other) => (ownWeight(weights, other) < ownWeight(weights, best) ? other : best),
      arc,
    )
  const weightOf = (weights: Weights, arc: number) => ownWeight(weights, cheapest(weights, arc))
  return {
    finderOf: (weights) => finderOf(ngraph, graph, (arc) => weightOf(weights, arc)),
    costOf(found, weights) {
      const nodes = found as Nodes // from the goal back to the start
      let sum = 0
      for (let i = 0; i + 1 < nodes.length; i++) {
        const link = ngraph.getLink(nodes[i + 1]!.id, nodes[i]!.id)
        sum += link === undefined || link === null ? Number.NaN : weightOf(weights, link.data)
      }
      return sum
    },
    turnsRound(found, weights) {
      const ids = (found as Nodes).map(({ id }) => id).reverse()
      const arcs = ids.slice(1).map((id, i) => {
        const link = ngraph.getLink(ids[i]!, id)
        return link === undefined || link === null ? Number.NaN : cheapest(weights, link.data)
      })
      return arcs.some(
        (arc, i) => i > 0 && isBannedUTurn(graph, graph.arcLink[arcs[i - 1]!]!, graph.arcLink[arc]!),
      )
    },
  }
}

/** With the straight line at the highest speed as its lower bound: the bound that its documentation recommends. */
function finderOf(ngraph: NGraph<number, number>, graph: Graph, weightOf: (arc: number) => number) {
  const { lngM, latM } = localScale(graph.meta.bbox[3] * 1e7) // the narrowest degrees of the map
  const highest = graph.linkSpeed.reduce((max, speed) => Math.max(max, speed), 0)
  const msPerM = (3600 / (highest / 10)) * 0.99 // the local scale holds to a part in a hundred over the map
  const bound = (a: number, b: number) => {
    const [i, j] = [graph.nodeJunction[a]!, graph.nodeJunction[b]!]
    const dx = (graph.junctionLngE7[i]! - graph.junctionLngE7[j]!) * lngM
    const dy = (graph.junctionLatE7[i]! - graph.junctionLatE7[j]!) * latM
    return Math.sqrt(dx * dx + dy * dy) * msPerM
  }
  return nba(ngraph, {
    oriented: true,
    heuristic: (a, b) => bound(a.id as number, b.id as number),
    distance: (_from, _to, link) => weightOf(link.data),
  })
}
