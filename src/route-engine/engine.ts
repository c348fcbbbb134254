import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Customisation,
  finish,
  type Kind,
  kernelsOf,
  kindOf,
  mayHaveOverflowed,
  metricBytes,
  startCustomisation,
  startRepair,
} from '../routing/cch/customise.js'
import type { Hierarchy } from '../routing/cch/hierarchy.js'
import { createPotential, type Potential } from '../routing/cch/potential.js'
import { createHierarchySearch, type Prepared, searchBytes } from '../routing/cch/search.js'
import type { Graph } from '../routing/graph/graph.js'
import type { End, Weights } from '../routing/search/dijkstra.js'
import { createDijkstraSearch, type LegSearch } from '../routing/search/leg-search.js'
import { freeWeights } from '../routing/search/profile.js'
import { createSearchState, type SearchState } from '../routing/search/search-state.js'
import { throwIfCancelled, type Work } from '../worker/host.js'
import type { LoadedMap } from './maps.js'

/** Triangles in one go, some 3 ms: as long as a call that is ready may have to wait for one that is not. */
const SLICE = 400_000

/** Makes hierarchies ready for the weights that searches run under, and searches on whichever layer is right. */
export interface Engine {
  /**
   * Takes weights that will not change into its care: searches under them go over the map's hierarchy.
   *
   * @param bases weights in its care that differ little, the most alike first: what is the same is taken from the
   * first that is ready
   * @param onBytes told how many bytes it takes for them, once it does
   */
  adopt(
    map: LoadedMap,
    weights: Weights,
    kind: Kind,
    bases: readonly Weights[],
    onBytes?: (bytes: number) => void,
  ): void
  /** Comes back when searches under the weights are fast; other calls are answered meanwhile. @throws AppError CANCELLED */
  ready(weights: Weights, work?: Pick<Work, 'cancel'>): Promise<void>
  /** What the rest of a way to some targets costs without risk; undefined where free flow is not ready. */
  boundTo(map: LoadedMap, targets: readonly End[]): Potential | undefined
  /** A search under some weights, made ready at once where it is not; one at a time. */
  searchWith(map: LoadedMap, weights: Weights): LegSearch
}

/** Weights in the engine's care. */
interface Entry {
  readonly hierarchy: Hierarchy
  readonly graph: Graph
  readonly weights: Weights
  readonly kind: Kind
  readonly onBytes: ((bytes: number) => void) | undefined
  /** let go of once the work has begun */
  bases: readonly Weights[]
  job: Customisation | undefined
  ready: { readonly prepared: Prepared; readonly search: LegSearch } | undefined
}

/** What is in its care lives as long as the weights do. */
export function createEngine(): Engine {
  const entries = new WeakMap<Weights, Entry>()
  const states = new WeakMap<Graph, SearchState>()
  /** One piece of work after another: each takes memory as the map does. */
  let turn: Promise<void> = Promise.resolve()

  /** Works on an entry; true when it is ready. */
  const advance = (entry: Entry, maxWork: number): boolean => {
    if (entry.ready !== undefined) return true
    if (entry.job === undefined) {
      entry.job = begin(entry, (weights) => entries.get(weights)?.ready?.prepared)
      entry.onBytes?.(metricBytes(entry.hierarchy, entry.kind) + searchBytes(entry.hierarchy))
    }
    if (!entry.job.advance(maxWork)) return false
    const prepared = preparedOf(entry, entry.job)
    entry.ready = { prepared, search: createHierarchySearch(prepared) }
    entry.job = undefined
    return true
  }

  return {
    adopt({ graph, hierarchy }, weights, kind, bases, onBytes) {
      if (hierarchy === undefined || entries.has(weights)) return
      const entry = { hierarchy, graph, weights, kind, bases, onBytes, job: undefined, ready: undefined }
      entries.set(weights, entry)
    },
    async ready(weights, work) {
      const entry = entries.get(weights)
      if (entry === undefined || entry.ready !== undefined) return
      const before = turn
      let end: () => void = () => undefined
      turn = new Promise((resolve) => {
        end = resolve
      })
      try {
        await before
        while (!advance(entry, SLICE)) {
          await nextTurn()
          if (work !== undefined) throwIfCancelled(work)
        }
      } finally {
        end()
      }
    },
    boundTo({ graph }, targets) {
      const prepared = entries.get(freeWeights(graph))?.ready?.prepared
      if (prepared === undefined || mayHaveOverflowed(prepared.metric, prepared.weights)) return undefined
      const { hierarchy, metric } = prepared
      return createPotential(hierarchy, kernelsOf(kindOf(metric)), metric, targets)
    },
    searchWith({ graph }, weights) {
      const entry = entries.get(weights)
      if (entry !== undefined) {
        while (!advance(entry, Number.POSITIVE_INFINITY));
        if (entry.ready !== undefined) return entry.ready.search
      }
      let state = states.get(graph)
      if (state === undefined) {
        state = createSearchState(graph.nodeCount)
        states.set(graph, state)
      }
      return createDijkstraSearch(graph, weights, state)
    },
  }
}

/** From the first base that leaves little to do, or from nothing. */
function begin(entry: Entry, preparedFor: (weights: Weights) => Prepared | undefined): Customisation {
  const { graph, hierarchy, weights, kind, bases } = entry
  entry.bases = []
  for (const base of bases) {
    const prepared = preparedFor(base)
    const repair = prepared && startRepair(graph, hierarchy, weights, kind, prepared)
    if (repair !== undefined) return repair
  }
  return startCustomisation(hierarchy, weights, kind)
}

function preparedOf({ graph, hierarchy, weights, onBytes }: Entry, { metric }: Customisation): Prepared {
  return {
    roads: graph,
    hierarchy,
    weights,
    metric,
    widen() {
      this.metric = finish(startCustomisation(hierarchy, weights, 'float64'))
      onBytes?.(metricBytes(hierarchy, 'float64') + searchBytes(hierarchy))
    },
  }
}
