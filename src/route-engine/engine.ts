import { setImmediate as nextTurn } from 'node:timers/promises'
import { createOwnerQueue } from '../owner-queue.js'
import { type Customisation, metricBytes, startCustomisation, startUpdate } from '../routing/cch/customise.js'
import type { Hierarchy } from '../routing/cch/hierarchy.js'
import type { Kind } from '../routing/cch/metric.js'
import { createPrepared, type Prepared } from '../routing/cch/prepared.js'
import { createHierarchySearch, searchBytes } from '../routing/cch/search.js'
import { type Helpers, startShared } from '../routing/cch/shared-customise.js'
import type { Graph } from '../routing/graph/graph.js'
import type { End, Weights } from '../routing/search/dijkstra.js'
import { createDijkstraSearch, type LegSearch, type Potential } from '../routing/search/leg-search.js'
import { freeWeights } from '../routing/search/profile.js'
import { createSearchState, type SearchState } from '../routing/search/search-state.js'
import { throwIfCancelled, type Work } from '../worker/host.js'
import type { LoadedMap } from './maps.js'

/**
 * Triangles of one slice of a customisation, some 3 ms: the longest wait of a call whose profile is prepared.
 */
const SLICE_TRIANGLES = 400_000

/** Searches on the maps: on the hierarchy under registered weights, on flat Dijkstra otherwise. */
export interface Engine {
  /** Registers weights, which must not change: searches under them run on the map's hierarchy. */
  register(map: LoadedMap, registration: Registration): void
  /**
   * Resolves when searches under the weights are fast; other calls run meanwhile. Those who asked have turns, whatever
   * the number of weights that each of them waits for.
   *
   * @throws AppError CANCELLED
   */
  prepare(weights: Weights, work?: Pick<Work, 'cancel' | 'owner'>): Promise<void>
  /**
   * Returns the costs to some targets under weights, by default those without risk; undefined where they are
   * not prepared.
   */
  potentialTo(map: LoadedMap, targets: readonly End[], weights?: Weights): Potential | undefined
  /**
   * Returns a search under some weights, for one search at a time. Registered weights are prepared at once if
   * need be.
   */
  searchWith(map: LoadedMap, weights: Weights): LegSearch
}

/** Weights to register. */
interface Registration {
  readonly weights: Weights
  readonly kind: Kind
  /** registered weights that differ little, the most similar first: the first that is prepared is updated */
  readonly bases: readonly Weights[]
  /** called with the bytes of the metric when its memory is allocated */
  readonly onBytes?: ((bytes: number) => void) | undefined
}

/** Registered weights. */
interface Entry {
  readonly hierarchy: Hierarchy
  readonly graph: Graph
  readonly weights: Weights
  readonly kind: Kind
  readonly onBytes: ((bytes: number) => void) | undefined
  /** emptied once the customisation has begun, so that their memory can be freed */
  bases: readonly Weights[]
  job: Customisation | undefined
  ready: { readonly prepared: Prepared; readonly search: LegSearch } | undefined
}

/**
 * Creates an engine. Metrics live as long as the weights that they were computed from.
 *
 * @param helpers other threads that share large customisations
 */
export function createEngine(helpers?: Helpers): Engine {
  const entries = new WeakMap<Weights, Entry>()
  const states = new WeakMap<Graph, SearchState>()
  const prepareInTurn = createQueue()
  const preparedFor = (weights: Weights) => entries.get(weights)?.ready?.prepared

  return {
    register({ graph, hierarchy }, { weights, kind, bases, onBytes }) {
      if (hierarchy === undefined || entries.has(weights)) return
      const entry = { hierarchy, graph, weights, kind, bases, onBytes, job: undefined, ready: undefined }
      entries.set(weights, entry)
    },
    async prepare(weights, work) {
      const entry = entries.get(weights)
      if (entry === undefined || entry.ready !== undefined) return
      await prepareInTurn(work?.owner ?? '', async () => {
        for (;;) {
          // a caller who has hung up while others had their turn begins nothing
          if (work !== undefined) throwIfCancelled(work)
          if (advance(entry, SLICE_TRIANGLES, preparedFor, helpers)) return
          await nextTurn()
        }
      })
    },
    potentialTo: ({ graph }, targets, weights = freeWeights(graph)) =>
      entries.get(weights)?.ready?.search.potentialTo(targets),
    searchWith({ graph }, weights) {
      const entry = entries.get(weights)
      if (entry !== undefined) {
        advance(entry, Number.POSITIVE_INFINITY, preparedFor, helpers)
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

/**
 * Creates a function that runs tasks one after another, of each owner in turns: each customisation needs memory in
 * proportion to its map.
 */
function createQueue(): (owner: string, task: () => Promise<void>) => Promise<void> {
  const waiting = createOwnerQueue<() => void>()
  let isBusy = false
  return async (owner, task) => {
    if (isBusy) await new Promise<void>((begin) => waiting.push(owner, begin))
    isBusy = true
    try {
      await task()
    } finally {
      const next = waiting.take()
      isBusy = next !== undefined // nobody comes between
      next?.()
    }
  }
}

/**
 * Advances the customisation of an entry by about `maxWork` triangles.
 *
 * @returns true when the entry is ready
 */
function advance(
  entry: Entry,
  maxWork: number,
  preparedFor: (weights: Weights) => Prepared | undefined,
  helpers: Helpers | undefined,
): boolean {
  if (entry.ready !== undefined) return true
  if (entry.job === undefined) {
    entry.job = begin(entry, preparedFor, helpers)
    entry.onBytes?.(metricBytes(entry.hierarchy, entry.kind) + searchBytes(entry.hierarchy))
  }
  if (!entry.job.advance(maxWork)) return false
  const prepared = preparedOf(entry, entry.job)
  entry.ready = { prepared, search: createHierarchySearch(prepared) }
  entry.job = undefined
  return true
}

/** Begins to update the metric of the first base that differs little, or to customise from nothing. */
function begin(
  entry: Entry,
  preparedFor: (weights: Weights) => Prepared | undefined,
  helpers: Helpers | undefined,
): Customisation {
  const { graph, hierarchy, weights, kind, bases } = entry
  entry.bases = []
  for (const weightsOfBase of bases) {
    const base = preparedFor(weightsOfBase)
    const update = base && startUpdate(graph, hierarchy, weights, kind, base)
    if (update !== undefined) return update
  }
  const shared = helpers && startShared(hierarchy, weights, kind, helpers)
  return shared ?? startCustomisation(hierarchy, weights, kind)
}

function preparedOf({ graph, hierarchy, weights, onBytes }: Entry, { metric }: Customisation): Prepared {
  const prepared = createPrepared({ roads: graph, hierarchy, weights, metric }, () =>
    onBytes?.(metricBytes(hierarchy, prepared.metric.kind) + searchBytes(hierarchy)),
  )
  return prepared
}
