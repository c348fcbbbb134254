import { noRouteError } from '../route-answer/errors.js'
import { createLegWriter, type LegWriter } from '../route-answer/leg-text.js'
import { routeText } from '../route-answer/route-text.js'
import type { Snap } from '../routing/graph/snap.js'
import type { Weights } from '../routing/search/dijkstra.js'
import type { Profile } from '../routing/search/profile.js'
import { runToEnd, type SlicedTask } from '../routing/search/sliced-task.js'
import { type NoRoute, type RouteQuery, type Solution, solveRoute } from '../routing/search/solve.js'
import type { Work } from '../worker/host.js'
import { chooseMap, snapChoices } from './locate.js'
import { closedOverlay, stateOf } from './profiles.js'
import type { RouteRequest } from './requests.js'
import { runSliced } from './run-sliced.js'
import { controlOf, type SearchParts } from './search-parts.js'
import { inSnapshot, prepareThemes, readPrepared } from './themes.js'
import type { WatchedTimeline } from './timeline.js'

/** Attempts of a time-dependent search in slices before it runs in one go. */
const MAX_SLICED_ATTEMPTS = 3
/** Writers that are kept for the next answers: few answers are written between the slices of others. Each may hold 4 MB. */
const KEPT_WRITERS = 2

/** Costs of the roads at the departure, and over time where that is asked for. */
interface Costs {
  readonly profile: Profile
  readonly timeline?: WatchedTimeline
}

/**
 * Answers `routing.dijkstra`. The profile is computed first, from one state of the tables. Other calls are
 * answered while the profile is prepared and between the legs of the search.
 *
 * @param writers idle ones, which this takes from and returns to; one that ends early is not returned
 * @returns JSON text of the result in UTF-8, in a buffer of its own
 * @throws AppError OUTSIDE_MAP, UNKNOWN_MAP, UNKNOWN_THEME, NO_ROUTE, CANCELLED, SEARCH_TOO_LARGE
 */
export async function answerRoute(
  parts: SearchParts,
  writers: LegWriter[],
  request: RouteRequest,
  work: Work,
): Promise<Uint8Array<ArrayBuffer>> {
  const { config, maps, themes, profiles, engine } = parts
  const map = chooseMap(maps.list(), request.map, request.points).open()
  const { name } = map
  const { graph } = stateOf(map, request, request.startUs)
  const choices = snapChoices({ name, graph }, request.points, config.routing.maxSnapM)
  const closed = await closedOverlay(map.graph, request.avoid, work)

  function* answer({ profile, timeline }: Costs): SlicedTask<Uint8Array<ArrayBuffer>> {
    const { reorder, alternatives, points, withKml, shape } = request
    const control = controlOf(config, work)
    const searchWith = (weights: Weights) => engine.searchWith(map, weights)
    const query = { profile, timeline, reorder, alternatives, control, searchWith }
    const { solution, snaps } = yield* solveFirst(query, choices)
    if ('blockedLeg' in solution) throw noRouteError(solution, points, request.avoid)
    const { routeKey } = config.service
    const writer = writers.pop() ?? createLegWriter()
    const input = { graph: map.graph, points, snaps, withKml, shape, routeKey, writer }
    const text = yield* routeText(solution, input)
    if (writers.length < KEPT_WRITERS) writers.push(writer)
    return text
  }

  const asked = { ...request, owner: work.owner }
  const profileNow = () => profiles.profileAt(map, asked, closed)
  if (request.isTimeDependent) {
    const read = <T>(work: () => T): T => inSnapshot(themes, request, work)
    await prepareThemes(themes, map, request, work)
    await engine.prepare(profiles.fastest(map, asked).weights, work) // they guide the search
    const open = () => ({ profile: profileNow(), timeline: profiles.timeline(map, asked, closed) })
    return await answerOverTime({ read, open, answer, work })
  }
  const profile = await readPrepared(themes, map, request, work, profileNow)
  await engine.prepare(profile.weights, work)
  return await runSliced(answer({ profile }), work)
}

/** Solves a route request with the first choice of snaps that has a route, or else with the last. */
function* solveFirst(
  query: Omit<RouteQuery, 'snaps'>,
  [snaps = [], ...others]: readonly (readonly Snap[])[],
): SlicedTask<{ solution: Solution | NoRoute; snaps: readonly Snap[] }> {
  const solution = yield* solveRoute({ ...query, snaps })
  if (!('blockedLeg' in solution) || others.length === 0) return { solution, snaps }
  return yield* solveFirst(query, others)
}

interface TimedAttempts {
  /** runs a function on one state of the tables */
  read<T>(work: () => T): T
  open(): Required<Costs>
  answer(costs: Required<Costs>): SlicedTask<Uint8Array<ArrayBuffer>>
  readonly work: Work
}

/**
 * A time-dependent search reads profiles on the way. When a table changes meanwhile the search is repeated;
 * after some attempts it runs in one go, within one read transaction.
 */
async function answerOverTime({ read, open, answer, work }: TimedAttempts): Promise<Uint8Array<ArrayBuffer>> {
  for (let attempt = 0; attempt < MAX_SLICED_ATTEMPTS; attempt++) {
    const costs = read(open)
    try {
      const text = await runSliced(answer(costs), work)
      if (!costs.timeline.isMixed()) return text
    } catch (error) {
      if (!costs.timeline.isMixed()) throw error
    }
  }
  return read(() => runToEnd(answer(open())))
}
