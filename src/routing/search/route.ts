import { AppError } from '../../errors.js'
import type { Snap } from '../graph/snap.js'
import { measure, type SegmentPart } from './cost.js'
import type { CostMatrix, Order } from './cost-matrix.js'
import type { Control } from './dijkstra.js'
import { directLeg, findLeg, type Leg, type Step, stepRange } from './leg.js'
import type { LegSearch } from './leg-search.js'
import { endsAfter, endsOf, type SnapEnds } from './link-ends.js'
import { orderVia } from './order.js'
import type { Profile } from './profile.js'
import type { SlicedTask } from './sliced-task.js'

/** A step with its length, cost and risk. */
export interface DrivenStep extends Step, SegmentPart {
  /** at the time at which it is driven, 1/10 km/h */
  readonly speed: number
}

/** Path through all points of a request, leg by leg. */
export interface Route {
  /** the cost that was minimised, integral milliseconds */
  readonly costMs: number
  readonly legs: readonly (readonly DrivenStep[])[]
}

/** The first leg without a path, counted from 0 in the order of visit. */
export interface BlockedLeg {
  readonly blockedLeg: number
}

/** Cost model, search and limits of a request. */
export interface Searcher {
  readonly profile: Profile
  readonly search: LegSearch
  readonly control: Control
}

/**
 * Finds the cheapest path through the points in the order given. A slice is one leg.
 *
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function* findRoute(searcher: Searcher, snaps: readonly Snap[]): SlicedTask<Route | BlockedLeg> {
  const { profile, search, control } = searcher
  const legs: (readonly DrivenStep[])[] = []
  let costMs = 0
  let from = endsOf(profile, snaps[0]!)
  for (let i = 0; i + 1 < snaps.length; i++) {
    const to = endsOf(profile, snaps[i + 1]!)
    const leg = findLeg(profile, search, from, to, control)
    throwIfStopped(control)
    if (leg === undefined) return { blockedLeg: i }
    costMs += leg.costMs
    legs.push(leg.steps.map((step) => measureStep(profile, step)))
    from = endsAfter(profile, from, to, leg.arrival)
    yield
  }
  return { costMs, legs }
}

/** Adds lengths, costs and risks under a profile to legs that were found. */
export function routeOf(profile: Profile, legs: readonly Leg[]): Route {
  return {
    costMs: legs.reduce((sum, leg) => sum + leg.costMs, 0),
    legs: legs.map((leg) => leg.steps.map((step) => measureStep(profile, step))),
  }
}

/** Returns a step with its length, cost and risk under a profile. */
export function measureStep(profile: Profile, step: Step): DrivenStep {
  const { link, from, to, turnMs } = step
  let fromMm = 0
  let toMm = profile.graph.segmentLengthMm[link >>> 1]!
  // most steps are whole links, which need no offsets
  if (from !== undefined || to !== undefined) [fromMm, toMm] = stepRange(profile.graph, step)
  const { lengthMm, weightedMm, levelMm, maxLevel } = measure(profile.themes, link >>> 1, fromMm, toMm)
  const speed = profile.graph.linkSpeed[link]!
  return { link, from, to, turnMs, speed, lengthMm, weightedMm, levelMm, maxLevel }
}

/**
 * Finds the cheapest order of the points between the first and the last.
 *
 * @returns BlockedLeg when no order leads through them all: the first blocked leg of the order given
 * @throws AppError CANCELLED, SEARCH_TOO_LARGE
 */
export function findOrder(searcher: Searcher, snaps: readonly Snap[]): Order | BlockedLeg {
  const { profile, control } = searcher
  const ends = snaps.map((snap) => endsOf(profile, snap))
  const matrix = costMatrix(searcher, ends)
  throwIfStopped(control)
  for (;;) {
    const order = orderVia(matrix)
    if (!Number.isFinite(order.costMs)) return { blockedLeg: firstBlockedLeg(matrix) }
    if (!correctLegs(searcher, ends, matrix, order)) return order
  }
}

/**
 * Searches the legs of an order. A leg whose cheapest path turns round where traffic must not costs more than the
 * matrix says, which is a lower bound then: its cost is corrected. An order that is the cheapest by such bounds,
 * and whose own legs are right, is the cheapest.
 *
 * @returns true when a cost has changed
 */
function correctLegs(
  { profile, search, control }: Searcher,
  ends: readonly SnapEnds[],
  { costMs }: CostMatrix,
  { via }: Order,
): boolean {
  const visited = inOrder([...ends.keys()], via)
  let hasChanged = false
  for (let i = 0; i + 1 < visited.length; i++) {
    const [from, to] = [visited[i]!, visited[i + 1]!]
    const leg = findLeg(profile, search, ends[from]!, ends[to]!, control)
    throwIfStopped(control)
    // no test: where the matrix found a path, the exact search finds one as well, if it has to turn round
    const legMs = leg?.costMs ?? Number.POSITIVE_INFINITY
    if (legMs === costMs[from * ends.length + to]!) continue
    costMs[from * ends.length + to] = legMs
    hasChanged = true
  }
  return hasChanged
}

/** Returns start, via points and goal of a request in the order of visit. */
export function inOrder<T>(items: readonly T[], via: readonly number[]): T[] {
  return [items[0]!, ...via.map((i) => items[i + 1]!), items[items.length - 1]!]
}

/** Computes the costs from every point but the goal to every point but the start. */
function costMatrix(searcher: Searcher, ends: readonly SnapEnds[]): CostMatrix {
  const { profile, search, control } = searcher
  const size = ends.length
  const costMs = new Float64Array(size * size).fill(Number.POSITIVE_INFINITY)
  // nothing leads from the goal or to the start, so the last row and the first column stay Infinity
  const froms = ends.slice(0, -1)
  const tos = ends.slice(1)
  const found = search.costs(
    froms.map((end) => end.sources),
    tos.map((end) => end.targets),
    control,
  )
  for (const [row, from] of froms.entries()) {
    for (const [column, to] of tos.entries()) {
      const searchedMs = found?.[row * tos.length + column] ?? Number.POSITIVE_INFINITY
      const directMs = directLeg(profile, from, to)?.costMs ?? Number.POSITIVE_INFINITY
      costMs[row * size + column + 1] = Math.min(searchedMs, directMs)
    }
  }
  return { viaCount: size - 2, costMs }
}

/**
 * Returns the first leg of the order given that has no path. There is one when no order has a path: the order
 * given is among those that are compared.
 */
function firstBlockedLeg({ viaCount, costMs }: CostMatrix): number {
  let from = 0
  while (Number.isFinite(costMs[from * (viaCount + 2) + from + 1])) from++
  return from
}

/** @throws AppError CANCELLED or SEARCH_TOO_LARGE when a limit stopped the last search, nothing otherwise */
export function throwIfStopped({ stoppedBy, maxSettledNodes }: Control): void {
  if (stoppedBy === 'cancel') throw new AppError('CANCELLED')
  if (stoppedBy === 'budget') throw new AppError('SEARCH_TOO_LARGE', { maxSettledNodes })
}
