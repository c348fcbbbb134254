import type { Config } from '../config.js'
import { formatDatetimeShort, MAX_US, parseOffset } from '../datetime.js'
import { AppError } from '../errors.js'
import { calcRiskSliced } from '../risk/calc-risk.js'
import { planTravel, travelSpan } from '../risk/travel.js'
import { riskAnswer } from '../route-answer/risk-answer.js'
import { describeMap, describePlace } from '../routing/graph/describe-map.js'
import { type AskedPoint, chooseMap, placePoint, placePoints } from '../routing/graph/places.js'
import type { Control } from '../routing/search/dijkstra.js'
import { findIsochrones } from '../routing/search/isochrone.js'
import { findMatrixSliced } from '../routing/search/matrix.js'
import { freeWeights, type Profile } from '../routing/search/profile.js'
import type {
  CalcRiskRequest,
  IsochroneRequest,
  MatrixRequest,
  NearestRequest,
  PriceRequest,
  RouteRequest,
} from '../routing/search/request.js'
import { runAtOnce, type Sliced } from '../routing/search/sliced.js'
import { solveRouteSliced } from '../routing/search/solve.js'
import type { Timetable } from '../routing/search/time-dependent.js'
import type { Work, WorkHandler } from '../worker/host.js'
import type { Engine } from './engine.js'
import { inTurns } from './in-turns.js'
import type { LoadedMap, Maps } from './maps.js'
import { closedBy, type Prices, type WatchedTimetable } from './pricing.js'
import type { Themes } from './themes.js'
import { createTileMaker } from './tiles.js'

/** A search over time that tables change under is tried so often in turns with other calls. */
const MAX_TRIES_OVER_TIME = 3
const MS_PER_HOUR = 3_600_000

export interface SearchParts {
  readonly config: Config
  readonly maps: Maps
  readonly themes: Themes
  readonly prices: Prices
  readonly engine: Engine
}

/** The calls that the search worker answers, most of them with the JSON text of a method's result. */
export function searchCalls(parts: SearchParts): Record<string, WorkHandler> {
  const { maps, themes, prices } = parts
  return {
    route: (request: RouteRequest, work) => answerRoute(parts, request, work),
    matrix: async (request: MatrixRequest, work) => JSON.stringify(await answerMatrix(parts, request, work)),
    isochrone: async (request: IsochroneRequest, work) =>
      JSON.stringify(await answerIsochrone(parts, request, work)),
    calcRisk: async (request: CalcRiskRequest, work) =>
      JSON.stringify(await answerCalcRisk(parts, request, work)),
    tile: createTileMaker(maps, parts.config.tiles.cacheBytes),
    nearest: (request: NearestRequest) => JSON.stringify(answerNearest(parts, request)),
    maps: () => JSON.stringify({ maps: maps.list().map(describeMap) }),
    reload: () => {
      maps.reload()
      prices.warm(maps.list())
      return { maps: maps.list().map((map) => map.name), faults: maps.faults() }
    },
    status: () => ({
      maps: maps.list().map(({ name, graph }) => ({ name, bytes: graph.buffer.byteLength })),
      faults: maps.faults(),
      ...themes.stats(),
      ...prices.stats(),
    }),
  }
}

/** All themes of a request are read as of one moment, so that an answer never mixes two states of the tables. */
function reading<T>(themes: Themes, request: PriceRequest, work: () => T): T {
  return request.themes.length === 0 ? work() : themes.reading(work)
}

/**
 * Roads are priced first, of one moment; while what that needs is made ready, and between the legs of the
 * search, other calls are answered.
 */
async function answerRoute(parts: SearchParts, request: RouteRequest, work: Work) {
  const { config, maps, themes, prices, engine } = parts
  const { maxSnapM } = config.routing
  const { routeKey } = config.service
  const map = mapFor(maps, request.map, request.points)
  const places = placePoints(map, request.points, maxSnapM)
  const closed = closedBy(map.graph, request.avoid)
  const solve = (profile: Profile, timetable: Timetable | undefined) =>
    solveRouteSliced(
      request,
      { map, profile, timetable, searchWith: (weights) => engine.searchWith(map, weights) },
      request.points,
      places,
      controlOf(config, work),
      routeKey,
    )
  const priceNow = () => prices.profileAt(map, request, request.startUs, closed)
  if (request.isTimeDependent) {
    await engine.ready(freeWeights(map.graph), work) // its costs guide the search
    const open = () => ({ profile: priceNow(), timetable: prices.timetable(map, request, closed) })
    return await answerOverTime(<T>(read: () => T) => reading(themes, request, read), open, solve, work)
  }
  const profile = reading(themes, request, priceNow)
  await engine.ready(profile.weights, work)
  return await inTurns(solve(profile, undefined), work)
}

/**
 * A search over time reads its prices on the way. When a table changes meanwhile it begins again, and after some tries
 * it runs in one go.
 */
async function answerOverTime(
  inOneState: <T>(read: () => T) => T,
  open: () => { profile: Profile; timetable: WatchedTimetable },
  solve: (profile: Profile, timetable: Timetable) => Sliced<string>,
  work: Work,
): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES_OVER_TIME; tries++) {
    const { profile, timetable } = inOneState(open)
    try {
      const answer = await inTurns(solve(profile, timetable), work)
      if (!timetable.isMixed()) return answer
    } catch (error) {
      if (!timetable.isMixed()) throw error
    }
  }
  return inOneState(() => {
    const { profile, timetable } = open()
    return runAtOnce(solve(profile, timetable))
  })
}

async function answerMatrix(parts: SearchParts, request: MatrixRequest, work: Work) {
  const { config, maps, themes, prices, engine } = parts
  const { maxSnapM } = config.routing
  const map = mapFor(maps, request.map, [...request.sources, ...request.targets])
  const profile = reading(themes, request, () => prices.profileAt(map, request, request.startUs))
  await engine.ready(profile.weights, work)
  const searcher = {
    profile,
    search: engine.searchWith(map, profile.weights),
    control: controlOf(config, work),
  }
  const sources = placePoints(map, request.sources, maxSnapM)
  const targets = placePoints(map, request.targets, maxSnapM)
  return { map: map.name, ...(await inTurns(findMatrixSliced(searcher, sources, targets), work)) }
}

async function answerIsochrone(parts: SearchParts, request: IsochroneRequest, work: Work) {
  const { config, maps, themes, prices, engine } = parts
  const map = mapFor(maps, request.map, [request.point])
  const place = placePoint(map, request.point, config.routing.maxSnapM)
  const closed = closedBy(map.graph, request.avoid)
  const profile = reading(themes, request, () => prices.profileAt(map, request, request.startUs, closed))
  await engine.ready(profile.weights, work)
  const search = engine.searchWith(map, profile.weights)
  const limitsMs = request.costs.map((hours) => Math.floor(hours * MS_PER_HOUR))
  const areas = await inTurns(
    findIsochrones({ profile, search, control: controlOf(config, work) }, place, limitsMs),
    work,
  )
  const features = areas.map(({ junctionCount, polygons }, i) => ({
    type: 'Feature',
    geometry: { type: 'MultiPolygon', coordinates: polygons },
    properties: { cost: request.costs[i], nodes: junctionCount, map: map.name },
  }))
  return { type: 'FeatureCollection', features }
}

function answerNearest({ config, maps }: SearchParts, { map: name, point }: NearestRequest) {
  const map = mapFor(maps, name, [point])
  return describePlace(map, placePoint(map, point, config.routing.maxSnapM))
}

async function answerCalcRisk({ config, themes }: SearchParts, request: CalcRiskRequest, work: Work) {
  const legs = planTravel(request.stretches, request.startUs)
  const span = travelSpan(legs)
  if (span.untilUs > MAX_US) throw endsTooLate()
  const cells = themes.reading(
    () =>
      new Map(request.themes.map((name) => [name, themes.timedCellsOf(themes.find(name), span)] as const)),
  )
  const offsetMin = parseOffset(config.service.timeZone) ?? 0
  const risk = await inTurns(calcRiskSliced(legs, cells), work)
  return riskAnswer(risk, request.startUs, (us) => formatDatetimeShort(us, offsetMin))
}

function endsTooLate(): AppError {
  const faults = [{ path: '$.route', message: 'expected a journey that ends before the year 10000' }]
  return new AppError(
    'INVALID_PARAMS',
    { faults },
    { message: `Invalid params: $.route: ${faults[0]?.message}` },
  )
}

function mapFor(maps: Maps, name: string | undefined, points: readonly AskedPoint[]): LoadedMap {
  return chooseMap(maps.list(), name, points)
}

function controlOf(config: Config, work: Work): Control {
  return { cancel: work.cancel, maxSettledNodes: config.routing.maxSettledNodes }
}
