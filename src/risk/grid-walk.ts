import { type FlatLine, measureFlatLine } from '../routing/graph/flat-line.js'
import { placeIn, type RectGrid } from './rect-grid.js'
import { addPiece, type Pieces } from './stack-levels.js'

/** Result of `levelOfBox` when the fields in the box have different levels. */
export const MIXED = -1
/** A box over more fields than this counts as mixed without reading them. */
const MAX_FIELDS = 4096

/**
 * Level that a grid has everywhere in a box, borders included.
 *
 * @param boxes west, south, east, north of boxes, 1e-7 degree
 * @param at index in `boxes` of the box
 * @returns 0 to 10, or `MIXED`
 */
export function levelOfBox({ x, y, level, width }: RectGrid, boxes: Int32Array, at: number): number {
  const left = placeIn(x, boxes[at]!)
  const bottom = placeIn(y, boxes[at + 1]!)
  const east = boxes[at + 2]!
  const north = boxes[at + 3]!
  let right = left
  while (x.at[right + 1]! <= east) right++
  let top = bottom
  while (y.at[top + 1]! <= north) top++
  const first = level[bottom * width + left]!
  if ((right - left + 1) * (top - bottom + 1) > MAX_FIELDS) return MIXED
  for (let row = bottom; row <= top; row++) {
    for (let field = row * width + left, end = row * width + right; field <= end; field++) {
      if (level[field] !== first) return MIXED
    }
  }
  return first
}

/**
 * Cuts a line into pieces by the fields of a grid that it runs through, ends rounded to whole millimetres.
 * The line is measured only when the level changes on it.
 *
 * Fields are half-open like cells. Where a line touches a border and turns back, its stretch in the field
 * beyond has no length and is no piece.
 *
 * Cost: one step for each corner and for each border that the line crosses.
 *
 * @param line corners in 1e-7 degree; its offsets are filled when they are needed
 * @param lengthMm length of the line, mm
 * @param pieces receives the pieces
 * @see J. Amanatides, A. Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing", 1987
 */
export function walkGrid(
  { x, y, level, width }: RectGrid,
  line: FlatLine,
  lengthMm: number,
  pieces: Pieces,
): void {
  const { corners, xy, offsetsMm } = line
  const { at: xAt } = x
  const { at: yAt } = y
  pieces.count = 0
  let ax = xy[0]!
  let ay = xy[1]!
  let column = placeIn(x, ax)
  let row = placeIn(y, ay)
  let west = xAt[column]!
  let east = xAt[column + 1]!
  let south = yAt[row]!
  let north = yAt[row + 1]!
  let current = level[row * width + column]!
  let isMeasured = false
  for (let corner = 1; corner < corners; corner++) {
    const bx = xy[corner * 2]!
    const by = xy[corner * 2 + 1]!
    // steps to the neighbouring field across the border that the segment meets first, until the corner's
    // field is reached
    while (bx < west || bx >= east || by < south || by >= north) {
      const shareX = bx >= east ? (east - ax) / (bx - ax) : bx < west ? (west - ax) / (bx - ax) : 2
      const shareY = by >= north ? (north - ay) / (by - ay) : by < south ? (south - ay) / (by - ay) : 2
      if (shareX < shareY) {
        column += bx >= east ? 1 : -1
        west = xAt[column]!
        east = xAt[column + 1]!
      } else {
        row += by >= north ? 1 : -1
        south = yAt[row]!
        north = yAt[row + 1]!
      }
      const next = level[row * width + column]!
      if (next === current) continue
      if (!isMeasured) measureFlatLine(line, lengthMm)
      isMeasured = true
      const share = Math.min(shareX, shareY)
      const start = offsetsMm[corner - 1]!
      const end = offsetsMm[corner]!
      addPiece(pieces, Math.round(share < 1 ? start + (end - start) * share : end), current)
      current = next
    }
    ax = bx
    ay = by
  }
  addPiece(pieces, lengthMm, current)
}
