import type { CellSet } from './cell-set.js'

/** Squares a side: 128² sums of 4 bytes fit the nearest cache. */
const SIDE = 128

/** A coarse picture of where cells are, to pass over whole regions without any. */
export interface CoverageRaster {
  readonly west: number
  readonly south: number
  readonly perX: number
  readonly perY: number
  /** (SIDE + 1)² sums: squares with cells to the south-west of each corner */
  readonly sums: Uint32Array
}

/**
 * Linear in the number of cells, however large they are.
 *
 * @param listed the cells that are wanted
 */
export function createRaster(
  cells: CellSet,
  listed: readonly number[] = [...cells.level.keys()],
): CoverageRaster {
  const { box } = cells
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const cell of listed) {
    west = Math.min(west, box[cell * 4]!)
    south = Math.min(south, box[cell * 4 + 1]!)
    east = Math.max(east, box[cell * 4 + 2]!)
    north = Math.max(north, box[cell * 4 + 3]!)
  }
  const perX = SIDE / Math.max(east - west, 1)
  const perY = SIDE / Math.max(north - south, 1)
  const raster = { west, south, perX, perY, sums: new Uint32Array((SIDE + 1) * (SIDE + 1)) }
  markCells(raster, cells, listed)
  return raster
}

/** May a box meet a cell? False is certain. */
export function mayHaveCells(
  { west, south, perX, perY, sums }: CoverageRaster,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): boolean {
  const left = Math.floor((x0 - west) * perX)
  const bottom = Math.floor((y0 - south) * perY)
  const right = Math.floor((x1 - west) * perX) + 1
  const top = Math.floor((y1 - south) * perY) + 1
  // the last square has its far border too
  if (left > SIDE || bottom > SIDE || right <= 0 || top <= 0) return false
  const fromX = Math.min(SIDE - 1, Math.max(0, left))
  const fromY = Math.min(SIDE - 1, Math.max(0, bottom))
  const toX = Math.min(SIDE, right)
  const toY = Math.min(SIDE, top)
  const row = SIDE + 1
  return (
    sums[toY * row + toX]! -
      sums[fromY * row + toX]! -
      sums[toY * row + fromX]! +
      sums[fromY * row + fromX]! >
    0
  )
}

/** Marks each square that a cell's box meets, then sums up: differences at corners make filled boxes cheap. */
function markCells(
  { west, south, perX, perY, sums }: CoverageRaster,
  { box }: CellSet,
  listed: readonly number[],
): void {
  const row = SIDE + 1
  const clamp = (value: number) => Math.min(SIDE - 1, Math.max(0, Math.floor(value)))
  const delta = new Int32Array(row * row)
  for (const cell of listed) {
    const left = clamp((box[cell * 4]! - west) * perX)
    const bottom = clamp((box[cell * 4 + 1]! - south) * perY)
    const right = clamp((box[cell * 4 + 2]! - west) * perX) + 1
    const top = clamp((box[cell * 4 + 3]! - south) * perY) + 1
    delta[bottom * row + left]!++
    delta[bottom * row + right]!--
    delta[top * row + left]!--
    delta[top * row + right]!++
  }
  // delta becomes the number of cells over each square, sums the number of covered squares up to each corner
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const at = y * row + x
      const beside = x > 0 ? delta[at - 1]! : 0
      const below = y > 0 ? delta[at - row]! : 0
      const corner = x > 0 && y > 0 ? delta[at - row - 1]! : 0
      delta[at]! += beside + below - corner
      const covered = delta[at]! > 0 ? 1 : 0
      sums[at + row + 1] = sums[at + row]! + sums[at + 1]! - sums[at]! + covered
    }
  }
}
