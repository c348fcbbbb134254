import { isFault } from './fault.js'
import { shapesIntersect } from './intersects.js'
import { touchesPoint } from './locate.js'
import { type Shape, shapeOf } from './shape.js'
import type { Bbox, Geometry } from './types.js'
import { isWithinShape } from './within.js'
import { decodeWkb } from './wkb.js'

/**
 * One geometry that many rows are compared with. The comparisons are exact; a point in WKB costs a walk down the tree
 * and no allocation.
 */
export interface PreparedArea {
  /** undefined when the geometry is empty: then nothing intersects it */
  readonly bbox: Bbox | undefined
  readonly geometry: Geometry
  intersectsGeometry(geometry: Geometry): boolean
  /** @param wkb as `encodeWkb` writes it; anything unreadable does not intersect */
  intersectsWkb(wkb: Uint8Array): boolean
  intersectsPoint(x: number, y: number): boolean
  /** Is the other geometry within this one (ST_Within of PostGIS)? */
  containsGeometry(geometry: Geometry): boolean
  containsWkb(wkb: Uint8Array): boolean
}

/** Makes a geometry ready; linear in its size, plus a sort of its parts. */
export function prepareArea(geometry: Geometry): PreparedArea {
  const shape = shapeOf(geometry)
  return {
    bbox: shape.bbox,
    geometry,
    intersectsGeometry: (other) => shapesIntersect(shape, shapeOf(other)),
    intersectsWkb: (wkb) => intersectsWkb(shape, wkb),
    intersectsPoint: (x, y) => touchesPoint(shape, x, y),
    containsGeometry: (other) => isWithinShape(shapeOf(other), shape),
    containsWkb(wkb) {
      const other = decodeWkb(wkb)
      return !isFault(other) && isWithinShape(shapeOf(other), shape)
    },
  }
}

const POINT_BYTES = 21

function intersectsWkb(shape: Shape, wkb: Uint8Array): boolean {
  if (wkb.length === POINT_BYTES && wkb[0] === 1 && wkb[1] === 1 && wkb[2] === 0)
    return touchesPoint(shape, readDouble(wkb, 5), readDouble(wkb, 13))
  const geometry = decodeWkb(wkb)
  return !isFault(geometry) && shapesIntersect(shape, shapeOf(geometry))
}

// one double, eight bytes: reading through it allocates nothing, whatever the alignment of the bytes
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)

/** Little endian; so is every machine that V8 runs on. */
function readDouble(bytes: Uint8Array, at: number): number {
  for (let index = 0; index < 8; index++) doubleBytes[index] = bytes[at + index]!
  return double[0]!
}
