import type { Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import { finish, type Kind, startCustomisation } from './customise.js'
import type { Hierarchy } from './hierarchy.js'
import type { Metric } from './metric.js'

/** A graph with its hierarchy and the metric of one set of weights, ready for searches. */
export interface Prepared {
  readonly roads: Topology
  readonly hierarchy: Hierarchy
  /** weights of `metric` */
  readonly weights: Weights
  /** int32 or float64, see `widen` */
  metric: Metric
  /**
   * Replaces `metric` by one in float64. Called when a search meets costs that int32 cannot represent, so
   * that a very expensive path looks like none.
   */
  widen(): void
}

/**
 * Returns a graph, its hierarchy and a metric of the weights as one object that searches can widen. Nothing is
 * copied.
 *
 * @param onWidened called after the metric was replaced: the new one is twice as large
 */
export function createPrepared(parts: Omit<Prepared, 'widen'>, onWidened?: () => void): Prepared {
  return {
    ...parts,
    widen() {
      this.metric = finish(startCustomisation(this.hierarchy, this.weights, 'float64'))
      onWidened?.()
    },
  }
}

/** Returns a graph with the metric of a full customisation without a pause, see `startCustomisation` for its cost. */
export function prepareNow(
  { roads, hierarchy, weights }: Pick<Prepared, 'roads' | 'hierarchy' | 'weights'>,
  kind: Kind,
): Prepared {
  const metric = finish(startCustomisation(hierarchy, weights, kind))
  return createPrepared({ roads, hierarchy, weights, metric })
}
