import type { Snap } from '../graph/snap.js'
import { turnMs } from '../graph/turn-costs.js'
import { hours, MS_PER_HOUR, measure } from './cost.js'
import { directLeg, findLeg, firstStep, lastStep, type Step, stepRange } from './leg.js'
import type { PathRow } from './leg-search.js'
import { endsOf, type SnapEnds } from './link-ends.js'
import { type Searcher, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'
import { turnsRoundAtEnds, uTurnTest } from './u-turns.js'

/** Costs, times and lengths from many points to many points: row-major arrays, a row for each source. */
export interface Matrix {
  readonly rows: number
  readonly columns: number
  /** as searched: integral milliseconds, Infinity = no path; where there is none, the others hold 0 */
  readonly costMs: Float64Array
  /** cost of the cheapest path, weighted hours, not rounded */
  readonly costH: Float64Array
  /** driving time on the cheapest path */
  readonly timeH: Float64Array
  /** length of the cheapest path */
  readonly lengthMm: Float64Array
}

/** Cost and sums of a cheapest path. */
interface PathTotals {
  readonly costMs: number
  readonly costH: number
  readonly lengthMm: number
  readonly timeH: number
}

/**
 * Computes costs, times and lengths between all pairs. A slice is one row, or one pair whose cheapest path turns
 * round where traffic must not, and which is searched again as a leg of a route. Costs are the sums that a route
 * has as its total cost; the cheapest path is chosen by costs that are rounded once a link.
 *
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* findMatrix(
  searcher: Searcher,
  sources: readonly Snap[],
  targets: readonly Snap[],
): SlicedTask<Matrix> {
  const { profile, search, control } = searcher
  const { arcLink, segmentLengthMm, linkSpeed } = profile.graph
  // measures of an arc, summed along each path by the search, which lists no paths
  const lengthMm = (arc: number) => segmentLengthMm[arcLink[arc]! >>> 1]!
  const timeH = (arc: number) => hours(lengthMm(arc), linkSpeed[arcLink[arc]!]!)
  const costH = (arc: number) => {
    const { weightedMm } = measure(profile.themes, arcLink[arc]! >>> 1, 0, lengthMm(arc))
    return hours(weightedMm, linkSpeed[arcLink[arc]!]!) + turnMs(profile.graph, arc) / MS_PER_HOUR
  }
  const goals = targets.map((snap) => endsOf(profile, snap))
  const rowOf = search.rows(
    goals.map((goal) => goal.targets),
    [lengthMm, timeH, costH],
    uTurnTest(profile.graph),
  )
  const matrix = createMatrix(sources.length, targets.length)
  for (const [rowAt, snap] of sources.entries()) {
    const start = endsOf(profile, snap)
    const row = rowOf(start.sources, control)
    throwIfStopped(control)
    for (const [column, goal] of goals.entries()) {
      let path = row && pathSums(searcher, start, goal, row, column)
      if (path === SEARCH_AGAIN) {
        path = legSums(searcher, start, goal)
        throwIfStopped(control)
        yield
      }
      // a column without a path keeps Infinity and sums of 0
      if (path === undefined) continue
      const at = rowAt * matrix.columns + column
      matrix.costMs[at] = path.costMs
      matrix.costH[at] = path.costH
      matrix.timeH[at] = path.timeH
      matrix.lengthMm[at] = path.lengthMm
    }
    yield
  }
  return matrix
}

function createMatrix(rows: number, columns: number): Matrix {
  const size = rows * columns
  return {
    rows,
    columns,
    costMs: new Float64Array(size).fill(Number.POSITIVE_INFINITY),
    costH: new Float64Array(size),
    timeH: new Float64Array(size),
    lengthMm: new Float64Array(size),
  }
}

/** Result for a path that turns round where traffic must not. */
const SEARCH_AGAIN = Symbol('search again')

/**
 * Adds the partly driven links at both ends to a path of a row; the direct leg within one link wins a tie.
 */
function pathSums(
  { profile }: Searcher,
  from: SnapEnds,
  to: SnapEnds,
  row: PathRow,
  column: number,
): PathTotals | typeof SEARCH_AGAIN | undefined {
  const direct = directLeg(profile, from, to)
  const costMs = row.costMs[column]!
  // also taken where the search found no path: the cost is Infinity there
  if (direct !== undefined && direct.costMs <= costMs) {
    return { costMs: direct.costMs, ...sumOf(profile, direct.steps) }
  }
  if (costMs === Number.POSITIVE_INFINITY) return undefined
  const source = from.sources[row.source[column]!]!
  const target = to.targets[row.target[column]!]!
  const [firstArc, lastArc] = [row.firstArc[column]!, row.lastArc[column]!]
  if (row.isMarked[column] === 1 || turnsRoundAtEnds(profile.graph, source, target, firstArc, lastArc))
    return SEARCH_AGAIN
  // the row's sums cover whole links only; its cost includes the parts at both ends
  const ends = sumOf(profile, [firstStep(source), lastStep(profile.graph, target)])
  const [lengthMm, timeH, costH] = row.sums.map((sum) => sum[column]!)
  return {
    costMs,
    costH: ends.costH + costH!,
    lengthMm: ends.lengthMm + lengthMm!,
    timeH: ends.timeH + timeH!,
  }
}

/** Sums of the leg that a route would drive. */
function legSums(
  { profile, search, control }: Searcher,
  from: SnapEnds,
  to: SnapEnds,
): PathTotals | undefined {
  const leg = findLeg(profile, search, from, to, control)
  return leg && { costMs: leg.costMs, ...sumOf(profile, leg.steps) }
}

function sumOf({ graph, themes }: Searcher['profile'], steps: readonly Step[]): Omit<PathTotals, 'costMs'> {
  let lengthMm = 0
  let timeH = 0
  let costH = 0
  for (const step of steps) {
    const [fromMm, toMm] = stepRange(graph, step)
    lengthMm += toMm - fromMm
    timeH += hours(toMm - fromMm, graph.linkSpeed[step.link]!)
    const { weightedMm } = measure(themes, step.link >>> 1, fromMm, toMm)
    costH += hours(weightedMm, graph.linkSpeed[step.link]!)
    // nothing of the link is driven: it is not entered
    if (toMm > fromMm) costH += step.turnMs / MS_PER_HOUR
  }
  return { lengthMm, timeH, costH }
}
