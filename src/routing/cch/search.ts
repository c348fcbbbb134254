import { type End, mustStop } from '../search/dijkstra.js'
import {
  type ArcMeasure,
  type ArcPairTest,
  createPathRow,
  type LegSearch,
  type NodePath,
  type PathRow,
} from '../search/leg-search.js'
import { isDoubtful, kernelsOf } from './customise.js'
import type { Hierarchy } from './hierarchy.js'
import type { Kernels } from './metric.js'
import { createPathSums, type PathSums } from './path-sums.js'
import { createPotential } from './potential.js'
import type { Prepared } from './prepared.js'
import { createQuery, findCost, readHops } from './query.js'
import { costsToAll } from './sweep.js'
import { findMeeting, followEnds, highestEnd, highestLabel, highestOf, type Row } from './table.js'
import { createUnpacker, unpack, unpackerBytes } from './unpack.js'

/**
 * Creates a search over a hierarchy. It finds the costs of flat Dijkstra, in some 20 µs for a city, 50 µs for
 * 1.2 million nodes. Its scratch are some kilobytes, and caches of up to `searchBytes`.
 */
export function createHierarchySearch(prepared: Prepared): LegSearch {
  // replaced as a whole when the metric is widened: query, caches and kernels belong to one kind of array
  let search = createSearch(prepared)
  /** Asks again under wider metrics until one represents all costs; it is kept for later searches. */
  const certain = <T>(ask: () => T | typeof UNKNOWN): T => {
    let found = ask()
    while (found === UNKNOWN) {
      prepared.widen()
      search = createSearch(prepared)
      found = ask()
    }
    return found
  }
  const rows = (...[targetLists, measures, isMarked]: Parameters<MetricSearch['rows']>): PathRows => {
    // the columns of the targets are computed once, for all rows
    let [columnsOf, rowOf] = [search, search.rows(targetLists, measures, isMarked)]
    const ask = (sources: readonly End[]) => {
      if (columnsOf !== search) [columnsOf, rowOf] = [search, search.rows(targetLists, measures, isMarked)]
      return rowOf(sources)
    }
    return (sources, control) => (mustStop(control, 0) ? undefined : certain(() => ask(sources)))
  }
  return {
    one(sources, targets, control, maxCostMs) {
      return mustStop(control, 0) ? undefined : certain(() => search.one(sources, targets, maxCostMs))
    },
    rows,
    reach(sources, control, maxCostMs) {
      return mustStop(control, 0) ? undefined : certain(() => search.reach(sources, maxCostMs))
    },
    potentialTo: (targets) => certain(() => createPotential(prepared, targets) ?? UNKNOWN),
    costs(sourceLists, targetLists, control) {
      const rowOf = rows(targetLists, [], undefined)
      const costMs = new Float64Array(sourceLists.length * targetLists.length)
      for (const [at, sources] of sourceLists.entries()) {
        const row = rowOf(sources, control)
        if (row === undefined) return undefined
        costMs.set(row.costMs, at * targetLists.length)
      }
      return costMs
    },
  }
}

/** Returns the bytes of a search with full caches, beside the metric. */
export function searchBytes({ arcCount }: Hierarchy): number {
  return unpackerBytes(arcCount)
}

/** Result of `LegSearch.rows`. */
type PathRows = ReturnType<LegSearch['rows']>

/** Result of a search whose costs the metric cannot represent: a path may exist or not. */
const UNKNOWN = Symbol('unknown')

/** Searches of one metric; `UNKNOWN` asks for a wider one. */
interface MetricSearch {
  one(
    sources: readonly End[],
    targets: readonly End[],
    maxCostMs?: number,
  ): NodePath | undefined | typeof UNKNOWN
  rows(
    targetLists: readonly (readonly End[])[],
    measures: readonly ArcMeasure[],
    /** undefined = costs alone are wanted */
    isMarked: ArcPairTest | undefined,
  ): (sources: readonly End[]) => PathRow | typeof UNKNOWN
  reach(sources: readonly End[], maxCostMs: number): ((node: number) => number) | typeof UNKNOWN
}

/** Creates the searches of the present metric. */
function createSearch({ roads, hierarchy, weights, metric }: Prepared): MetricSearch {
  const kernels = kernelsOf(metric.kind)
  const query = createQuery(hierarchy, kernels)
  const unpacker = createUnpacker(roads, hierarchy, weights, metric)
  return {
    one(sources, targets, maxCostMs = Number.POSITIVE_INFINITY) {
      // `findCost` looks for costs below its bound, `maxCostMs` is inclusive, and costs are integral
      const limitMs = Math.min(maxCostMs + 1, kernels.infinite)
      const costMs = findCost(hierarchy, metric, query, sources, targets, limitMs)
      if (query.labels.meeting < 0) {
        // costs below the limit are exact
        const highestMs = () => Math.max(query.labels.highest, highestEnd(sources), highestEnd(targets))
        return limitMs === kernels.infinite && isDoubtful(metric, weights, highestMs) ? UNKNOWN : undefined
      }
      // read before the next search overwrites the labels
      const { hops, source, target } = readHops(hierarchy, query)
      return { costMs, source, target, arcs: unpack(unpacker, hops) }
    },
    reach(sources, maxCostMs) {
      // one pass over the hierarchy; labels are by rank, the caller asks by node
      const labels = costsToAll(hierarchy, kernels, metric, sources)
      const highestMs = () => Math.max(highestLabel(kernels, labels), highestEnd(sources))
      // costs below `infinite` are exact
      if (maxCostMs >= kernels.infinite && isDoubtful(metric, weights, highestMs)) return UNKNOWN
      return (node) => {
        const labelMs = labels[hierarchy.rank[node]!]!
        return labelMs < kernels.infinite ? labelMs : Number.POSITIVE_INFINITY
      }
    },
    rows(targetLists, measures, isMarked) {
      const columns = targetLists.map((targets) => followEnds(hierarchy, kernels, metric.down, targets))
      const columnMs = Math.max(highestOf(kernels, columns.flat()), ...targetLists.map(highestEnd))
      const sums = isMarked && createPathSums(unpacker, measures, isMarked)
      return (sources) => {
        const starts = followEnds(hierarchy, kernels, metric.up, sources)
        const row = fillRow(kernels, starts, columns, measures.length, sums)
        // only a missing path can be an overflow: a finite sum below `infinite` is exact
        const isIncomplete = row.costMs.includes(Number.POSITIVE_INFINITY)
        const highestMs = () => Math.max(columnMs, highestOf(kernels, starts), highestEnd(sources))
        return isIncomplete && isDoubtful(metric, weights, highestMs) ? UNKNOWN : row
      }
    },
  }
}

/** Finds the cheapest path to each list of targets. */
function fillRow(
  kernels: Kernels,
  starts: readonly Row[],
  columns: readonly (readonly Row[])[],
  sumCount: number,
  sums: PathSums | undefined,
): PathRow {
  const row = createPathRow(columns.length, sumCount)
  for (const [at, goals] of columns.entries()) {
    const meeting = findMeeting(kernels, starts, goals)
    if (meeting === undefined) continue
    row.costMs[at] = meeting.costMs
    // positions of the ends in the lists of the caller, who adds the lengths of the links driven in part
    row.source[at] = endOf(meeting.row, meeting.depth)
    row.target[at] = endOf(meeting.column, meeting.depth)
    sums?.write(meeting, row, at)
  }
  return row
}

/** Returns the position of the end that a label begins with. */
function endOf(row: Row, depth: number): number {
  // labels lead to deeper labels until one that an end has set, written as `~position`
  let at = row.from[depth]!
  while (at >= 0) at = row.from[at]!
  return ~at
}
