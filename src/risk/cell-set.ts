import { isFault } from '../geo/fault.js'
import { type Area, MAX_RING_POSITIONS } from '../geo/ring.js'
import { shapeOf } from '../geo/shape.js'
import { splitByDimension } from '../geo/split.js'
import type { Geometry } from '../geo/types.js'
import { decodeWkb } from '../geo/wkb.js'

/** Highest level of risk; 0 is none. */
export const MAX_LEVEL = 10

/**
 * Risk cells of one theme in flat arrays, in 1e-7 degree like the roads.
 *
 * Only areas cover roads: points and lines of a cell's geometry have no width and are dropped. Levels outside
 * 0 … 10 are clamped and counted. Cells of level 0 change nothing and are not kept.
 */
export interface CellSet {
  /** cell → west, south, east, north */
  readonly box: number[]
  /** cell → 1 to 10 */
  readonly level: number[]
  /**
   * cell → its area: a ring when it has few corners, null for a rectangle along the axes, which is its box
   */
  readonly shape: (Area | null)[]
  /** levels that were outside 0 … 10 */
  clampedCount: number
  /** geometries that could not be read */
  unreadableCount: number
}

/** Returns an empty set. */
export function createCellSet(): CellSet {
  return { box: [], level: [], shape: [], clampedCount: 0, unreadableCount: 0 }
}

/**
 * Adds a cell.
 *
 * @param geometry degrees, checked: rings closed, coordinates finite; only its areas count
 * @returns false when the cell was not kept: it has no area, or level 0
 */
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

/**
 * Adds a cell with a geometry in WKB, as it is stored after it was checked. Polygons of one small ring, as mesh squares are, are
 * read without decoding; a geometry that cannot be read is counted and dropped.
 *
 * @returns false when the cell was not kept
 */
export function addCellWkb(cells: CellSet, wkb: Uint8Array, level: number): boolean {
  const clamped = clampLevel(cells, level)
  if (clamped === 0) return false
  const corners = readCorners(wkb)
  if (corners !== undefined && (addRectangle(cells, corners, clamped) || addRing(cells, corners, clamped)))
    return true
  const geometry = decodeWkb(wkb)
  if (!isFault(geometry)) return addShape(cells, geometry, clamped)
  cells.unreadableCount++
  return false
}

/**
 * Converts degrees to 1e-7 degree, rounded to 1e-11 degree (a micrometre): a decimal that equals a road's
 * coordinate must stay equal, and 41.15 · 1e7 is not a whole number in doubles.
 */
export function toE7(degrees: number): number {
  return Math.round(degrees * 1e11) / 1e4
}

/**
 * Rounds and clamps a level; any change is counted. Levels come from integer columns, so a fraction is a
 * fault too.
 */
function clampLevel(cells: CellSet, level: number): number {
  const clamped = Math.min(MAX_LEVEL, Math.max(0, Math.round(level)))
  if (clamped !== level) cells.clampedCount++
  return clamped
}

/** Byte order and type, number of rings, number of positions. */
const HEADER_BYTES = 5 + 4 + 4
const POSITION_BYTES = 16

/**
 * x, y, x, y … of little-endian WKB of a polygon with one ring of few positions; undefined for anything else.
 */
function readCorners(wkb: Uint8Array): number[] | undefined {
  const positions = wkb[9]!
  const isFit =
    positions <= MAX_RING_POSITIONS &&
    wkb.length === HEADER_BYTES + positions * POSITION_BYTES &&
    wkb[0] === 1 &&
    wkb[1] === 3 &&
    wkb[2] === 0 &&
    wkb[5] === 1
  if (!isFit) return undefined
  const view = new DataView(wkb.buffer, wkb.byteOffset + HEADER_BYTES, positions * POSITION_BYTES)
  const corners: number[] = []
  for (let at = 0; at < positions * POSITION_BYTES; at += 8) corners.push(view.getFloat64(at, true))
  return corners
}

/**
 * Adds a rectangle along the axes; false for any other ring.
 *
 * @param xy five positions of a closed ring, degrees
 */
function addRectangle(cells: CellSet, xy: readonly number[], level: number): boolean {
  if (xy.length !== 10) return false
  const x0 = xy[0]!
  const y0 = xy[1]!
  const x2 = xy[4]!
  const y2 = xy[5]!
  const isEastFirst = y0 === xy[3] && xy[2] === x2 && y2 === xy[7] && xy[6] === x0
  const isNorthFirst = x0 === xy[2] && xy[3] === y2 && x2 === xy[6] && xy[7] === y0
  if (!isEastFirst && !isNorthFirst) return false
  const west = toE7(Math.min(x0, x2))
  const east = toE7(Math.max(x0, x2))
  const south = toE7(Math.min(y0, y2))
  const north = toE7(Math.max(y0, y2))
  if (west >= east || south >= north) return true // no area: it covers nothing and needs no other form
  cells.box.push(west, south, east, north)
  cells.level.push(level)
  cells.shape.push(null)
  return true
}

/**
 * Adds a ring of few positions; false for an open or a larger one.
 *
 * @param xy positions, degrees
 */
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
  cells.box.push(west, south, east, north)
  cells.level.push(level)
  cells.shape.push(ring)
  return true
}

/** Adds any other geometry: polygons of many corners or with holes, multipolygons, areas in collections. */
function addShape(cells: CellSet, geometry: Geometry, level: number): boolean {
  const shape = shapeOf(splitByDimension(geometry).areas, toE7)
  if (shape.bbox === undefined) return false
  cells.box.push(...shape.bbox)
  cells.level.push(level)
  cells.shape.push(shape)
  return true
}
