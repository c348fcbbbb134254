import { type BatchCall, callBatch } from '../../core/rpc.js'
import { facts } from '../../core/session.js'
import { type FoundRoute, mapState, type RouteFeature, type RouteResult } from '../state.js'

/** Colours of the routes that are not the one around the risk, which has that of the text. */
const FASTEST_COLOUR = '#2369d8'
const OTHER_COLOURS = ['#8a4fbf', '#00838f', '#b5651d', '#c2367e']

/**
 * Finds the routes of the current question: around the risk, the fastest of all, and alternatives. Where no
 * theme is chosen the first is the fastest.
 *
 * @param isLive alternatives are left out: they take the longest, and nobody compares them during a drag
 */
export async function findRoutes(
  signal: AbortSignal,
  isLive: boolean,
): Promise<{ routes: FoundRoute[]; searchMs: number | undefined }> {
  const { themes, timeDependent } = mapState
  const count = isLive || timeDependent ? 1 : Math.min(mapState.alternatives, facts().maxAlternatives)
  const calls = [routeCall(themes, count)]
  // sensitivities of 0: the route is as fast as without risk, and the answer tells the risk on it
  const none = new Map([...themes.keys()].map((theme) => [theme, new Array<number>(11).fill(0)]))
  if (themes.size > 0) calls.push(routeCall(none, 1))
  const { results, searchMs } = await callBatch(calls, signal)
  const [best, fastest] = results as Wire[]
  if (best === undefined) return { routes: [], searchMs }
  const routes: FoundRoute[] = [
    themes.size > 0
      ? { kind: 'around', key: 'around', colour: undefined, route: read(best) }
      : { kind: 'fastest', key: 'fastest', colour: FASTEST_COLOUR, route: read(best) },
  ]
  if (fastest !== undefined)
    routes.push({ kind: 'fastest', key: 'fastest', colour: FASTEST_COLOUR, route: read(fastest) })
  for (const [i, other] of (best.alternatives ?? []).entries()) {
    const colour = OTHER_COLOURS[i % OTHER_COLOURS.length]
    routes.push({ kind: 'other', key: String(i + 1), colour, route: read(other) })
  }
  return { routes, searchMs }
}

type Wire = Omit<RouteResult, 'features'> & Record<string, unknown> & { alternatives?: Wire[] }

/** @param alternatives number of routes */
function routeCall(themes: ReadonlyMap<string, number[]>, alternatives: number): BatchCall {
  const { timeDependent } = mapState
  return {
    method: 'routing.dijkstra',
    params: [{ ...routeParams(themes), alternatives, depart: timeDependent ? 'time_dependent' : 'fixed' }],
  }
}

/** Params of the current question, without the number of routes. */
export function routeParams(themes: ReadonlyMap<string, number[]>): Record<string, unknown> {
  const { points, atMs, reorder, mapName } = mapState
  return {
    themes: Object.fromEntries(themes),
    start_lonlat: points[0],
    goal_lonlat: points[points.length - 1],
    via: points.slice(1, -1),
    start_datetime: new Date(atMs).toISOString(),
    reorder_waypoints: reorder,
    ...(mapName === undefined ? {} : { map: mapName }),
  }
}

/** The setting service.routeKey names the property of the road features. */
function read(route: Wire): RouteResult {
  return { ...route, features: (route[facts().routeKey] as { features: RouteFeature[] }).features }
}
