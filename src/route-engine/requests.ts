import type { MultiPolygon, Polygon } from '../geo/types.js'
import type { RiskStretch } from '../risk/travel.js'
import type { RouteShape } from '../route-answer/leg-text.js'
import type { RequestPoint } from '../route-answer/request-point.js'
import type { Vehicle } from '../routing/conditions/vehicle.js'
import type { PlacesRequest } from './base-maps.js'

/**
 * Themes of a request to the search worker. All requests are checked before, and are plain values that cross
 * threads.
 */
export interface ProfileRequest {
  readonly map: string | undefined
  /** theme → 11 sensitivities, in the order of the request */
  readonly themes: readonly (readonly [theme: string, sensitivity: readonly number[]])[]
  /** undefined = within every limit */
  readonly vehicle?: Vehicle | undefined
  /** µs UTC; undefined = no time is given: there are no themes, and no condition of times holds */
  readonly startUs: bigint | undefined
}

/** A request with who asked, the id of a key: what is kept for it takes its owner's share of the caches. */
export type Owned<R extends ProfileRequest = ProfileRequest> = R & { readonly owner: string }

/** Request for a route, from `routing.dijkstra`. */
export interface RouteRequest extends ProfileRequest {
  readonly startUs: bigint
  /** start, via points as given, goal */
  readonly points: readonly RequestPoint[]
  /** closed areas */
  readonly avoid: readonly (Polygon | MultiPolygon)[]
  readonly isTimeDependent: boolean
  /** visit the via points in the cheapest order instead of the order given */
  readonly reorder: boolean
  readonly withKml: boolean
  readonly shape: RouteShape
  /** number of routes wanted; 1 = the best one alone */
  readonly alternatives: number
}

/** Request for costs between many points. */
export interface MatrixRequest extends ProfileRequest {
  readonly sources: readonly RequestPoint[]
  readonly targets: readonly RequestPoint[]
}

/** Request for areas that can be reached from a point. */
export interface IsochroneRequest extends ProfileRequest {
  readonly point: RequestPoint
  /** hours */
  readonly costs: readonly number[]
  /** closed areas */
  readonly avoid: readonly (Polygon | MultiPolygon)[]
}

/** Request for the nearest point on a road. */
export interface NearestRequest extends Pick<ProfileRequest, 'map' | 'vehicle' | 'startUs'> {
  readonly point: RequestPoint
}

/** Request for the exposure to risk along a journey. */
export interface CalcRiskRequest {
  readonly themes: readonly string[]
  readonly stretches: readonly RiskStretch[]
  readonly startUs: bigint
}

/** Calls of the search worker: name → request. Each answers the JSON text of the method's result. */
export interface SearchCalls {
  route: RouteRequest
  matrix: MatrixRequest
  isochrone: IsochroneRequest
  nearest: NearestRequest
  maps: null
  calcRisk: CalcRiskRequest
  places: PlacesRequest
}
