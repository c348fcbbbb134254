import type { Topology } from '../graph/topology.js'
import type { Weights } from '../search/dijkstra.js'
import { finish, startCustomisation } from './customise.js'
import type { Hierarchy } from './hierarchy.js'
import { KINDS, type Kind, type Metric } from './metric.js'

/** A graph with its hierarchy and the metric of one set of weights, ready for searches. */
export interface Prepared {
  readonly roads: Topology
  readonly hierarchy: Hierarchy
  /** weights of `metric` */
  readonly weights: Weights
  /** of any kind, see `widen` */
  metric: Metric
  /**
   * Replaces `metric` by one of the next wider kind. Called when a search meets costs that its kind cannot
   * represent, so that a very expensive path looks like none.
   *
   * @throws Error for a wide one
   */
  widen(): void
}

/**
 * Returns a graph, its hierarchy and a metric of the weights as one object that searches can widen. Nothing is
 * copied.
 *
 * @param onWidened called after the metric was replaced: the new one may be twice as large
 */
export function createPrepared(parts: Omit<Prepared, 'widen'>, onWidened?: () => void): Prepared {
  return {
    ...parts,
    widen() {
      const kind = KINDS[KINDS.indexOf(this.metric.kind) + 1]
      if (kind === undefined) throw new Error('no kind of costs is wider')
      this.metric = finish(startCustomisation(this.hierarchy, this.weights, kind))
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
