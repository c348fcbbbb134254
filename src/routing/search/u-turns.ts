import { type Graph, isBannedUTurn } from '../graph/graph.js'
import type { ArcPairTest } from './leg-search.js'
import { drivenFrom, drivenTo, type LinkEnd } from './link-ends.js'

/** Returns a test for arcs of which the second turns round after the first, where traffic must not. */
export function uTurnTest(graph: Graph): ArcPairTest {
  const { arcLink } = graph
  return (before, arc) => isBannedUTurn(graph, arcLink[before]!, arcLink[arc]!)
}

/** Returns true when a path turns round where traffic must not. */
export function turnsRound(graph: Graph, source: LinkEnd, target: LinkEnd, arcs: readonly number[]): boolean {
  const isUTurn = uTurnTest(graph)
  for (let i = 1; i < arcs.length; i++) if (isUTurn(arcs[i - 1]!, arcs[i]!)) return true
  return turnsRoundAtEnds(graph, source, target, arcs[0] ?? -1, arcs.at(-1) ?? -1)
}

/**
 * Returns true when a path turns round, where traffic must not, right behind its source or before its target.
 *
 * @param firstArc of the path between them, -1 = none; `lastArc` likewise
 */
export function turnsRoundAtEnds(
  graph: Graph,
  source: LinkEnd,
  target: LinkEnd,
  firstArc: number,
  lastArc: number,
): boolean {
  const { arcLink } = graph
  const first = drivenFrom(graph, source)
  const last = drivenTo(graph, target)
  if (firstArc < 0) return isBannedUTurn(graph, first, last)
  return isBannedUTurn(graph, first, arcLink[firstArc]!) || isBannedUTurn(graph, arcLink[lastArc]!, last)
}
