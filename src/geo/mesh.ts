import type { Bbox, Position } from './types.js'

/** Degree of the standard mesh: 1 is the coarsest, 5 the finest. */
export type MeshDegree = 1 | 2 | 3 | 4 | 5

/**
 * Cells along one degree of longitude and two of latitude, by mesh degree. All grid lines are at whole
 * multiples of 1/n degree (latitude of degree 1: of 2/3), so indexes count from 0° N 0° E and are integers
 * everywhere on Earth; the standard's origin, 0° N 100° E, is a corner of each grid.
 *
 * @see JIS X 0410, "Grid square code"
 */
const LNG_CELLS_PER_DEGREE: readonly number[] = [1, 8, 80, 160, 320]
const LAT_CELLS_PER_TWO_DEGREES: readonly number[] = [3, 24, 240, 480, 960]

/** Range of cells: columns `west` to `east` and rows `south` to `north`, both included. */
export interface MeshRange {
  readonly degree: MeshDegree
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** Returns the cells that a box touches, borders included. */
export function meshRange(degree: MeshDegree, [west, south, east, north]: Bbox): MeshRange {
  const lastColumn = columnOf(degree, 180) - 1
  const lastRow = rowOf(degree, 90) - 1
  const [westColumn, southRow] = [columnOf(degree, west), rowOf(degree, south)]
  return {
    degree,
    // a box that begins on a grid line also touches the cell before it
    west: Math.max(westColumn - Number(meshLng(degree, westColumn) === west), -lastColumn - 1),
    south: Math.max(southRow - Number(meshLat(degree, southRow) === south), -lastRow - 1),
    east: Math.min(columnOf(degree, east), lastColumn),
    north: Math.min(rowOf(degree, north), lastRow),
  }
}

/** Returns the number of cells in a range. */
export function meshCount(range: MeshRange): number {
  return (range.east - range.west + 1) * (range.north - range.south + 1)
}

/** Returns the box around the cells of a range. */
export function rangeBox({ degree, west, south, east, north }: MeshRange): Bbox {
  return [
    meshLng(degree, west),
    meshLat(degree, south),
    meshLng(degree, east + 1),
    meshLat(degree, north + 1),
  ]
}

/** Returns the box of one cell. */
export function meshBox(degree: MeshDegree, column: number, row: number): Bbox {
  return rangeBox({ degree, west: column, south: row, east: column, north: row })
}

/** Returns the ring of one cell: south-west, south-east, north-east, north-west, south-west. */
export function meshRing(degree: MeshDegree, column: number, row: number): Position[] {
  const [west, south, east, north] = meshBox(degree, column, row)
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
}

/** Longitude of the western line of a column, rounded to 12 decimals as on the wire. */
function meshLng(degree: MeshDegree, column: number): number {
  return roundTo12(column / LNG_CELLS_PER_DEGREE[degree - 1]!)
}

/** Latitude of the southern line of a row, rounded to 12 decimals as on the wire. */
function meshLat(degree: MeshDegree, row: number): number {
  return roundTo12((row * 2) / LAT_CELLS_PER_TWO_DEGREES[degree - 1]!)
}

/** Returns the column that holds a longitude; a grid line belongs to the column east of it. */
export function columnOf(degree: MeshDegree, lng: number): number {
  let column = Math.floor(lng * LNG_CELLS_PER_DEGREE[degree - 1]!) + 0 // no -0
  while (lng < meshLng(degree, column)) column-- // the product was rounded up to a whole number
  return column
}

/** Returns the row that holds a latitude; a grid line belongs to the row north of it. */
export function rowOf(degree: MeshDegree, lat: number): number {
  let row = Math.floor((lat * LAT_CELLS_PER_TWO_DEGREES[degree - 1]!) / 2) + 0
  // lines of latitude are rounded to 12 decimals, so they differ a little from the true ones
  while (lat < meshLat(degree, row)) row--
  while (lat >= meshLat(degree, row + 1)) row++
  return row
}

/**
 * Rounds to 12 decimals. Each line is computed from integers, so errors do not add up and neighbours share a
 * double.
 */
function roundTo12(value: number): number {
  return Number(value.toFixed(12)) + 0
}
