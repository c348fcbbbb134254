import { type CellSet, FORM } from './cell-set.js'

/**
 * All rectangles of a cell set as one table of levels. Their borders cut the plane into columns and rows of
 * any width, and each field has the highest level of the rectangles over it. Mesh squares share borders, so
 * their table is small.
 */
export interface RectGrid {
  readonly x: Borders
  readonly y: Borders
  /** `row * width + column` → level; column 0 is west of every border, row 0 south of every one */
  readonly level: Uint8Array
  readonly width: number
}

/** Borders along one axis, 1e-7 degree. */
interface Borders {
  /** -Infinity, the borders ascending, each once, Infinity */
  readonly at: Float64Array
  /** step along the axis, all equally wide → number of borders before it */
  readonly before: Uint32Array
  /** the first border, where the first step begins */
  readonly origin: number
  readonly stepsPerUnit: number
}

/** Fields of the table at most, and fields that filling it may touch: about 4 ms, and 4 MiB. */
const MAX_FIELDS = 2 ** 22
/** Steps for each border: with borders at equal distances no step holds two. */
const STEPS_PER_BORDER = 4

/**
 * Creates the grid of the rectangles in a cell set; other cells are skipped.
 *
 * @returns undefined when the table would be too large: the rectangles do not share borders, or overlap a lot
 */
export function createRectGrid(cells: CellSet): RectGrid | undefined {
  const { count, box, level: levels, form } = cells
  const x = createBorders(cells, 0)
  const y = createBorders(cells, 1)
  const width = x.at.length - 1
  const fields = width * (y.at.length - 1)
  if (fields > MAX_FIELDS) return undefined
  const level = new Uint8Array(fields)
  let touched = 0
  for (let cell = 0; cell < count; cell++) {
    if (form[cell] !== FORM.RECTANGLE) continue
    const west = placeIn(x, box[cell * 4]!)
    const south = placeIn(y, box[cell * 4 + 1]!)
    const east = placeIn(x, box[cell * 4 + 2]!)
    const north = placeIn(y, box[cell * 4 + 3]!)
    touched += (east - west) * (north - south)
    if (touched > MAX_FIELDS) return undefined
    const own = levels[cell]!
    for (let row = south; row < north; row++) {
      for (let at = row * width + west, end = row * width + east; at < end; at++) {
        if (level[at]! < own) level[at] = own
      }
    }
  }
  return { x, y, level, width }
}

/**
 * Column, or row, that a value lies in, half-open: `at[place] <= value < at[place + 1]`. Constant time where
 * borders are about equally spaced.
 */
export function placeIn({ at, before, origin, stepsPerUnit }: Borders, value: number): number {
  const last = before.length - 1
  const step = (value - origin) * stepsPerUnit
  let place = before[step <= 0 ? 0 : step >= last ? last : step | 0]!
  while (at[place + 1]! <= value) place++
  return place
}

/** Collects the borders of the rectangles. @param axis 0 for west and east, 1 for south and north */
function createBorders({ count: cellCount, box, form }: CellSet, axis: number): Borders {
  const all = new Float64Array(cellCount * 2)
  let count = 0
  for (let cell = 0; cell < cellCount; cell++) {
    if (form[cell] !== FORM.RECTANGLE) continue
    all[count++] = box[cell * 4 + axis]!
    all[count++] = box[cell * 4 + axis + 2]!
  }
  const sorted = distinct(all.subarray(0, count))
  const at = new Float64Array(sorted.length + 2).fill(Infinity)
  at[0] = -Infinity
  at.set(sorted, 1)
  const origin = sorted[0] ?? 0
  const steps = sorted.length * STEPS_PER_BORDER
  const stepsPerUnit = sorted.length > 1 ? steps / (sorted[sorted.length - 1]! - origin) : 0
  const before = new Uint32Array(steps + 1)
  // same arithmetic as in `placeIn`; it is monotonic, so every border that falls into an earlier step lies
  // before
  let border = 0
  for (let step = 1; step <= steps; step++) {
    while (border < sorted.length && Math.floor((sorted[border]! - origin) * stepsPerUnit) < step) border++
    before[step] = border
  }
  return { at, before, origin, stepsPerUnit }
}

/**
 * Sorts values and drops repeats, by hashing before sorting: most borders repeat, and hashing is faster than
 * sorting.
 */
function distinct(values: Float64Array): Float64Array {
  const bits = Math.ceil(Math.log2(values.length * 2 + 2))
  const mask = 2 ** bits - 1
  const slots = new Float64Array(mask + 1).fill(Infinity)
  let count = 0
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    // the upper bits of a product are mixed best; in eighths of 1e-7 degree, close borders get different
    // hashes
    let slot = Math.imul((value * 8) | 0, 0x9e3779b1) >>> (32 - bits)
    while (slots[slot] !== Infinity && slots[slot] !== value) slot = (slot + 1) & mask
    if (slots[slot] === value) continue
    slots[slot] = value
    values[count++] = value
  }
  return values.slice(0, count).sort()
}
