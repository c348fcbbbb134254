import type { CellSet } from './cell-set.js'

/**
 * All rectangles of a cell set as one table of levels: their borders cut the plane into columns and rows, of any width,
 * and each field has the highest level over it. Mesh squares share their borders, so for them the table is small.
 */
export interface RectGrid {
  readonly x: Borders
  readonly y: Borders
  /** `row * width + column` → level; column 0 is west of every border, row 0 south of every one */
  readonly level: Uint8Array
  readonly width: number
}

/** Borders along one axis. */
export interface Borders {
  /** -Infinity, the borders ascending, each once, Infinity */
  readonly at: Float64Array
  /** equal steps along the axis → number of borders before the step */
  readonly before: Uint32Array
  readonly origin: number
  readonly stepsPerUnit: number
}

/** The table may have this many fields, and filling it may touch as many: some 4 ms, and 4 MiB for a while. */
const MAX_FIELDS = 2 ** 22
/** Steps for each border: with borders at equal distances no step holds two. */
const STEPS_PER_BORDER = 4

/** @returns undefined when the rectangles do not share their borders, or overlap a lot: such a table would be large */
export function createRectGrid({ box, level: levels, shape }: CellSet): RectGrid | undefined {
  const count = levels.length
  const x = createBorders(box, shape, 0)
  const y = createBorders(box, shape, 1)
  const width = x.at.length - 1
  const fields = width * (y.at.length - 1)
  if (fields > MAX_FIELDS) return undefined
  const level = new Uint8Array(fields)
  let touched = 0
  for (let cell = 0; cell < count; cell++) {
    if (shape[cell] !== null) continue
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
 * How many borders are at a value or before it: the column, or row, that the value lies in, half-open. So
 * `at[place] <= value < at[place + 1]`.
 */
export function placeIn({ at, before, origin, stepsPerUnit }: Borders, value: number): number {
  const last = before.length - 1
  const step = (value - origin) * stepsPerUnit
  let place = before[step <= 0 ? 0 : step >= last ? last : step | 0]!
  while (at[place + 1]! <= value) place++
  return place
}

/** @param axis 0 for west and east, 1 for south and north */
function createBorders(box: readonly number[], shape: CellSet['shape'], axis: number): Borders {
  const all = new Float64Array(shape.length * 2)
  let count = 0
  for (let cell = 0; cell < shape.length; cell++) {
    if (shape[cell] !== null) continue
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
  // by the same arithmetic as values are placed: it never falls as values grow, so a border of an earlier step is before
  let border = 0
  for (let step = 1; step <= steps; step++) {
    while (border < sorted.length && Math.floor((sorted[border]! - origin) * stepsPerUnit) < step) border++
    before[step] = border
  }
  return { at, before, origin, stepsPerUnit }
}

/** Sorted, each once: most are repeats, which a look-up tells sooner than sorting would. */
function distinct(values: Float64Array): Float64Array {
  const bits = Math.ceil(Math.log2(values.length * 2 + 2))
  const mask = 2 ** bits - 1
  const slots = new Float64Array(mask + 1).fill(Infinity)
  let count = 0
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!
    // upper bits of a product are mixed best; an eighth of 1e-7 degree keeps near borders apart
    let slot = Math.imul((value * 8) | 0, 0x9e3779b1) >>> (32 - bits)
    while (slots[slot] !== Infinity && slots[slot] !== value) slot = (slot + 1) & mask
    if (slots[slot] === value) continue
    slots[slot] = value
    values[count++] = value
  }
  return values.slice(0, count).sort()
}
