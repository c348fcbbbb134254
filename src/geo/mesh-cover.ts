import { boxPolygon } from './bbox.js'
import { shapesIntersect } from './intersects.js'
import { INSIDE, locateInAreas } from './locate.js'
import { type MeshRange, meshCount, meshRange, rangeBox } from './mesh.js'
import { entersRectangle } from './segments.js'
import { KIND, type Shape, shapeOf } from './shape.js'
import type { Bbox } from './types.js'

/**
 * Returns true when the areas of a shape and a rectangle overlap: they share a part with a width and a
 * height, not only a border. Exact, for polygons whose rings are borders of an area.
 */
export function overlapsBox(shape: Shape, box: Bbox): boolean {
  const [west, south, east, north] = box
  if (!(west < east && south < north)) return false
  if (anyRingEnters(shape, box)) return true // a ring has area on one of its sides
  // no ring enters: the rectangle is wholly inside or wholly outside, so its middle decides
  return locateInAreas(shape, (west + east) / 2, (south + north) / 2) === INSIDE
}

/** Part of a cell's side that counts as its border. */
const BORDER_SHARE = 1e-6
/** Half a step of the sixth decimal, degrees, and some rounding: 6 cm. */
const BORDER_DEGREES = 5.1e-7

/**
 * Returns true when the areas of a shape overlap a cell. An overlap within its border is none: a neighbour
 * whose corners were written with six decimals reaches that far into it.
 */
export function overlapsCell(shape: Shape, cell: Bbox): boolean {
  return shape.bbox !== undefined && overlapsBox(shape, withoutBorder(cell, shape.bbox))
}

/** @param other box of the shape: the border is a quarter of its sides at most, so that it overlaps a cell */
function withoutBorder([west, south, east, north]: Bbox, other: Bbox): Bbox {
  const border = (side: number, otherSide: number) =>
    Math.min(Math.max(side * BORDER_SHARE, BORDER_DEGREES), otherSide / 4)
  const lng = border(east - west, other[2] - other[0])
  const lat = border(north - south, other[3] - other[1])
  return [west + lng, south + lat, east - lng, north - lat]
}

/** A search area: its polygons, and its points and lines, which have no area. */
export interface CellFilter {
  readonly areas: Shape
  readonly flat: Shape
}

/**
 * Visits each cell of a range that overlaps the areas of a shape, as `overlapsCell` says for one cell.
 *
 * Cost: the length of the borders and the cells inside; a block of cells that no ring enters is wholly in or
 * wholly out.
 *
 * @param options.filter visits only cells that overlap its areas, or touch its points and lines
 * @param options.onBlock called with the number of cells before a whole block of them is visited
 */
export function visitOverlappedCells(
  shape: Shape,
  range: MeshRange,
  visit: (column: number, row: number) => void,
  options: { filter?: CellFilter | undefined; onBlock?: (cells: number) => void } = {},
): void {
  if (shape.polygonCount === 0 || shape.bbox === undefined) return
  // cells beyond the box of the shape are never visited, however large the range is
  const near = meshRange(range.degree, shape.bbox)
  visitBlock({ shape, visit, ...options }, intersection(near, range))
}

/** Columns and rows of both ranges; may be empty (east < west or north < south). */
function intersection(a: MeshRange, b: MeshRange): MeshRange {
  return {
    degree: a.degree,
    west: Math.max(a.west, b.west),
    south: Math.max(a.south, b.south),
    east: Math.min(a.east, b.east),
    north: Math.min(a.north, b.north),
  }
}

interface Visit {
  readonly shape: Shape
  readonly filter?: CellFilter | undefined
  readonly visit: (column: number, row: number) => void
  readonly onBlock?: (cells: number) => void
}

/** Halves a block until it is wholly in or out of both, or one cell. */
function visitBlock(one: Visit, block: MeshRange): void {
  if (isEmpty(block)) return
  const { shape, filter, visit } = one
  const box = rangeBox(block)
  const inShape = placeIn(shape, box)
  const inFilter = inShape === 'out' ? 'out' : placeInFilter(filter, box)
  if (inFilter === 'out') return
  if (inShape === 'in' && inFilter === 'in') {
    one.onBlock?.(meshCount(block))
    visitAll(block, visit)
  } else if (block.west === block.east && block.south === block.north) {
    const isIn = inShape === 'in' || overlapsCell(shape, box)
    if (isIn && (inFilter === 'in' || isWanted(filter, box))) visit(block.west, block.south)
  } else for (const half of halves(block)) visitBlock(one, half)
}

type Place = 'in' | 'out' | 'mixed'

/** Returns the place of a box in the areas of a shape; `mixed` when a ring enters it. */
function placeIn(shape: Shape, box: Bbox): Place {
  if (shape.polygonCount === 0) return 'out'
  if (anyRingEnters(shape, box)) return 'mixed'
  return locateInAreas(shape, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2) === INSIDE ? 'in' : 'out'
}

function placeInFilter(filter: CellFilter | undefined, box: Bbox): Place {
  if (filter === undefined) return 'in'
  const place = placeIn(filter.areas, box)
  return place === 'out' && touches(filter.flat, box) ? 'mixed' : place
}

function isWanted(filter: CellFilter | undefined, cell: Bbox): boolean {
  return filter === undefined || overlapsCell(filter.areas, cell) || touches(filter.flat, cell)
}

function touches(flat: Shape, box: Bbox): boolean {
  return flat.bbox !== undefined && shapesIntersect(flat, shapeOf(boxPolygon(box)))
}

/** Returns true for ranges without a common cell, see `intersection`. */
function isEmpty({ west, south, east, north }: MeshRange): boolean {
  return east < west || north < south
}

/** Cuts a block of more than one cell across its longer side. */
function halves(block: MeshRange): [MeshRange, MeshRange] {
  const { west, south, east, north } = block
  if (east - west >= north - south) {
    // the longer side has at least two cells, so neither half is empty
    const middle = Math.floor((west + east) / 2)
    return [
      { ...block, east: middle },
      { ...block, west: middle + 1 },
    ]
  }
  const middle = Math.floor((south + north) / 2)
  return [
    { ...block, north: middle },
    { ...block, south: middle + 1 },
  ]
}

/** Visits all cells of a block, row by row from its south-west corner. */
function visitAll(block: MeshRange, visit: (column: number, row: number) => void): void {
  for (let row = block.south; row <= block.north; row++)
    for (let column = block.west; column <= block.east; column++) visit(column, row)
}

/** Returns true when a ring enters an open rectangle; one along its border does not. */
function anyRingEnters(shape: Shape, rectangle: Bbox): boolean {
  const { box, skip, kind, first, last, xy, nodeCount } = shape
  const [west, south, east, north] = rectangle
  let node = 0
  while (node < nodeCount) {
    const at = node * 4
    // not strict: a box that only touches the border of the rectangle does not enter it
    const isApart = box[at]! >= east || box[at + 2]! <= west || box[at + 1]! >= north || box[at + 3]! <= south
    if (isApart || kind[node] === KIND.LINE || kind[node] === KIND.POINT) {
      node = skip[node]!
      continue
    }
    if (kind[node] === KIND.LEAF) {
      for (let i = first[node]! * 2, end = last[node]! * 2; i < end; i += 2)
        if (entersRectangle(xy[i]!, xy[i + 1]!, xy[i + 2]!, xy[i + 3]!, rectangle)) return true
    }
    node++
  }
  return false
}
