import { matrixText } from '../route-answer/matrix-text.js'
import type { NamedGraph } from '../routing/graph/graph.js'
import type { Snap } from '../routing/graph/snap.js'
import { endsOf } from '../routing/search/link-ends.js'
import { findMatrix } from '../routing/search/matrix.js'
import { type Searcher, throwIfStopped } from '../routing/search/route.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import { snapChoices } from './locate.js'
import type { MatrixRequest } from './requests.js'

/** Points of a matrix on roads. */
interface Ends {
  readonly sources: readonly Snap[]
  readonly targets: readonly Snap[]
}

/**
 * Answers `routing.matrix`: between the nearest roads of all points, or where one of these pairs has no path, between
 * those of the main network. A slice is one row.
 *
 * @param map at the time of the request, for its vehicle
 * @returns JSON text of the result
 * @throws AppError OUTSIDE_MAP, CANCELLED, SEARCH_TOO_LARGE
 */
export function* answerMatrix(
  searcher: Searcher,
  map: NamedGraph,
  { sources, targets }: Pick<MatrixRequest, 'sources' | 'targets'>,
  maxSnapM: number,
): SlicedTask<string> {
  const split = (snaps: readonly Snap[]): Ends => ({
    sources: snaps.slice(0, sources.length),
    targets: snaps.slice(sources.length),
  })
  const [nearest = split([]), preferred] = snapChoices(map, [...sources, ...targets], maxSnapM).map(split)
  if (preferred === undefined || !hasCutOffPair(searcher, nearest, preferred)) {
    const matrix = yield* findMatrix(searcher, nearest.sources, nearest.targets)
    const isWhole = !matrix.costMs.includes(Number.POSITIVE_INFINITY)
    if (preferred === undefined || isWhole) return matrixText(map.name, matrix)
    yield
  }
  return matrixText(map.name, yield* findMatrix(searcher, preferred.sources, preferred.targets))
}

/**
 * Looks for a pair without a path where one is likely, so that a whole matrix that will not be used is not computed:
 * from the nearest roads that are not in the main network to one that is, and back.
 */
function hasCutOffPair({ profile, search, control }: Searcher, nearest: Ends, preferred: Ends): boolean {
  const sources = nearest.sources.filter((snap, i) => snap !== preferred.sources[i])
  const targets = nearest.targets.filter((snap, i) => snap !== preferred.targets[i])
  const source = nearest.sources.filter((snap, i) => snap === preferred.sources[i]).slice(0, 1)
  const target = nearest.targets.filter((snap, i) => snap === preferred.targets[i]).slice(0, 1)
  const hasGap = (from: readonly Snap[], to: readonly Snap[]): boolean => {
    const costs = search.costs(
      from.map((snap) => endsOf(profile, snap).sources),
      to.map((snap) => endsOf(profile, snap).targets),
      control,
    )
    throwIfStopped(control)
    return costs?.includes(Number.POSITIVE_INFINITY) === true
  }
  return hasGap(sources, target) || hasGap(source, targets)
}
