import type { FeatureSources } from '../storage/features.js'

/** Request below `/ogc`, independent of the transport. */
export interface OgcRequest {
  /** decoded segments of the path below `/ogc` */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  /** the Accept header */
  readonly accept: string | undefined
  /** URL of the landing page, without a slash at its end */
  readonly baseUrl: string
  readonly signal: AbortSignal
  /** collections that the caller may read */
  readonly may: { readonly tables: boolean; readonly datasets: boolean }
}

export interface OgcAnswer {
  readonly type: string
  /** text, or text that is produced while it is sent */
  readonly body: string | AsyncGenerator<string>
  readonly headers: Readonly<Record<string, string>>
}

export interface OgcOptions {
  readonly sources: FeatureSources
  readonly version: string
  /** minutes east of UTC, for datetimes without an offset */
  readonly timeZoneMin: number
  /** most features of one response */
  readonly maxFeatures: number
  /** µs UTC */
  nowUs(): number
}

/** Facts about a request that documents depend on. */
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
