import { BUFFER, EXTENT } from './mercator.js'

const LEAST = -BUFFER
const MOST = EXTENT + BUFFER

/**
 * Clips a line to a tile and its buffer, and rounds it to a grid.
 *
 * @param line x, y, x, y … in tile units, unrounded
 * @param grid coordinates are rounded to multiples of this many units
 * @param addPart receives each part inside: x, y … whole numbers, at least two different points
 * @see Y.-D. Liang, B. Barsky, "A new concept and method for line clipping", 1984
 */
export function clipLine(line: readonly number[], grid: number, addPart: (part: number[]) => void): void {
  let part: number[] = []
  const end = () => {
    if (part.length >= 4) addPart(part)
    part = []
  }
  for (let at = 2; at < line.length; at += 2) {
    const x0 = line[at - 2]!
    const y0 = line[at - 1]!
    const dx = line[at]! - x0
    const dy = line[at + 1]! - y0
    const [from, to] = insideSpan(x0, y0, dx, dy)
    if (from > to) {
      end()
      continue
    }
    // the edge enters the tile here: what follows is a new part
    if (from > 0) end()
    addPoint(part, x0 + from * dx, y0 + from * dy, grid)
    addPoint(part, x0 + to * dx, y0 + to * dy, grid)
    if (to < 1) end()
  }
  end()
}

/**
 * Part of a segment that lies inside, as shares of its length; the first is greater than the second when none
 * does.
 */
function insideSpan(x0: number, y0: number, dx: number, dy: number): [from: number, to: number] {
  let from = 0
  let to = 1
  // for each border: speed towards it, and distance to it from the inside
  const borders = [-dx, x0 - LEAST, dx, MOST - x0, -dy, y0 - LEAST, dy, MOST - y0]
  for (let i = 0; i < 8; i += 2) {
    const outward = borders[i]!
    const room = borders[i + 1]!
    if (outward === 0) {
      if (room < 0) return [1, 0] // parallel to the border and outside
      continue
    }
    const share = room / outward
    if (outward < 0) from = Math.max(from, share)
    else to = Math.min(to, share)
  }
  return [from, to]
}

/** Adds a point, unless it falls onto the one before. */
function addPoint(part: number[], x: number, y: number, grid: number): void {
  const gridX = Math.round(x / grid) * grid
  const gridY = Math.round(y / grid) * grid
  const { length } = part
  if (length >= 2 && part[length - 2] === gridX && part[length - 1] === gridY) return
  part.push(gridX, gridY)
}
