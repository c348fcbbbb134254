import { roundHours } from '../../route-answer/answer.js'
import type { Place } from '../graph/snap.js'
import { hours } from './cost.js'
import { directLeg, endsOf, type PlaceEnds, type Step, stepRange } from './leg.js'
import type { WayRow } from './leg-search.js'
import { type Searcher, stopped } from './route.js'
import { runAtOnce, type Sliced } from './sliced.js'

/** Many to many, wire names: a row a source; null where there is no way. */
export interface Matrix {
  /** hours, risk weighed in: the searched cost, which is rounded to whole milliseconds a link */
  costs: (number | null)[][]
  times: (number | null)[][]
  lengths: (number | null)[][]
}

/** A way of a matrix, not listed link by link. */
interface Way {
  readonly costMs: number
  readonly lengthMm: number
  readonly timeH: number
}

const MS_PER_HOUR = 3_600_000

/** @throws AppError CANCELLED, SEARCH_TOO_LARGE */
export function findMatrix(searcher: Searcher, sources: readonly Place[], targets: readonly Place[]): Matrix {
  return runAtOnce(findMatrixSliced(searcher, sources, targets))
}

/** The same, a row a slice. */
export function* findMatrixSliced(
  searcher: Searcher,
  sources: readonly Place[],
  targets: readonly Place[],
): Sliced<Matrix> {
  const { profile, search, control } = searcher
  const { arcLink, segmentLengthMm, linkSpeed } = profile.graph
  const lengthMm = (arc: number) => segmentLengthMm[arcLink[arc]! >>> 1]!
  const timeH = (arc: number) => hours(lengthMm(arc), linkSpeed[arcLink[arc]!]!)
  const goals = targets.map((place) => endsOf(profile, place))
  const goalEnds = goals.map((goal) => goal.targets)
  const rowOf = search.rows(goalEnds, [lengthMm, timeH])
  const matrix: Matrix = { costs: [], times: [], lengths: [] }
  for (const place of sources) {
    const start = endsOf(profile, place)
    const row = rowOf(start.sources, control)
    if (row === undefined) throw stopped(control)
    const ways = goals.map((goal, column) => wayOf(searcher, start, goal, row, column))
    const write = (value: (way: Way) => number) => ways.map((way) => (way === undefined ? null : value(way)))
    matrix.costs.push(write((way) => roundHours(way.costMs / MS_PER_HOUR)))
    matrix.times.push(write((way) => roundHours(way.timeH)))
    matrix.lengths.push(write((way) => way.lengthMm / 1000))
    yield
  }
  return matrix
}

/** The way that a row tells of, with the stretches between the places and its nodes; the way ahead within one link when not dearer. */
function wayOf(
  searcher: Searcher,
  from: PlaceEnds,
  to: PlaceEnds,
  row: WayRow,
  column: number,
): Way | undefined {
  const direct = directLeg(searcher.profile, from.place, to.place)
  const costMs = row.costMs[column]!
  if (direct !== undefined && direct.costMs <= costMs) {
    const [lengthMm, timeH] = sumOf(searcher, direct.steps)
    return { costMs: direct.costMs, lengthMm, timeH }
  }
  if (costMs === Number.POSITIVE_INFINITY) return undefined
  const source = from.sources[row.source[column]!]!
  const target = to.targets[row.target[column]!]!
  const [lengthMm, timeH] = sumOf(searcher, [
    { link: source.link, from: source.position, to: undefined },
    { link: target.link, from: undefined, to: target.position },
  ])
  return { costMs, lengthMm: lengthMm + row.sums[0]![column]!, timeH: timeH + row.sums[1]![column]! }
}

function sumOf({ profile: { graph } }: Searcher, steps: readonly Step[]): [lengthMm: number, timeH: number] {
  let lengthMm = 0
  let timeH = 0
  for (const step of steps) {
    const [fromMm, toMm] = stepRange(graph, step)
    lengthMm += toMm - fromMm
    timeH += hours(toMm - fromMm, graph.linkSpeed[step.link]!)
  }
  return [lengthMm, timeH]
}
