import { AppError } from '../errors.js'
import { bboxOf, boxPolygon } from '../geo/bbox.js'
import { type MeshDegree, type MeshRange, meshCount, meshRange, meshRing, rangeBox } from '../geo/mesh.js'
import { visitOverlappedCells, visitTouchedCells } from '../geo/mesh-cover.js'
import { type PreparedArea, prepareArea } from '../geo/prepared-area.js'
import { shapeOf } from '../geo/shape.js'
import { splitByDimension } from '../geo/split.js'
import type { Bbox, Geometry } from '../geo/types.js'
import type { LoaderTable } from '../storage/tables.js'
import { type CellReader, levelOf, type RiskCell, type RiskQuery } from './riskmap.js'

/** Cells made between two turns of the event loop: about 2 ms. */
const BATCH_CELLS = 1000

/** Grid of the cells to make. */
export interface MeshOptions {
  readonly degree: MeshDegree
  /** most cells of the grid within the box of the area */
  readonly maxCells: number
}

/**
 * Reads cells of the standard grid. The level of a cell is the highest level of the stored cells that share
 * area with it, slot by slot: a slot is all rows of one start. Cells without a level are left out, and so are
 * cells outside the search area: within it are cells that share area with its polygons, or touch its points
 * and lines.
 *
 * @throws AppError TOO_MANY_CELLS before the first batch; CANCELLED; UNKNOWN_TABLE when a table is dropped
 *   meanwhile
 */
export async function* readMeshCells(
  tables: CellReader,
  query: RiskQuery,
  { degree, maxCells }: MeshOptions,
  signal: AbortSignal,
): AsyncGenerator<RiskCell[]> {
  const box = query.area === undefined ? await extentOf(tables, query, signal) : query.area.bbox
  if (box === undefined) return
  const range = meshRange(degree, box)
  checkCount(meshCount(range), maxCells)
  const grid = createGrid(range, wantedCells(query.area, range))
  // all rows that a wanted cell may overlap: the level of a cell must not depend on the search area
  const area = prepareArea(boxPolygon(rangeBox(range)))
  for (const { theme, table } of query.sources) {
    let slot: unknown
    for await (const row of rowsByStart(tables, { ...query, area }, table, signal)) {
      if (row.start !== slot) {
        yield* drain(grid, theme, slot)
        slot = row.start
      }
      if (row.geometry !== null && row.level !== undefined) addCell(grid, row.geometry, row.level)
    }
    yield* drain(grid, theme, slot)
  }
}

/** The highest level so far of each cell of a range. */
interface Grid {
  readonly range: MeshRange
  /** cell → 1 within the search area; undefined when all cells are */
  readonly wanted: Uint8Array | undefined
  /** cell → level, -1 for none; row by row from the south-west corner */
  readonly level: Int8Array
  /** cells that have a level */
  touched: number[]
}

function createGrid(range: MeshRange, wanted: Uint8Array | undefined): Grid {
  return { range, wanted, level: new Int8Array(meshCount(range)).fill(-1), touched: [] }
}

/** Marks the cells within the search area; undefined for everywhere. */
function wantedCells(area: PreparedArea | undefined, range: MeshRange): Uint8Array | undefined {
  if (area === undefined) return undefined
  const wanted = new Uint8Array(meshCount(range))
  const mark = (column: number, row: number) => {
    wanted[positionOf(range, column, row)] = 1
  }
  const { areas, flat } = splitByDimension(area.geometry)
  visitOverlappedCells(shapeOf(areas), range, mark)
  visitTouchedCells(shapeOf(flat), range, mark)
  return wanted
}

/** Raises the cells that a geometry shares area with; points and lines have no area. */
function addCell({ range, wanted, level, touched }: Grid, geometry: Geometry, risk: number): void {
  visitOverlappedCells(shapeOf(splitByDimension(geometry).areas), range, (column, row) => {
    const position = positionOf(range, column, row)
    const known = level[position] ?? 0
    if (known >= risk || wanted?.[position] === 0) return
    if (known < 0) touched.push(position)
    level[position] = risk
  })
}

function positionOf(range: MeshRange, column: number, row: number): number {
  return (row - range.south) * (range.east - range.west + 1) + column - range.west
}

/** Yields the cells of one slot in the order of the grid, and empties the grid for the next slot. */
async function* drain(grid: Grid, theme: string, start: unknown): AsyncGenerator<RiskCell[]> {
  const { range, level, touched } = grid
  const width = range.east - range.west + 1
  const positions = Uint32Array.from(touched).sort()
  grid.touched = []
  for (let from = 0; from < positions.length; from += BATCH_CELLS) {
    const batch = Array.from(positions.subarray(from, from + BATCH_CELLS), (position): RiskCell => {
      const column = range.west + (position % width)
      const ring = meshRing(range.degree, column, range.south + Math.floor(position / width))
      const highest = level[position] ?? 0
      level[position] = -1
      return { theme, geometry: { type: 'Polygon', coordinates: [ring] }, start, level: highest }
    })
    yield batch
    await new Promise((resolve) => setImmediate(resolve))
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

function checkCount(found: number, limit: number): void {
  if (found <= limit) return
  throw new AppError(
    'TOO_MANY_CELLS',
    { found, limit },
    { message: `Found an area of ${found} mesh cells, expected at most ${limit} (limits.meshCells)` },
  )
}
