import type { Snap } from '../graph/snap.js'
import { hours } from './cost.js'
import { directLeg, endsOf, type SnapEnds, type Step, stepRange } from './leg.js'
import type { PathRow } from './leg-search.js'
import { type Searcher, throwIfStopped } from './route.js'
import type { SlicedTask } from './sliced-task.js'

/** Costs, times and lengths from many points to many points: row-major arrays, a row for each source. */
export interface Matrix {
  readonly rows: number
  readonly columns: number
  /** integral milliseconds, Infinity = no path; where there is none, the other arrays hold 0 */
  readonly costMs: Float64Array
  /** driving time on the cheapest path */
  readonly timeH: Float64Array
  /** length of the cheapest path */
  readonly lengthMm: Float64Array
}

/** Cost and sums of a cheapest path. */
interface PathTotals {
  readonly costMs: number
  readonly lengthMm: number
  readonly timeH: number
}

/**
 * Computes costs, times and lengths between all pairs. A slice is one row.
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
  const goals = targets.map((snap) => endsOf(profile, snap))
  const rowOf = search.rows(
    goals.map((goal) => goal.targets),
    [lengthMm, timeH],
  )
  const matrix = createMatrix(sources.length, targets.length)
  for (const [rowAt, snap] of sources.entries()) {
    const start = endsOf(profile, snap)
    const row = rowOf(start.sources, control)
    throwIfStopped(control)
    for (const [column, goal] of goals.entries()) {
      // a column without a path keeps Infinity and sums of 0
      const path = row && pathSums(searcher, start, goal, row, column)
      if (path === undefined) continue
      const at = rowAt * matrix.columns + column
      matrix.costMs[at] = path.costMs
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
    timeH: new Float64Array(size),
    lengthMm: new Float64Array(size),
  }
}

/**
 * Adds the partly driven links at both ends to a path of a row; the direct leg within one link wins a tie.
 */
function pathSums(
  { profile }: Searcher,
  from: SnapEnds,
  to: SnapEnds,
  row: PathRow,
  column: number,
): PathTotals | undefined {
  const direct = directLeg(profile, from.snap, to.snap)
  const costMs = row.costMs[column]!
  // also taken where the search found no path: the cost is Infinity there
  if (direct !== undefined && direct.costMs <= costMs) {
    const [lengthMm, timeH] = sumOf(profile, direct.steps)
    return { costMs: direct.costMs, lengthMm, timeH }
  }
  if (costMs === Number.POSITIVE_INFINITY) return undefined
  const source = from.sources[row.source[column]!]!
  const target = to.targets[row.target[column]!]!
  // the row's sums cover whole links only; its cost includes the parts at both ends
  const [lengthMm, timeH] = sumOf(profile, [
    { link: source.link, from: source.point, to: undefined },
    { link: target.link, from: undefined, to: target.point },
  ])
  return { costMs, lengthMm: lengthMm + row.sums[0]![column]!, timeH: timeH + row.sums[1]![column]! }
}

function sumOf({ graph }: Searcher['profile'], steps: readonly Step[]): [lengthMm: number, timeH: number] {
  let lengthMm = 0
  let timeH = 0
  for (const step of steps) {
    const [fromMm, toMm] = stepRange(graph, step)
    lengthMm += toMm - fromMm
    timeH += hours(toMm - fromMm, graph.linkSpeed[step.link]!)
  }
  return [lengthMm, timeH]
}
