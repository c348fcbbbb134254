import { formatDatetimeShort, MAX_US, parseOffset } from '../datetime.js'
import { invalidParams } from '../errors.js'
import { baseFileOf } from '../files/layout.js'
import { calcRiskSliced } from '../risk/calc-risk.js'
import { planTravel, travelSpan } from '../risk/travel.js'
import { isochroneText } from '../route-answer/isochrone-text.js'
import type { LegWriter } from '../route-answer/leg-text.js'
import { snapInfo } from '../route-answer/map-info.js'
import { riskAnswer } from '../route-answer/risk-answer.js'
import type { NamedGraph } from '../routing/graph/graph.js'
import { MS_PER_HOUR } from '../routing/search/cost.js'
import { findIsochrones } from '../routing/search/isochrone.js'
import type { Searcher } from '../routing/search/route.js'
import { moved, type Work, type WorkHandler } from '../worker/host.js'
import { answerMatrix } from './answer-matrix.js'
import { answerRoute } from './answer-route.js'
import { baseInfo, findPlaces, needBase, type PlacesRequest } from './base-maps.js'
import { chooseMap, snapPoint } from './locate.js'
import type { LoadedMap, Maps, ServedMap } from './maps.js'
import { closedOverlay, stateOf } from './profiles.js'
import type {
  CalcRiskRequest,
  IsochroneRequest,
  MatrixRequest,
  NearestRequest,
  ProfileRequest,
  RouteRequest,
} from './requests.js'
import { runSliced } from './run-sliced.js'
import { controlOf, type SearchParts } from './search-parts.js'
import { inSnapshot, readPrepared, withRowsOf } from './themes.js'
import { createTileMaker, type TileRequest } from './tiles.js'

/**
 * Returns the handlers of the search worker by name; most of them answer the JSON text of a method's
 * result, as text or as bytes of UTF-8.
 */
export function searchCalls(parts: SearchParts): Record<string, WorkHandler> {
  const { config, maps, themes, profiles } = parts
  const writers: LegWriter[] = []
  return {
    route: (request: RouteRequest, work) =>
      withRowsOf(themes, request, async () => moved(await answerRoute(parts, writers, request, work))),
    matrix: (request: MatrixRequest, work) =>
      withRowsOf(themes, request, () => matrixCall(parts, request, work)),
    isochrone: (request: IsochroneRequest, work) =>
      withRowsOf(themes, request, () => answerIsochrone(parts, request, work)),
    calcRisk: (request: CalcRiskRequest, work) =>
      themes.withRows(request.themes, () => answerCalcRisk(parts, request, work)),
    tile: createTileMaker(maps, config.tiles.cacheBytes),
    baseTile: (request: TileRequest) => baseTile(maps, request),
    baseFacts: (name: string) => {
      const { base } = needBase(maps.bases, chooseMap(maps.list(), name, []).name)
      const { bbox, attribution, layers } = base.meta
      return { minZoom: base.minZoom, maxZoom: base.maxZoom, bbox, attribution, layers }
    },
    places: (request: PlacesRequest) => answerPlaces(maps, request),
    nearest: (request: NearestRequest) => answerNearest(parts, request),
    maps: () =>
      JSON.stringify({ maps: maps.list().map((map) => ({ ...map.info, ...baseState(maps, map) })) }),
    reload: () => {
      maps.reload()
      const baseFaults = maps.bases.faults()
      return { maps: maps.list().map((map) => map.name), faults: maps.faults(), baseFaults }
    },
    status: () => ({
      maps: maps.list().map(({ name, bytes }) => ({ name, bytes })),
      faults: maps.faults(),
      ...themes.stats(),
      ...profiles.stats(),
    }),
  }
}

/** Base map of a map, or why there is none, in wire names. */
function baseState({ bases }: Maps, map: ServedMap): { base: unknown; base_fault: string | null } {
  const found = bases.find(map.name)
  const file = baseFileOf(map.file)
  const fault = bases.faults().find((each) => each.file === file)
  return { base: found === undefined ? null : baseInfo(found), base_fault: fault?.message ?? null }
}

/** @throws AppError UNKNOWN_MAP, NO_BASE_MAP, BAD_BASE_MAP */
function baseTile(maps: Maps, { map, z, x, y }: TileRequest) {
  const { base } = needBase(maps.bases, chooseMap(maps.list(), map, []).name)
  return base.tile(z, x, y) ?? { packed: undefined, tag: 'empty' }
}

/** @throws AppError UNKNOWN_MAP, NO_BASE_MAP, BAD_BASE_MAP */
function answerPlaces(maps: Maps, request: PlacesRequest): string {
  const list = maps.list()
  if (request.map !== undefined) chooseMap(list, request.map, [])
  return findPlaces(
    maps.bases,
    list.map(({ name }) => name),
    request,
  )
}

async function matrixCall(parts: SearchParts, request: MatrixRequest, work: Work): Promise<string> {
  const { config, maps } = parts
  const map = chooseMap(maps.list(), request.map, [...request.sources, ...request.targets]).open()
  const searcher = await openSearcher(parts, map, request, work)
  return await runSliced(answerMatrix(searcher, mapNow(map, request), request, config.routing.maxSnapM), work)
}

async function answerIsochrone(parts: SearchParts, request: IsochroneRequest, work: Work): Promise<string> {
  const { config, maps } = parts
  const map = chooseMap(maps.list(), request.map, [request.point]).open()
  const snap = snapPoint(mapNow(map, request), request.point, config.routing.maxSnapM)
  const searcher = await openSearcher(parts, map, request, work)
  const limitsMs = request.costs.map((hours) => Math.floor(hours * MS_PER_HOUR))
  const isochrones = await runSliced(findIsochrones(searcher, snap, limitsMs), work)
  return isochroneText(map.name, request.costs, isochrones)
}

/** Computes the profile of a request from one state of the tables, and prepares its search. */
async function openSearcher(
  { config, themes, profiles, engine }: SearchParts,
  map: LoadedMap,
  request: ProfileRequest & Partial<Pick<IsochroneRequest, 'avoid'>>,
  work: Work,
): Promise<Searcher> {
  const closed = await closedOverlay(map.graph, request.avoid ?? [], work)
  const profile = await readPrepared(themes, map, request, work, () =>
    profiles.profileAt(map, { ...request, owner: work.owner }, closed),
  )
  await engine.prepare(profile.weights, work)
  return {
    profile,
    search: engine.searchWith(map, profile.weights),
    control: controlOf(config, work),
  }
}

function answerNearest({ config, maps }: SearchParts, request: NearestRequest): string {
  const map = mapNow(chooseMap(maps.list(), request.map, [request.point]).open(), request)
  return JSON.stringify(snapInfo(map, snapPoint(map, request.point, config.routing.maxSnapM)))
}

/** Returns a map as it is at the time of a request, for its vehicle. */
function mapNow(map: LoadedMap, request: Pick<ProfileRequest, 'vehicle' | 'startUs'>): NamedGraph {
  return { name: map.name, graph: stateOf(map, request, request.startUs).graph }
}

async function answerCalcRisk(
  { config, themes }: SearchParts,
  request: CalcRiskRequest,
  work: Work,
): Promise<string> {
  const legs = planTravel(request.stretches, request.startUs)
  const span = travelSpan(legs)
  if (span.untilUs > MAX_US) {
    throw invalidParams([{ path: '$.route', message: 'expected a journey that ends before the year 10000' }])
  }
  const cells = inSnapshot(
    themes,
    request,
    () =>
      new Map(request.themes.map((name) => [name, themes.timedCellsOf(themes.find(name), span)] as const)),
  )
  const offsetMin = parseOffset(config.service.timeZone) ?? 0
  const risk = await runSliced(calcRiskSliced(legs, cells), work)
  return JSON.stringify(riskAnswer(risk, request.startUs, (us) => formatDatetimeShort(us, offsetMin)))
}
