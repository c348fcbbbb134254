import { isFault } from '../geo/fault.js'
import { type Area, MAX_RING_POSITIONS, type Ring } from '../geo/ring.js'
import { type Shape, shapeOf } from '../geo/shape.js'
import { splitByDimension } from '../geo/split.js'
import type { Geometry } from '../geo/types.js'
import { decodeWkb } from '../geo/wkb.js'
import { grown } from './grown.js'

/** Highest level of risk; 0 is none. */
export const MAX_LEVEL = 10

/**
 * Risk cells of one theme in flat arrays, in 1e-7 degree like the roads.
 *
 * Only areas cover roads: points and lines of a cell's geometry have no width and are dropped. Levels outside
 * 0 … 10 are clamped and counted. Cells of level 0 change nothing and are not kept.
 */
export interface CellSet {
  count: number
  /** cell → west, south, east, north. This and the other arrays are longer than what is in use */
  box: Float64Array
  /** cell → 1 to 10 */
  level: Uint8Array
  /** cell → one of `FORM` */
  form: Uint8Array
  /** cell → first of its positions, of cells with few corners; they end where those of the next cell begin */
  firstPosition: Uint32Array
  positionCount: number
  /** position → x, y */
  xy: Float64Array
  /** cell → its area, of cells with many corners */
  readonly shapes: Map<number, Shape>
  /** levels that were outside 0 … 10 */
  clampedCount: number
  /** geometries that could not be read */
  unreadableCount: number
}

/** Forms of cells. */
export const FORM = {
  /** a rectangle along the axes, which is its box */
  RECTANGLE: 0,
  /** one ring of few corners */
  RING: 1,
  SHAPE: 2,
} as const

/** Cells that a new set has room for. */
const FIRST_CELLS = 16

/** Returns an empty set. */
export function createCellSet(): CellSet {
  return {
    count: 0,
    box: new Float64Array(FIRST_CELLS * 4),
    level: new Uint8Array(FIRST_CELLS),
    form: new Uint8Array(FIRST_CELLS),
    firstPosition: new Uint32Array(FIRST_CELLS),
    positionCount: 0,
    xy: new Float64Array(FIRST_CELLS * 2),
    shapes: new Map(),
    clampedCount: 0,
    unreadableCount: 0,
  }
}

/** Returns a ring for `areaOf`. */
export function createRing(): Ring {
  return { xy: new Float64Array(0), first: 0, last: 0, nodeCount: undefined }
}

/**
 * Returns the area of a cell; undefined for a rectangle, which is its box.
 *
 * @param ring is filled and returned for a cell of few corners
 */
export function areaOf(cells: CellSet, cell: number, ring: Ring): Area | undefined {
  const form = cells.form[cell]
  if (form === FORM.SHAPE) return cells.shapes.get(cell)
  if (form === FORM.RECTANGLE) return undefined
  ring.xy = cells.xy
  ring.first = cells.firstPosition[cell]!
  ring.last = endOfPositions(cells, cell) - 1
  return ring
}

/** Returns the end of a cell's positions, exclusive. */
export function endOfPositions({ count, firstPosition, positionCount }: CellSet, cell: number): number {
  return cell + 1 < count ? firstPosition[cell + 1]! : positionCount
}

/** Adds a copy of a cell of another set. */
export function copyCell(from: CellSet, cell: number, to: CellSet): void {
  const { box } = from
  const at = cell * 4
  const form = from.form[cell]!
  append(to, box[at]!, box[at + 1]!, box[at + 2]!, box[at + 3]!, from.level[cell]!, form)
  if (form === FORM.SHAPE) to.shapes.set(to.count - 1, from.shapes.get(cell)!)
  if (form !== FORM.RING) return
  for (let position = from.firstPosition[cell]!; position < endOfPositions(from, cell); position++)
    appendPosition(to, from.xy[position * 2]!, from.xy[position * 2 + 1]!)
}

/** Appends a cell. @param firstPosition of its positions, which are there or follow */
function append(
  cells: CellSet,
  west: number,
  south: number,
  east: number,
  north: number,
  level: number,
  form: number,
  firstPosition = cells.positionCount,
): void {
  const cell = cells.count++
  if (cell === cells.level.length) {
    cells.box = grown(cells.box, cell * 8)
    cells.level = grown(cells.level, cell * 2)
    cells.form = grown(cells.form, cell * 2)
    cells.firstPosition = grown(cells.firstPosition, cell * 2)
  }
  const { box } = cells
  box[cell * 4] = west
  box[cell * 4 + 1] = south
  box[cell * 4 + 2] = east
  box[cell * 4 + 3] = north
  cells.level[cell] = level
  cells.form[cell] = form
  cells.firstPosition[cell] = firstPosition
}

/** Appends a position: to the last cell, or to the next one. */
function appendPosition(cells: CellSet, x: number, y: number): void {
  const at = cells.positionCount++ * 2
  if (at === cells.xy.length) cells.xy = grown(cells.xy, at * 2)
  cells.xy[at] = x
  cells.xy[at + 1] = y
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
    const ring = geometry.coordinates[0]!
    const count = ring.length
    for (let at = 0; at < count && count <= MAX_RING_POSITIONS; at++) {
      corners[at * 2] = ring[at]![0]
      corners[at * 2 + 1] = ring[at]![1]
    }
    if (addRectangle(cells, count, clamped) || addRing(cells, count, clamped)) return true
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
  const count = readCorners(wkb)
  if (addRectangle(cells, count, clamped) || addRing(cells, count, clamped)) return true
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

/** x, y, x, y … of a ring that is added now, degrees; the ring of a cell of few corners has room. */
const corners = new Float64Array(MAX_RING_POSITIONS * 2)

/**
 * Fills `corners` from little-endian WKB of a polygon with one ring of few positions.
 *
 * @returns number of positions, 0 for anything else
 */
function readCorners(wkb: Uint8Array): number {
  const positions = wkb[9]!
  const isFit =
    positions <= MAX_RING_POSITIONS &&
    wkb.length === HEADER_BYTES + positions * POSITION_BYTES &&
    wkb[0] === 1 &&
    wkb[1] === 3 &&
    wkb[2] === 0 &&
    wkb[5] === 1
  if (!isFit) return 0
  const view = new DataView(wkb.buffer, wkb.byteOffset + HEADER_BYTES, positions * POSITION_BYTES)
  for (let at = 0; at < positions * 2; at++) corners[at] = view.getFloat64(at * 8, true)
  return positions
}

/**
 * Adds the ring in `corners` when it is a rectangle along the axes; false for any other ring.
 *
 * @param count positions of the ring
 */
function addRectangle(cells: CellSet, count: number, level: number): boolean {
  if (count !== 5) return false
  const x0 = corners[0]!
  const y0 = corners[1]!
  const x2 = corners[4]!
  const y2 = corners[5]!
  const isEastFirst = y0 === corners[3] && corners[2] === x2 && y2 === corners[7] && corners[6] === x0
  const isNorthFirst = x0 === corners[2] && corners[3] === y2 && x2 === corners[6] && corners[7] === y0
  if (!isEastFirst && !isNorthFirst) return false
  const west = toE7(Math.min(x0, x2))
  const east = toE7(Math.max(x0, x2))
  const south = toE7(Math.min(y0, y2))
  const north = toE7(Math.max(y0, y2))
  if (west >= east || south >= north) return true // no area: it covers nothing and needs no other form
  append(cells, west, south, east, north, level, FORM.RECTANGLE)
  return true
}

/**
 * Adds the ring in `corners` when it has few positions; false for an open or a larger one.
 *
 * @param count positions of the ring
 */
function addRing(cells: CellSet, count: number, level: number): boolean {
  if (count < 4 || count > MAX_RING_POSITIONS) return false
  const last = count * 2 - 2
  if (corners[0] !== corners[last] || corners[1] !== corners[last + 1]) return false
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  const first = cells.positionCount
  for (let at = 0; at <= last; at += 2) {
    const x = toE7(corners[at]!)
    const y = toE7(corners[at + 1]!)
    if (x < west) west = x
    if (x > east) east = x
    if (y < south) south = y
    if (y > north) north = y
    appendPosition(cells, x, y)
  }
  append(cells, west, south, east, north, level, FORM.RING, first)
  return true
}

/** Adds any other geometry: polygons of many corners or with holes, multipolygons, areas in collections. */
function addShape(cells: CellSet, geometry: Geometry, level: number): boolean {
  const shape = shapeOf(splitByDimension(geometry).areas, toE7)
  if (shape.bbox === undefined) return false
  cells.shapes.set(cells.count, shape)
  append(cells, ...shape.bbox, level, FORM.SHAPE)
  return true
}
