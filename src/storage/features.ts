import type { PreparedArea } from '../geo/prepared-area.js'
import type { Bbox } from '../geo/types.js'
import type { Span, TableRow } from './tables.js'

/** Kinds of feature sources: loader table, current rows of a dataset, cited state. */
export type FeatureKind = 'table' | 'dataset' | 'citation'

/** Column as a property of features. */
export interface FeatureColumn {
  readonly name: string
  /** PostgreSQL's internal type name */
  readonly udtName: string
  readonly isNullable: boolean
  /** a query may compare it: it has an order and is not encrypted */
  readonly isQueryable: boolean
}

/** Selection of features. An absent part selects all. */
export interface FeatureQuery {
  /**
   * features whose geometry intersects it exactly, and features without a geometry, as OGC API – Features
   * requires
   */
  area?: PreparedArea
  /** features whose [start, end) overlaps it, half-open, µs UTC */
  span?: Span
  /** condition of a caller, not yet checked */
  conds?: unknown
  /** features with larger ids only */
  afterId?: number
  /** features with smaller ids only */
  beforeId?: number
  /** the last `limit` features instead of the first, still in ascending order */
  isFromEnd?: boolean
  limit?: number
}

/** Bounds of the features of a source; they may be wider than the features. */
export interface FeatureExtent {
  /** undefined when no feature has a geometry */
  readonly bbox: Bbox | undefined
  /** µs UTC; null for an unbounded end; undefined when the source has no times */
  readonly interval: readonly [bigint | null, bigint | null] | undefined
}

/** Rows of a loader table, a dataset or a citation as features, in the order of their ids. */
export interface FeatureSource {
  readonly kind: FeatureKind
  readonly name: string
  readonly description: string
  /** without the geometry, and without file columns: `getfileapi.get_file` returns those */
  readonly columns: readonly FeatureColumn[]
  readonly hasGeometry: boolean
  /** it has a start and an end that spans are compared with */
  readonly hasPeriod: boolean
  /** Returns a text that differs after every change of the rows. */
  version(): Promise<string>
  extent(): Promise<FeatureExtent>
  /** Reads pages while they are asked for. @throws AppError BAD_CONDITION, CANCELLED */
  pages(query: FeatureQuery, signal?: AbortSignal): AsyncGenerator<TableRow[]>
  /** Counts the features that match. @throws AppError BAD_CONDITION, CANCELLED */
  count(query: FeatureQuery, signal?: AbortSignal): Promise<number>
}

/** Finds feature sources. */
export interface FeatureSources {
  /** Finds a source by its exact name: short form of a dataset, long form of a citation. */
  find(kind: FeatureKind, name: string): Promise<FeatureSource | undefined>
  list(kind: FeatureKind): Promise<FeatureSource[]>
}
