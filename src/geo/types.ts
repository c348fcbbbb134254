/** Longitude, latitude and optionally height: degrees (WGS 84) and metres, in this order (RFC 7946). */
export type Position = [number, number] | [number, number, number]

export interface Point {
  type: 'Point'
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
/** First ring outside, the others holes; each closed (first position = last). */
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

/** [west, south, east, north], degrees. */
export type Bbox = [number, number, number, number]
