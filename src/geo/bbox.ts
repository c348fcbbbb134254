import { type Coordinates, isPosition } from './coordinates.js'
import type { Bbox, Geometry } from './types.js'

/** Returns the box around a geometry; undefined when it is empty. Linear in its positions. */
export function bboxOf(geometry: Geometry): Bbox | undefined {
  // inverted, so that the first position sets all four sides; still inverted when there is none
  const box: Bbox = [Infinity, Infinity, -Infinity, -Infinity]
  if (geometry.type === 'GeometryCollection') {
    for (const member of geometry.geometries) {
      const inner = bboxOf(member)
      if (inner !== undefined) grow(box, inner)
    }
  } else {
    include(box, geometry.coordinates)
  }
  return box[0] <= box[2] ? box : undefined
}

/** Returns true when two boxes share at least a point. */
export function boxesTouch(a: Bbox, b: Bbox): boolean {
  return a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
}

/** Returns a box as a polygon, counterclockwise from the south-west corner. */
export function boxPolygon([west, south, east, north]: Bbox): Geometry {
  const ring: [number, number][] = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { type: 'Polygon', coordinates: [ring] }
}

/** Widens a box to hold all positions, at any depth of nesting. */
function include(box: Bbox, coordinates: Coordinates): void {
  if (!isPosition(coordinates)) {
    for (const inner of coordinates) include(box, inner)
    return
  }
  const x = coordinates[0]!
  const y = coordinates[1]!
  if (x < box[0]) box[0] = x
  if (x > box[2]) box[2] = x
  if (y < box[1]) box[1] = y
  if (y > box[3]) box[3] = y
}

function grow(box: Bbox, other: Bbox): void {
  box[0] = Math.min(box[0], other[0])
  box[1] = Math.min(box[1], other[1])
  box[2] = Math.max(box[2], other[2])
  box[3] = Math.max(box[3], other[3])
}
