import type { Topology } from '../graph/topology.js'
import { type End, mustStop, type Weights } from '../search/dijkstra.js'
import {
  type ArcMeasure,
  createPathRow,
  type LegSearch,
  type NodePath,
  type PathRow,
} from '../search/leg-search.js'
import { kernelsOf, kindOf, mayHaveOverflowed, SAFE_MS } from './customise.js'
import type { Hierarchy } from './hierarchy.js'
import type { Kernels, Metric } from './metric.js'
import { createPathSums, type PathSums } from './path-sums.js'
import { createQuery, findCost, readHops } from './query.js'
import { costsToAll } from './sweep.js'
import { findMeeting, followEnds, highestOf, type Row } from './table.js'
import { createUnpacker, unpack, unpackerBytes } from './unpack.js'

/** A graph with its hierarchy, and costs under one set of weights that are ready for searches. */
export interface Prepared {
  readonly roads: Topology
  readonly hierarchy: Hierarchy
  /** what `metric` was made of */
  readonly weights: Weights
  /** int32, or float64 where a search needs it: see `widen` */
  metric: Metric
  /**
   * Makes `metric` float64: called when a search met costs beyond what int32 holds, where a very dear way looks like none.
   */
  widen(): void
}

/** Searches between nodes over a hierarchy: what flat Dijkstra finds, in microseconds. Some kilobytes of its own. */
export function createHierarchySearch(prepared: Prepared): LegSearch {
  let search = createSearch(prepared)
  const widen = () => {
    prepared.widen()
    search = createSearch(prepared)
  }
  const rows: LegSearch['rows'] = (targetLists, measures) => {
    let rowOf = search.rows(targetLists, measures)
    return (sources, control) => {
      if (mustStop(control, 0)) return undefined
      const row = rowOf(sources)
      if (row !== UNKNOWN) return row
      widen()
      rowOf = search.rows(targetLists, measures)
      return certain(rowOf(sources))
    }
  }
  return {
    one(sources, targets, control, maxCostMs) {
      if (mustStop(control, 0)) return undefined
      const found = search.one(sources, targets, maxCostMs)
      if (found !== UNKNOWN) return found
      widen()
      return certain(search.one(sources, targets, maxCostMs))
    },
    rows,
    reach(sources, control, maxCostMs) {
      if (mustStop(control, 0)) return undefined
      const found = search.reach(sources, maxCostMs)
      if (found !== UNKNOWN) return found
      widen()
      return certain(search.reach(sources, maxCostMs))
    },
    costs(sourceLists, targetLists, control) {
      const rowOf = rows(targetLists, [])
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

/** Bytes that a search comes to remember, beside the metric. */
export function searchBytes({ arcCount }: Hierarchy): number {
  return unpackerBytes(arcCount)
}

/** The costs met were too high for the metric to tell a way from none. */
const UNKNOWN = Symbol('unknown')

function certain<T>(found: T | typeof UNKNOWN): T {
  if (found === UNKNOWN) throw new Error('a float64 metric cannot overflow')
  return found
}

interface MetricSearch {
  one(
    sources: readonly End[],
    targets: readonly End[],
    maxCostMs?: number,
  ): NodePath | undefined | typeof UNKNOWN
  rows(
    targetLists: readonly (readonly End[])[],
    measures: readonly ArcMeasure[],
  ): (sources: readonly End[]) => PathRow | typeof UNKNOWN
  reach(sources: readonly End[], maxCostMs: number): ((node: number) => number) | typeof UNKNOWN
}

/** Searches over the metric as it is now. */
function createSearch({ roads, hierarchy, weights, metric }: Prepared): MetricSearch {
  const kernels = kernelsOf(kindOf(metric))
  const query = createQuery(hierarchy, kernels)
  const unpacker = createUnpacker(roads, hierarchy, weights, metric)
  /** True when "no way" may be an overflow. */
  const isDoubtful = (highestMs: number): boolean =>
    kernels.infinite !== Number.POSITIVE_INFINITY &&
    (highestMs >= SAFE_MS || mayHaveOverflowed(metric, weights))
  return {
    one(sources, targets, maxCostMs = Number.POSITIVE_INFINITY) {
      const limitMs = Math.min(maxCostMs + 1, kernels.infinite)
      const costMs = findCost(hierarchy, metric, query, sources, targets, limitMs)
      if (query.labels.meeting < 0) {
        // below the limit all costs are exact
        return limitMs === kernels.infinite && isDoubtful(query.labels.highest) ? UNKNOWN : undefined
      }
      const { hops, source, target } = readHops(hierarchy, query)
      return { costMs, source, target, arcs: unpack(unpacker, hops) }
    },
    reach(sources, maxCostMs) {
      // below what the metric holds all costs are exact
      if (maxCostMs >= kernels.infinite && kernels.infinite !== Number.POSITIVE_INFINITY) return UNKNOWN
      const labels = costsToAll(hierarchy, kernels, metric, sources)
      return (node) => {
        const labelMs = labels[hierarchy.rank[node]!]!
        return labelMs < kernels.infinite ? labelMs : Number.POSITIVE_INFINITY
      }
    },
    rows(targetLists, measures) {
      const columns = targetLists.map((targets) => followEnds(hierarchy, kernels, metric.down, targets))
      const highestMs = highestOf(kernels, columns.flat())
      const sums = measures.length === 0 ? undefined : createPathSums(unpacker, measures)
      return (sources) => {
        const starts = followEnds(hierarchy, kernels, metric.up, sources)
        const row = fillRow(kernels, starts, columns, measures.length, sums)
        const isIncomplete = row.costMs.includes(Number.POSITIVE_INFINITY)
        const isUnknown = isIncomplete && isDoubtful(Math.max(highestMs, highestOf(kernels, starts)))
        return isUnknown ? UNKNOWN : row
      }
    },
  }
}

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
    row.source[at] = endOf(meeting.row, meeting.depth)
    row.target[at] = endOf(meeting.column, meeting.depth)
    sums?.write(meeting, row.sums, at)
  }
  return row
}

/** Position of the end that a label began with. */
function endOf(row: Row, depth: number): number {
  let at = row.from[depth]!
  while (at >= 0) at = row.from[at]!
  return ~at
}
