import fc from 'fast-check'
import t from 'tap'
import { addLine, createRaster, dilate, erode, hasCell, type Raster } from '../../src/geo/raster.js'

/** More than two words wide, and no multiple of a word. */
const [WIDTH, HEIGHT] = [75, 40]
const MARGIN = 9

type Cell = readonly [x: number, y: number]

function rasterOf(cells: readonly Cell[]): Raster {
  const raster = createRaster(WIDTH, HEIGHT)
  for (const [x, y] of cells) addLine(raster, x, y, x, y)
  return raster
}

function cellsOf(raster: Raster): Cell[] {
  const cells: Cell[] = []
  for (let y = 0; y < raster.height; y++)
    for (let x = 0; x < raster.width; x++) if (hasCell(raster, x, y)) cells.push([x, y])
  return cells
}

function run<T>(task: Generator<undefined, T, undefined>): T {
  for (;;) {
    const slice = task.next()
    if (slice.done === true) return slice.value
  }
}

const distance = ([ax, ay]: Cell, [bx, by]: Cell) => Math.hypot(ax - bx, ay - by)
const inner = fc.tuple(
  fc.integer({ min: MARGIN, max: WIDTH - 1 - MARGIN }),
  fc.integer({ min: MARGIN, max: HEIGHT - 1 - MARGIN }),
)

t.test('hasCell: no cell outside the grid', async (t) => {
  const raster = rasterOf([
    [0, 0],
    [WIDTH - 1, HEIGHT - 1],
    [0, 3],
  ])
  t.same(cellsOf(raster), [
    [0, 0],
    [0, 3],
    [WIDTH - 1, HEIGHT - 1],
  ])
  for (const [x, y] of [[-1, 0], [0, -1], [WIDTH, 2], [WIDTH - 1, HEIGHT]] as Cell[]) // biome-ignore format: cells
    t.equal(hasCell(raster, x, y), false, `${x} ${y}`)
})

t.test('property: addLine adds cells all along a line, and none beside it', async () => {
  const place = fc.tuple(
    fc.double({ min: 0, max: WIDTH - 1, noNaN: true }),
    fc.double({ min: 0, max: HEIGHT - 1, noNaN: true }),
  )
  fc.assert(
    fc.property(place, place, (a, b) => {
      const raster = createRaster(WIDTH, HEIGHT)
      addLine(raster, ...a, ...b)
      const cells = cellsOf(raster)
      const points = Array.from({ length: 400 }, (_, i): Cell => {
        const share = i / 399
        return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share]
      })
      for (const point of points)
        if (!cells.some((cell) => distance(cell, point) < 1.42)) throw new Error(`a gap at ${point}`)
      for (const cell of cells)
        if (!points.some((point) => distance(cell, point) < 0.85))
          throw new Error(`${cell} is beside the line`)
    }),
  )
})

t.test('property: dilate adds the cells within the radius, erode removes those near others', async () => {
  const radius = fc.integer({ min: 0, max: MARGIN - 1 })
  fc.assert(
    fc.property(fc.array(inner, { maxLength: 30 }), radius, (cells, radius) => {
      const grown = run(dilate(rasterOf(cells), radius))
      for (let y = 0; y < HEIGHT; y++) {
        for (let x = 0; x < WIDTH; x++) {
          const isNear = cells.some((cell) => distance(cell, [x, y]) <= radius)
          if (hasCell(grown, x, y) !== isNear) throw new Error(`${x} ${y} is ${isNear ? 'missing' : 'added'}`)
        }
      }
      // a closing: the cells whose surroundings were all added, among them those of the beginning
      const closed = run(erode(grown, radius))
      for (let y = 0; y < HEIGHT; y++) {
        for (let x = 0; x < WIDTH; x++) {
          const isWithin = cellsWithin(radius).every(([dx, dy]) => hasCell(grown, x + dx, y + dy))
          if (hasCell(closed, x, y) !== isWithin)
            throw new Error(`${x} ${y} is ${isWithin ? 'missing' : 'left'}`)
        }
      }
      if (cells.some(([x, y]) => !hasCell(closed, x, y))) throw new Error('a cell was lost')
    }),
    { numRuns: 40 },
  )
})

t.test('dilate: a large grid takes several slices', async (t) => {
  const raster = createRaster(4096, 2048)
  addLine(raster, 100, 100, 4000, 2000)
  const task = dilate(raster, 2)
  let slices = 0
  while (task.next().done !== true) slices++
  t.equal(slices, 4)
})

function cellsWithin(radius: number): Cell[] {
  const cells: Cell[] = []
  for (let y = -radius; y <= radius; y++)
    for (let x = -radius; x <= radius; x++) if (x * x + y * y <= radius * radius) cells.push([x, y])
  return cells
}
