/** Longitude, latitude and optionally height, in this order (RFC 7946): degrees (WGS 84) and metres. */
export type Position = [number, number] | [number, number, number]

export interface Point {
  type: 'Point'
  /** of an empty point an empty array, which the type does not say: hardly any code meets one */
  coordinates: Position
}
export interface MultiPoint {
  type: 'MultiPoint'
  coordinates: Position[]
}
export interface LineString {
  type: 'LineString'
  coordinates: Position[]
}
export interface MultiLineString {
  type: 'MultiLineString'
  coordinates: Position[][]
}
/** Polygon of one outer ring, then its holes; each ring is closed (first position = last). */
export interface Polygon {
  type: 'Polygon'
  coordinates: Position[][]
}
export interface MultiPolygon {
  type: 'MultiPolygon'
  coordinates: Position[][][]
}
export interface GeometryCollection {
  type: 'GeometryCollection'
  geometries: Geometry[]
}
export type Geometry =
  | Point
  | MultiPoint
  | LineString
  | MultiLineString
  | Polygon
  | MultiPolygon
  | GeometryCollection

export interface Feature<G = Geometry | null, P = Record<string, unknown>> {
  type: 'Feature'
  geometry: G
  properties: P
}

/** A box by its sides, in any unit. */
export interface Extent {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** A box as GeoJSON has it (RFC 7946 section 5): [west, south, east, north], degrees. */
export type Bbox = [number, number, number, number]
