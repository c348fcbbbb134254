import { AppError } from '../errors.js'
import { bboxOf, boxPolygon } from '../geo/bbox.js'
import { type MeshDegree, type MeshRange, meshRange, meshRing, rangeBox } from '../geo/mesh.js'
import { type CellFilter, visitOverlappedCells } from '../geo/mesh-cover.js'
import { type PreparedArea, prepareArea } from '../geo/prepared-area.js'
import { shapeOf } from '../geo/shape.js'
import { splitByDimension } from '../geo/split.js'
import type { Bbox, Geometry } from '../geo/types.js'
import type { LoaderTable } from '../storage/tables.js'
import { createPause, type NextTurn } from '../storage/work/pause.js'
import { type CellReader, levelOf, type RiskCell, type RiskQuery } from './riskmap.js'

/** Cells made in one step: about 2 ms. */
const BATCH_CELLS = 1000

/** Grid of the cells to make. */
export interface MeshOptions {
  readonly degree: MeshDegree
  /** most cells of an answer */
  readonly maxCells: number
  /** waits for the turn of the next slice of work; absent for a turn of the event loop */
  readonly nextTurn?: NextTurn | undefined
}

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/**
 * Reads cells of the standard grid. The level of a cell is the highest level of the stored cells that share
 * area with it, slot by slot: a slot is all rows of one start. Cells without a level are left out, and so are
 * cells outside the search area: within it are cells that share area with its polygons, or touch its points
 * and lines. All cells are found before the first one is yielded; each takes 9 bytes.
 *
 * @throws AppError TOO_MANY_CELLS before the first batch; CANCELLED; UNKNOWN_TABLE when a table is dropped
 *   meanwhile
 */
export async function* readMeshCells(
  tables: CellReader,
  query: RiskQuery,
  { degree, maxCells, nextTurn }: MeshOptions,
  signal: AbortSignal,
): AsyncGenerator<RiskCell[]> {
  const box = query.area === undefined ? await extentOf(tables, query, signal) : query.area.bbox
  if (box === undefined) return
  const grid = createGrid(meshRange(degree, box), query.area, maxCells)
  // all rows that a wanted cell may overlap: the level of a cell must not depend on the search area
  const area = prepareArea(boxPolygon(rangeBox(grid.range)))
  const slots: Slot[] = []
  const pause = createPause(signal, SLICE_MS, nextTurn)
  for (const { theme, table } of query.sources) {
    let start: unknown
    for await (const row of rowsByStart(tables, { ...query, area }, table, signal)) {
      if (row.start !== start) {
        endSlot(grid, theme, start, slots)
        start = row.start
      }
      const turn = pause() // an await for each row would cost as much as a small row
      if (turn !== undefined) await turn
      if (row.geometry !== null && row.level !== undefined) addCell(grid, row.geometry, row.level)
    }
    endSlot(grid, theme, start, slots)
  }
  for (const slot of slots) yield* cellsOf(slot, grid.range)
}

/** The highest level so far of each cell of a slot. Cells without one take no memory. */
interface Grid {
  readonly range: MeshRange
  readonly filter: CellFilter | undefined
  readonly maxCells: number
  /** position of a cell → level */
  level: Map<number, number>
  /** cells of the slots before */
  count: number
}

/** Cells of one theme and start, in the order of the grid. */
interface Slot {
  readonly theme: string
  readonly start: unknown
  readonly positions: Float64Array
  readonly levels: Int8Array
}

function createGrid(range: MeshRange, area: PreparedArea | undefined, maxCells: number): Grid {
  return { range, filter: filterOf(area), maxCells, level: new Map(), count: 0 }
}

/** Returns undefined for everywhere. */
function filterOf(area: PreparedArea | undefined): CellFilter | undefined {
  if (area === undefined) return undefined
  const { areas, flat } = splitByDimension(area.geometry)
  return { areas: shapeOf(areas), flat: shapeOf(flat) }
}

/** Raises the cells that a geometry shares area with; points and lines have no area. */
function addCell(grid: Grid, geometry: Geometry, risk: number): void {
  const { range, filter, maxCells, level, count } = grid
  const raise = (column: number, row: number) => {
    const position = positionOf(range, column, row)
    const known = level.get(position)
    if (known === undefined && count + level.size >= maxCells) throw tooManyCells(maxCells)
    if (known === undefined || known < risk) level.set(position, risk)
  }
  const onBlock = (cells: number) => {
    if (count + cells > maxCells) throw tooManyCells(maxCells) // before the work, not after it
  }
  visitOverlappedCells(shapeOf(splitByDimension(geometry).areas), range, raise, { filter, onBlock })
}

function widthOf({ west, east }: MeshRange): number {
  return east - west + 1
}

/** Number of a cell, row by row from the south-west corner: up to 1.5e10, which a double holds. */
function positionOf(range: MeshRange, column: number, row: number): number {
  return (row - range.south) * widthOf(range) + column - range.west
}

/** Appends the cells of a slot, and empties the grid for the next one. */
function endSlot(grid: Grid, theme: string, start: unknown, slots: Slot[]): void {
  const { level } = grid
  if (level.size === 0) return
  const positions = Float64Array.from(level.keys()).sort()
  const levels = Int8Array.from(positions, (position) => level.get(position) ?? 0)
  slots.push({ theme, start, positions, levels })
  grid.count += level.size
  grid.level = new Map()
}

/** Yields the cells of a slot in batches. */
function* cellsOf({ theme, start, positions, levels }: Slot, range: MeshRange): Generator<RiskCell[]> {
  const width = widthOf(range)
  for (let from = 0; from < positions.length; from += BATCH_CELLS) {
    const batch = Array.from(positions.subarray(from, from + BATCH_CELLS), (position, at): RiskCell => {
      const column = range.west + (position % width)
      const ring = meshRing(range.degree, column, range.south + Math.floor(position / width))
      const level = levels[from + at] ?? 0
      return { theme, geometry: { type: 'Polygon', coordinates: [ring] }, start, level }
    })
    yield batch
  }
}

interface TimedRow {
  geometry: Geometry | null
  start: unknown
  level: number | undefined
}

/** Reads rows ordered by start, so that one grid at a time is enough. */
async function* rowsByStart(
  tables: CellReader,
  { area, period, levelColumn }: RiskQuery & { area: PreparedArea },
  table: LoaderTable,
  signal: AbortSignal,
): AsyncGenerator<TimedRow> {
  const columns = ['start_datetime', levelColumn]
  const query = { columns, order: 'start_datetime', span: period, area }
  for await (const page of tables.pages(table, query, signal)) {
    for (const { geometry, properties } of page)
      yield { geometry, start: properties.start_datetime, level: levelOf(properties[levelColumn]) }
  }
}

/** Returns the box around all rows of a query; undefined when there are none. */
async function extentOf(
  tables: CellReader,
  { period, sources, levelColumn }: RiskQuery,
  signal: AbortSignal,
): Promise<Bbox | undefined> {
  let extent: Bbox | undefined
  for (const { table } of sources) {
    for await (const page of tables.pages(table, { columns: [levelColumn], span: period }, signal)) {
      for (const { geometry } of page)
        extent = unionOf(extent, geometry === null ? undefined : bboxOf(geometry))
    }
  }
  return extent
}

function unionOf(union: Bbox | undefined, box: Bbox | undefined): Bbox | undefined {
  if (union === undefined || box === undefined) return union ?? box
  return [
    Math.min(union[0], box[0]),
    Math.min(union[1], box[1]),
    Math.max(union[2], box[2]),
    Math.max(union[3], box[3]),
  ]
}

function tooManyCells(limit: number): AppError {
  const message = `Found more than ${limit} mesh cells with a level, expected at most ${limit} (limits.meshCells): ask for a smaller area or a lower degree`
  return new AppError('TOO_MANY_CELLS', { limit }, { message })
}
