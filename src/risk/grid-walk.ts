import { type FlatLine, measureFlatLine } from '../routing/graph/flat-line.js'
import { placeIn, type RectGrid } from './rect-grid.js'
import { addPiece, type Pieces } from './stack-levels.js'

/** The fields of a rectangle grid differ in the box that was asked for. */
export const MIXED = -1
/** A box over more fields than this is not looked through. */
const MAX_FIELDS = 4096

/** The level that all of a box has, or `MIXED`. */
export function levelOfBox(
  { x, y, level, width }: RectGrid,
  west: number,
  south: number,
  east: number,
  north: number,
): number {
  const left = placeIn(x, west)
  const bottom = placeIn(y, south)
  let right = left
  while (x.at[right + 1]! <= east) right++
  let top = bottom
  while (y.at[top + 1]! <= north) top++
  const first = level[bottom * width + left]!
  if ((right - left + 1) * (top - bottom + 1) > MAX_FIELDS) return MIXED
  for (let row = bottom; row <= top; row++) {
    for (let at = row * width + left, end = row * width + right; at <= end; at++) {
      if (level[at] !== first) return MIXED
    }
  }
  return first
}

/**
 * The pieces of a line by the fields that it runs through, ends rounded to whole millimetres. The line is measured only
 * when the level changes on it.
 *
 * Fields are half-open as cells are. A line that turns back from a border it stands on has a stretch of no length in
 * the field beyond it, which is no piece.
 *
 * @param pieces filled; reused by the caller
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
    // from one border to the next, whichever axis meets its own first, until the field that the corner lies in
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
