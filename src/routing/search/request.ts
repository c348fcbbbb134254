import type { MultiPolygon, Polygon } from '../../geo/types.js'
import type { AskedPoint } from '../graph/places.js'
import type { RouteWishes } from './solve.js'

/** What the main thread asks the search worker: checked, in plain values that cross threads. */
export interface PriceRequest {
  readonly map: string | undefined
  /** theme → 11 sensitivities, in the order of the request */
  readonly themes: readonly (readonly [theme: string, sensitivity: readonly number[]])[]
  /** µs UTC */
  readonly startUs: bigint
}

export interface RouteRequest extends PriceRequest, RouteWishes {
  /** start, via points as given, goal */
  readonly points: readonly AskedPoint[]
  /** closed areas */
  readonly avoid: readonly (Polygon | MultiPolygon)[]
  readonly isTimeDependent: boolean
}

export interface MatrixRequest extends PriceRequest {
  readonly sources: readonly AskedPoint[]
  readonly targets: readonly AskedPoint[]
}

export interface IsochroneRequest extends PriceRequest {
  readonly point: AskedPoint
  /** hours */
  readonly costs: readonly number[]
  /** closed areas */
  readonly avoid: readonly (Polygon | MultiPolygon)[]
}

export interface NearestRequest {
  readonly map: string | undefined
  readonly point: AskedPoint
}

/** A straight stretch of a route whose exposure to risk is asked for. */
export interface RiskStretch {
  readonly from: readonly [lng: number, lat: number]
  readonly to: readonly [lng: number, lat: number]
  /** undefined = when the stretch before ends */
  readonly startUs: bigint | undefined
  readonly kmPerH: number
}

export interface CalcRiskRequest {
  readonly themes: readonly string[]
  readonly stretches: readonly RiskStretch[]
  readonly startUs: bigint
}

/** Calls of the search worker: name → what it is given. Each answers JSON text of the method's result. */
export interface SearchCalls {
  route: RouteRequest
  matrix: MatrixRequest
  isochrone: IsochroneRequest
  nearest: NearestRequest
  maps: null
  calcRisk: CalcRiskRequest
}
