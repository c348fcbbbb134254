import { isFault } from '../geo/fault.js'
import { MAX_RING_POSITIONS, type Ring } from '../geo/ring.js'
import { type Shape, shapeOf } from '../geo/shape.js'
import { splitByDimension } from '../geo/split.js'
import type { Geometry } from '../geo/types.js'
import { decodeWkb } from '../geo/wkb.js'

export const MAX_LEVEL = 10

/**
 * Risk cells of one theme, flat, in 1e-7 degree like the roads.
 *
 * Only the areas of a cell cover anything: a point or a line has no width that a road could run in. Levels outside
 * 0 … 10 are clamped and counted. Cells of level 0 say what is true without them and are not kept.
 */
export interface CellSet {
  /** cell → west, south, east, north */
  readonly box: number[]
  readonly level: number[]
  /** cell → its area: a ring where it is one of few corners, null for a rectangle along the axes, which is its box */
  readonly shape: (Shape | Ring | null)[]
  /** levels that were outside 0 … 10 */
  clampedCount: number
  /** geometries that could not be read */
  unreadableCount: number
}

export function createCellSet(): CellSet {
  return { box: [], level: [], shape: [], clampedCount: 0, unreadableCount: 0 }
}

/** @returns whether the cell was kept */
export function addCell(cells: CellSet, geometry: Geometry, level: number): boolean {
  const clamped = clampLevel(cells, level)
  if (clamped === 0) return false
  if (geometry.type === 'Polygon' && geometry.coordinates.length === 1) {
    const xy: number[] = []
    for (const [lng, lat] of geometry.coordinates[0]!) xy.push(lng, lat)
    if (addRectangle(cells, xy, clamped) || addRing(cells, xy, clamped)) return true
  }
  return addShape(cells, geometry, clamped)
}

/** The same for a geometry as it is stored: a mesh square costs no allocation, a small polygon one. */
export function addCellWkb(cells: CellSet, wkb: Uint8Array, level: number): boolean {
  const clamped = clampLevel(cells, level)
  if (clamped === 0) return false
  if (readCorners(wkb) && (addRectangle(cells, corners, clamped) || addRing(cells, corners, clamped)))
    return true
  const geometry = decodeWkb(wkb)
  if (!isFault(geometry)) return addShape(cells, geometry, clamped)
  cells.unreadableCount++
  return false
}

/**
 * Degrees to 1e-7 degree. Rounded to 1e-11 degree (a micrometre): a decimal that stands on a road's coordinate must
 * stay on it, and 41.15 · 1e7 is not a whole number in doubles.
 */
export function toE7(degrees: number): number {
  return Math.round(degrees * 1e11) / 1e4
}

/** A level is a whole number; a fraction, which no integer column has, would count as clamped. */
function clampLevel(cells: CellSet, level: number): number {
  const clamped = Math.min(MAX_LEVEL, Math.max(0, Math.round(level)))
  if (clamped !== level) cells.clampedCount++
  return clamped
}

const HEADER_BYTES = 5 + 4 + 4
const POSITION_BYTES = 16
const corners: number[] = []
const buffer = new Uint8Array(MAX_RING_POSITIONS * POSITION_BYTES)
const doubles = new Float64Array(buffer.buffer)

/** Fills `corners` from little-endian WKB of a polygon with one ring of few positions; false for anything else. */
function readCorners(wkb: Uint8Array): boolean {
  const positions = wkb[9]!
  const isFit =
    positions <= MAX_RING_POSITIONS &&
    wkb.length === HEADER_BYTES + positions * POSITION_BYTES &&
    wkb[0] === 1 &&
    wkb[1] === 3 &&
    wkb[2] === 0 &&
    wkb[5] === 1
  if (!isFit) return false
  for (let at = HEADER_BYTES; at < wkb.length; at++) buffer[at - HEADER_BYTES] = wkb[at]!
  for (let at = 0; at < positions * 2; at++) corners[at] = doubles[at]!
  corners.length = positions * 2
  return true
}

/** @param xy five positions of a closed ring, degrees; false when they are not a rectangle along the axes */
function addRectangle(cells: CellSet, xy: readonly number[], level: number): boolean {
  if (xy.length !== 10) return false
  const [x0, y0, x1, y1, x2, y2, x3, y3] = xy as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const isEastFirst = y0 === y1 && x1 === x2 && y2 === y3 && x3 === x0
  const isNorthFirst = x0 === x1 && y1 === y2 && x2 === x3 && y3 === y0
  if (!isEastFirst && !isNorthFirst) return false
  const west = toE7(Math.min(x0, x2))
  const east = toE7(Math.max(x0, x2))
  const south = toE7(Math.min(y0, y2))
  const north = toE7(Math.max(y0, y2))
  if (west >= east || south >= north) return true // no area: it covers nothing
  cells.box.push(west, south, east, north)
  cells.level.push(level)
  cells.shape.push(null)
  return true
}

/** @param xy positions, degrees; false when they are not a closed ring of few */
function addRing(cells: CellSet, xy: readonly number[], level: number): boolean {
  const count = xy.length
  if (count < 8 || count > MAX_RING_POSITIONS * 2) return false
  if (xy[0] !== xy[count - 2] || xy[1] !== xy[count - 1]) return false
  const ring: number[] = []
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (let at = 0; at < count; at += 2) {
    const x = toE7(xy[at]!)
    const y = toE7(xy[at + 1]!)
    if (x < west) west = x
    if (x > east) east = x
    if (y < south) south = y
    if (y > north) north = y
    ring.push(x, y)
  }
  if (!(Number.isFinite(east - west) && Number.isFinite(north - south))) return false
  cells.box.push(west, south, east, north)
  cells.level.push(level)
  cells.shape.push(ring)
  return true
}

/** Anything else: polygons of many corners or with holes, multipolygons, areas in collections. */
function addShape(cells: CellSet, geometry: Geometry, level: number): boolean {
  const shape = shapeOf(splitByDimension(geometry).areas, toE7)
  if (shape.bbox === undefined) return false
  cells.box.push(...shape.bbox)
  cells.level.push(level)
  cells.shape.push(shape)
  return true
}
