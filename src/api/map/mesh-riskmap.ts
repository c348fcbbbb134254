import { AppError } from '../../errors.js'
import { bboxOf, boxPolygon } from '../../geo/bbox.js'
import { type MeshDegree, type MeshRange, meshCount, meshRange, meshRing, rangeBox } from '../../geo/mesh.js'
import { visitOverlappedCells, visitTouchedCells } from '../../geo/mesh-cover.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import { shapeOf } from '../../geo/shape.js'
import { splitByDimension } from '../../geo/split.js'
import type { Bbox } from '../../geo/types.js'
import type { MapContext } from './context.js'
import { featureText, levelOf } from './risk-feature.js'
import type { RiskQuestion } from './riskmap.js'

/** Features made before others are let in: about 2 ms. */
const BATCH_FEATURES = 1000

/**
 * Cells of the standard grid with the highest level of what they overlap by area, slot by slot: a slot is all rows of
 * one start. Cells that nothing overlaps are left out, and so are cells outside the search area: of its polygons those
 * count that share area with them, of its points and lines those that touch them.
 *
 * @throws AppError TOO_MANY_CELLS before the first batch, when the area holds more cells than `limits.meshCells`
 */
export async function* readMeshCells(
  question: RiskQuestion,
  degree: MeshDegree,
  context: MapContext,
): AsyncGenerator<string[]> {
  const box = question.area === undefined ? await extentOf(question, context) : question.area.bbox
  if (box === undefined) return
  const range = meshRange(degree, box)
  checkCount(meshCount(range), context.config.limits.meshCells)
  const grid = createGrid(range, wantedCells(question, range))
  // every row that any wanted cell may overlap: the risk of a cell must not depend on how little of it is asked for
  const near = { ...question, area: prepareArea(boxPolygon(rangeBox(range))) }
  for (const { theme, table } of question.sources) {
    let slot: unknown
    for await (const row of rowsByStart(near, table, context)) {
      if (row.start !== slot) {
        yield* drain(grid, theme, slot)
        slot = row.start
      }
      if (row.geometry !== null && row.level !== undefined) addCell(grid, row.geometry, row.level)
    }
    yield* drain(grid, theme, slot)
  }
}

type Table = RiskQuestion['sources'][number]['table']
type AnyGeometry = Parameters<typeof splitByDimension>[0]

/** The highest level so far of each cell of a range. */
interface Grid {
  readonly range: MeshRange
  /** cell → 1 when it is in the search area; undefined = all are */
  readonly wanted: Uint8Array | undefined
  /** cell → level, -1 for none yet; row by row from the south-west corner */
  readonly level: Int8Array
  /** cells that have a level */
  touched: number[]
}

function createGrid(range: MeshRange, wanted: Uint8Array | undefined): Grid {
  return { range, wanted, level: new Int8Array(meshCount(range)).fill(-1), touched: [] }
}

/** Told apart once, before any row is read: the cells of the answer depend on the area alone. */
function wantedCells({ area }: RiskQuestion, range: MeshRange): Uint8Array | undefined {
  if (area === undefined) return undefined
  const wanted = new Uint8Array(meshCount(range))
  const mark = (column: number, row: number) => {
    wanted[placeOf(range, column, row)] = 1
  }
  const { areas, flat } = splitByDimension(area.geometry)
  visitOverlappedCells(shapeOf(areas), range, mark)
  visitTouchedCells(shapeOf(flat), range, mark)
  return wanted
}

/** Points and lines have no area to overlap a cell with. */
function addCell({ range, wanted, level, touched }: Grid, geometry: AnyGeometry, risk: number): void {
  visitOverlappedCells(shapeOf(splitByDimension(geometry).areas), range, (column, row) => {
    const place = placeOf(range, column, row)
    const known = level[place] ?? 0
    if (known >= risk || wanted?.[place] === 0) return
    if (known < 0) touched.push(place)
    level[place] = risk
  })
}

function placeOf(range: MeshRange, column: number, row: number): number {
  return (row - range.south) * (range.east - range.west + 1) + column - range.west
}

/** The Features of one slot, in the order of the grid, and an empty grid for the next. */
async function* drain(grid: Grid, theme: string, slot: unknown): AsyncGenerator<string[]> {
  const { range, level, touched } = grid
  const width = range.east - range.west + 1
  const places = Uint32Array.from(touched).sort()
  grid.touched = []
  for (let from = 0; from < places.length; from += BATCH_FEATURES) {
    const batch = Array.from(places.subarray(from, from + BATCH_FEATURES), (place) => {
      const ring = meshRing(
        range.degree,
        range.west + (place % width),
        range.south + Math.floor(place / width),
      )
      const risk = level[place] ?? 0
      level[place] = -1
      return featureText(`{"type":"Polygon","coordinates":[${JSON.stringify(ring)}]}`, theme, slot, risk)
    })
    yield batch
    await new Promise((resolve) => setImmediate(resolve))
  }
}

interface TimedRow {
  geometry: AnyGeometry | null
  start: unknown
  level: number | undefined
}

/** Sorted by start, so that one grid at a time is enough. */
async function* rowsByStart(
  { area, period, levelColumn }: RiskQuestion & { area: PreparedArea },
  table: Table,
  { tables, signal }: MapContext,
): AsyncGenerator<TimedRow> {
  const query = {
    columns: ['start_datetime', levelColumn],
    order: 'start_datetime',
    span: period,
    area,
  }
  for await (const page of tables.pages(table, query, signal)) {
    for (const { geometry, properties } of page)
      yield { geometry, start: properties.start_datetime, level: levelOf(properties[levelColumn]) }
  }
}

/** Box around everything that would be answered; undefined when nothing would. */
async function extentOf(
  { period, sources, levelColumn }: RiskQuestion,
  { tables, signal }: MapContext,
): Promise<Bbox | undefined> {
  const boxes: Bbox[] = []
  for (const { table } of sources) {
    for await (const page of tables.pages(table, { columns: [levelColumn], span: period }, signal)) {
      const union = unionOf(page.map(({ geometry }) => (geometry === null ? undefined : bboxOf(geometry))))
      if (union !== undefined) boxes.push(union)
    }
  }
  return unionOf(boxes)
}

function unionOf(boxes: readonly (Bbox | undefined)[]): Bbox | undefined {
  let union: Bbox | undefined
  for (const box of boxes) {
    if (box === undefined) continue
    union = [
      Math.min(union?.[0] ?? Infinity, box[0]),
      Math.min(union?.[1] ?? Infinity, box[1]),
      Math.max(union?.[2] ?? -Infinity, box[2]),
      Math.max(union?.[3] ?? -Infinity, box[3]),
    ]
  }
  return union
}

function checkCount(found: number, limit: number): void {
  if (found <= limit) return
  throw new AppError(
    'TOO_MANY_CELLS',
    { found, limit },
    { message: `Found an area of ${found} mesh cells, expected at most ${limit} (limits.meshCells)` },
  )
}
