import type { Position } from '../../src/geo/types.js'

/** Corners of a rectangle, counterclockwise and closed. */
export function boxRing(west: number, south: number, east: number, north: number): [number, number][] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
}

/** Polygon of a rectangle. */
export function boxPolygon(west: number, south: number, east: number, north: number) {
  const coordinates: Position[][] = [boxRing(west, south, east, north)]
  return { type: 'Polygon' as const, coordinates }
}
