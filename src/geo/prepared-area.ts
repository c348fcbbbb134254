import { isFault } from './fault.js'
import { shapesIntersect } from './intersects.js'
import { mayTouchBox, touchesPoint } from './locate.js'
import { type Shape, shapeOf } from './shape.js'
import type { Bbox, Geometry } from './types.js'
import { isWithinShape } from './within.js'
import { decodeWkb } from './wkb.js'

/**
 * A geometry that many others are compared with. Comparisons are exact; a point in WKB costs a walk down the
 * tree and no allocation.
 */
export interface PreparedArea {
  /** undefined when the geometry is empty; then nothing intersects it */
  readonly bbox: Bbox | undefined
  readonly geometry: Geometry
  intersectsGeometry(geometry: Geometry): boolean
  /**
   * Does the same for WKB as `encodeWkb` writes it; false when it cannot be read.
   *
   * @param throwIfEnded called now and then while a large geometry is compared
   */
  intersectsWkb(wkb: Uint8Array, throwIfEnded?: () => void): boolean
  intersectsPoint(x: number, y: number): boolean
  /**
   * Returns false only when the area has no point of a closed box: a quick test before the geometry in the box is
   * read. Always true for an area of many positions, whose test would take as long as reading.
   */
  mayIntersectBox(west: number, south: number, east: number, north: number): boolean
  /** Returns true when the other geometry is within this one (ST_Within of PostGIS). */
  containsGeometry(geometry: Geometry): boolean
  containsWkb(wkb: Uint8Array, throwIfEnded?: () => void): boolean
}

/** Prepares a geometry. Cost: linear in its positions, plus a sort of its parts. */
export function prepareArea(geometry: Geometry): PreparedArea {
  const shape = shapeOf(geometry)
  const readDouble = createDoubleReader()
  return {
    bbox: shape.bbox,
    geometry,
    intersectsGeometry: (other) => shapesIntersect(shape, shapeOf(other)),
    intersectsWkb: (wkb, throwIfEnded) => intersectsWkb(shape, wkb, readDouble, throwIfEnded),
    intersectsPoint: (x, y) => touchesPoint(shape, x, y),
    mayIntersectBox: (west, south, east, north) =>
      shape.nodeCount > MAX_BOX_NODES || mayTouchBox(shape, west, south, east, north),
    containsGeometry: (other) => isWithinShape(shapeOf(other), shape),
    containsWkb(wkb, throwIfEnded) {
      const other = decodeWkb(wkb)
      return !isFault(other) && isWithinShape(shapeOf(other), shape, throwIfEnded)
    },
  }
}

/** Most nodes of a shape that is compared with boxes: some 500 edges. */
const MAX_BOX_NODES = 64

const POINT_BYTES = 21

function intersectsWkb(
  shape: Shape,
  wkb: Uint8Array,
  readDouble: DoubleReader,
  throwIfEnded: (() => void) | undefined,
): boolean {
  if (wkb.length === POINT_BYTES && wkb[0] === 1 && wkb[1] === 1 && wkb[2] === 0)
    return touchesPoint(shape, readDouble(wkb, 5), readDouble(wkb, 13))
  const geometry = decodeWkb(wkb)
  return !isFault(geometry) && shapesIntersect(shape, shapeOf(geometry), throwIfEnded)
}

/** Reads a little-endian double. */
type DoubleReader = (bytes: Uint8Array, at: number) => number

/**
 * Returns a reader that allocates nothing, at any alignment. It relies on a little-endian machine, as all of
 * V8's are.
 */
function createDoubleReader(): DoubleReader {
  const double = new Float64Array(1)
  const doubleBytes = new Uint8Array(double.buffer)
  return (bytes, at) => {
    for (let index = 0; index < 8; index++) doubleBytes[index] = bytes[at + index]!
    return double[0]!
  }
}
