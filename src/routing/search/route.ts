import { AppError } from '../../errors.js'
import type { AskedPoint } from '../graph/places.js'
import type { Place } from '../graph/snap.js'
import { measure, type Stretch } from './cost.js'
import type { CostMatrix, Order } from './cost-matrix.js'
import type { Control } from './dijkstra.js'
import { directLeg, endsOf, findLeg, type Leg, type PlaceEnds, type Step, stepRange } from './leg.js'
import type { LegSearch } from './leg-search.js'
import { orderVia } from './order.js'
import type { Profile } from './profile.js'
import { runAtOnce, type Sliced } from './sliced.js'

/** A step with what it meets. */
export interface DrivenStep extends Step, Stretch {}

/** A way through all places of a request, leg by leg. */
export interface Route {
  /** what was minimised, integral milliseconds */
  readonly costMs: number
  readonly legs: readonly (readonly DrivenStep[])[]
}

/** What a route is searched with. */
export interface Searcher {
  readonly profile: Profile
  readonly search: LegSearch
  readonly control: Control
}

/** Cheapest way through the places in the order given. @throws AppError NO_ROUTE naming the leg, or why it stopped */
export function findRoute(
  searcher: Searcher,
  places: readonly Place[],
  points: readonly AskedPoint[],
): Route {
  return runAtOnce(findRouteSliced(searcher, places, points))
}

/** The same, a leg a slice. */
export function* findRouteSliced(
  searcher: Searcher,
  places: readonly Place[],
  points: readonly AskedPoint[],
): Sliced<Route> {
  const { profile, search, control } = searcher
  const ends = places.map((place) => endsOf(profile, place))
  const legs: (readonly DrivenStep[])[] = []
  let costMs = 0
  for (let i = 0; i + 1 < ends.length; i++) {
    const leg = findLeg(profile, search, ends[i]!, ends[i + 1]!, control)
    if (leg === undefined) throw noLeg(control, i, points)
    costMs += leg.costMs
    legs.push(leg.steps.map((step) => measureStep(profile, step)))
    yield
  }
  return { costMs, legs }
}

/** Measures legs that were found. */
export function routeOf(profile: Profile, legs: readonly Leg[]): Route {
  return {
    costMs: legs.reduce((sum, leg) => sum + leg.costMs, 0),
    legs: legs.map((leg) => leg.steps.map((step) => measureStep(profile, step))),
  }
}

/** A step with what it meets under a profile. */
export function measureStep(profile: Profile, step: Step): DrivenStep {
  const { link, from, to } = step
  let fromMm = 0
  let toMm = profile.graph.segmentLengthMm[link >>> 1]!
  if (from !== undefined || to !== undefined) [fromMm, toMm] = stepRange(profile.graph, step)
  const { lengthMm, weightedMm, levelMm, maxLevel } = measure(profile.themes, link >>> 1, fromMm, toMm)
  return { link, from, to, lengthMm, weightedMm, levelMm, maxLevel }
}

/**
 * Cheapest order of the places between the first and the last.
 *
 * @throws AppError NO_ROUTE when no order leads through them all
 */
export function findOrder(
  searcher: Searcher,
  places: readonly Place[],
  points: readonly AskedPoint[],
): Order {
  const { profile, control } = searcher
  const ends = places.map((place) => endsOf(profile, place))
  const matrix = costMatrix(searcher, ends)
  if (control.stoppedBy !== undefined) throw stopped(control)
  const order = orderVia(matrix)
  if (Number.isFinite(order.costMs)) return order
  throw noLeg(control, blockedLeg(matrix), points)
}

/** The places of a request as they are visited under an order. */
export function inOrder<T>(items: readonly T[], order: Order): T[] {
  return [items[0]!, ...order.via.map((i) => items[i + 1]!), items[items.length - 1]!]
}

/** Costs from every place but the goal to every place but the start. */
function costMatrix(searcher: Searcher, ends: readonly PlaceEnds[]): CostMatrix {
  const { profile, search, control } = searcher
  const size = ends.length
  const costMs = new Float64Array(size * size).fill(Number.POSITIVE_INFINITY)
  const froms = ends.slice(0, -1)
  const tos = ends.slice(1)
  const found = search.costs(
    froms.map((end) => end.sources),
    tos.map((end) => end.targets),
    control,
  )
  for (const [row, from] of froms.entries()) {
    for (const [column, to] of tos.entries()) {
      const aroundMs = found?.[row * tos.length + column] ?? Number.POSITIVE_INFINITY
      const aheadMs = directLeg(profile, from.place, to.place)?.costMs ?? Number.POSITIVE_INFINITY
      costMs[row * size + column + 1] = Math.min(aroundMs, aheadMs)
    }
  }
  return { viaCount: size - 2, costMs }
}

/** The first leg of the order as given that cannot be driven; the first leg when each could. */
function blockedLeg({ viaCount, costMs }: CostMatrix): number {
  for (let from = 0; from <= viaCount; from++) {
    if (!Number.isFinite(costMs[from * (viaCount + 2) + from + 1]!)) return from
  }
  return 0
}

/** The error of a leg without a way, or of a search that was stopped. */
export function noLeg(control: Control, leg: number, points: readonly AskedPoint[]): AppError {
  if (control.stoppedBy !== undefined) return stopped(control)
  const [from, to] = [points[leg]!, points[leg + 1]!]
  return new AppError(
    'NO_ROUTE',
    { leg, from: [from.lng, from.lat], to: [to.lng, to.lat] },
    { message: `Found no way on leg ${leg + 1}, from ${from.role} to ${to.role}` },
  )
}

/** The error of a search that was stopped. */
export function stopped(control: Control): AppError {
  if (control.stoppedBy === 'cancel') return new AppError('CANCELLED')
  return new AppError('SEARCH_TOO_LARGE', { maxSettledNodes: control.maxSettledNodes })
}
