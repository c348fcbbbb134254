import type { FeatureSources } from '../storage/features.js'

/** A request below `/ogc`, whatever carried it. */
export interface OgcRequest {
  /** parts of the path below `/ogc`, decoded */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  /** the Accept header */
  readonly accept: string | undefined
  /** URL of the landing page, without a slash at its end */
  readonly baseUrl: string
  readonly signal: AbortSignal
  /** which collections the caller may read */
  readonly may: { readonly tables: boolean; readonly datasets: boolean }
}

export interface OgcAnswer {
  readonly type: string
  /** text, or text that is made while it is sent */
  readonly body: string | AsyncGenerator<string>
  readonly headers: Readonly<Record<string, string>>
}

export interface OgcOptions {
  readonly sources: FeatureSources
  readonly version: string
  /** minutes east of UTC, for datetimes without an offset */
  readonly timeZoneMin: number
  /** most features of one answer */
  readonly maxFeatures: number
  /** µs UTC */
  nowUs(): number
}

/** What the builders of documents know of a request. */
export interface Page {
  readonly baseUrl: string
  readonly format: Format
}

export type Format = 'json' | 'html'

export interface Link {
  readonly href: string
  readonly rel: string
  readonly type?: string
  readonly title?: string
}

export const JSON_TYPE = 'application/json'
export const GEOJSON_TYPE = 'application/geo+json'
export const HTML_TYPE = 'text/html; charset=utf-8'
export const OPENAPI_TYPE = 'application/vnd.oai.openapi+json;version=3.0'
export const SCHEMA_TYPE = 'application/schema+json'
