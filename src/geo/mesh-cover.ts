import { boxPolygon } from './bbox.js'
import { shapesIntersect } from './intersects.js'
import { INSIDE, locateInAreas } from './locate.js'
import { type MeshRange, meshRange, rangeBox } from './mesh.js'
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

/**
 * Visits each cell of a range that overlaps the areas of a shape, as `overlapsBox` says for one cell.
 *
 * Cost: the length of the borders and the cells inside; a block of cells that no ring enters is wholly in or
 * wholly out.
 */
export function visitOverlappedCells(
  shape: Shape,
  range: MeshRange,
  visit: (column: number, row: number) => void,
): void {
  if (shape.polygonCount === 0 || shape.bbox === undefined) return
  // cells beyond the box of the shape are never visited, however large the range is
  const near = meshRange(range.degree, shape.bbox)
  visitBlock(shape, intersection(near, range), visit)
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

/**
 * Visits each cell of a range that a shape touches, borders included: for points and lines, which have no
 * area.
 */
export function visitTouchedCells(
  shape: Shape,
  range: MeshRange,
  visit: (column: number, row: number) => void,
): void {
  if (shape.bbox === undefined) return
  visitTouchedBlock(shape, intersection(meshRange(range.degree, shape.bbox), range), visit)
}

/** Halves a block until the shape does not touch it, or it is one cell. */
function visitTouchedBlock(
  shape: Shape,
  block: MeshRange,
  visit: (column: number, row: number) => void,
): void {
  if (isEmpty(block) || !shapesIntersect(shape, shapeOf(boxPolygon(rangeBox(block))))) return
  if (block.west === block.east && block.south === block.north) visit(block.west, block.south)
  else for (const half of halves(block)) visitTouchedBlock(shape, half, visit)
}

/** Halves a block until no ring enters it, or it is one cell, which a ring that enters it overlaps. */
function visitBlock(shape: Shape, block: MeshRange, visit: (column: number, row: number) => void): void {
  if (isEmpty(block)) return
  const box = rangeBox(block)
  if (!anyRingEnters(shape, box)) {
    const place = locateInAreas(shape, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    if (place === INSIDE) visitAll(block, visit)
  } else if (block.west === block.east && block.south === block.north) {
    visit(block.west, block.south)
  } else {
    for (const half of halves(block)) visitBlock(shape, half, visit)
  }
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
