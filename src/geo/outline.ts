import { hasCell, type Raster } from './raster.js'

/** Corners x, y, x, y … of a ring, the first one not repeated. */
export type OutlineRing = number[]
/** Outer ring, counterclockwise, then its holes, clockwise. */
export type OutlinePolygon = OutlineRing[]

/** Share of the way from an outer cell to an inner one at which a ring may pass between them. */
const NEAREST = 1 / 8
const FARTHEST = 7 / 8
/** The same where two rings, or two parts of one, pass between the same four cells. */
const FARTHEST_SHARED = 3 / 8
/** Steps from cell to cell between two pauses, over all rings: some milliseconds. */
const SLICE_STEPS = 1 << 13
/** Words of the raster between two pauses: some milliseconds. */
const SLICE_WORDS = 1 << 16

/** x and y of a step to the east, north, west and south. */
const STEP = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
] as const
const [NORTH, SOUTH] = [1, 3]

/** Runs of neighbouring cells in the rows of a raster. */
interface Runs {
  /** row → its first run; `height + 1` entries */
  readonly first: Uint32Array
  /** run → its westernmost cell */
  readonly west: Uint32Array
  /** run → ring at its western end, and at its eastern end; -1 = not traced yet */
  readonly westRing: Int32Array
  readonly eastRing: Int32Array
}

/** Polygon of rings inside a hole that is left out. */
const LEFT_OUT = -1

/** A ring that was traced. */
interface Traced {
  /** position of its polygon, or `LEFT_OUT` */
  readonly polygon: number
  /** what is on its right hand, outside the set, is filled */
  readonly isFilled: boolean
}

/** A place where a ring passes between an inner and an outer cell: on a line from `near` on by `dx`, `dy`. */
interface Gate {
  /** end at the outer cell, which is on the right hand */
  readonly nearX: number
  readonly nearY: number
  /** end at the inner cell */
  readonly farX: number
  readonly farY: number
}

/**
 * Draws the outlines of a set of cells as polygons with few corners. Between every two neighbouring cells of
 * which one is in the set a ring passes, an eighth of the way or more from both. Cells that touch at a corner
 * belong together.
 *
 * Rings cross no ring, not even themselves: between any four cells a ring has a square of its own, which it
 * enters and leaves by two of its sides, and edges are straight through as many of those sides as they can be.
 * Where two rings share a square, each keeps to its own corner.
 *
 * A slice is some milliseconds. Cost: linear in the words of the raster and in the length of the rings.
 *
 * @param minHole holes of a smaller area are left out, with what is inside them
 * @returns in cells; polygons by their lowest, then westernmost cells
 */
export function* outlinesOf(
  raster: Raster,
  minHole: number,
): Generator<undefined, OutlinePolygon[], undefined> {
  const runs = yield* findRuns(raster)
  const polygons: OutlinePolygon[] = []
  const traced: Traced[] = []
  const pace = { steps: 0 }
  let row = 0
  for (let run = 0; run < runs.west.length; run++) {
    while (runs.first[row + 1]! <= run) row++
    if (runs.westRing[run] !== -1) continue
    const start = { x: runs.west[run]!, y: row, number: traced.length }
    const ring = yield* traceRing(raster, runs, start, pace)
    const area = areaOf(ring)
    const west = run > runs.first[row]! ? run - 1 : -1
    if (area > 0) {
      const polygon = isFilled(runs, traced, west) ? LEFT_OUT : polygons.push([ring]) - 1
      traced.push({ polygon, isFilled: polygon === LEFT_OUT })
      continue
    }
    // a hole's first run is east of it, in its lowest row: the run on the other side is of the same polygon
    const { polygon } = traced[runs.westRing[west]!]!
    const isSmall = -area < minHole
    if (!isSmall && polygon !== LEFT_OUT) polygons[polygon]!.push(ring)
    traced.push({ polygon, isFilled: isSmall || polygon === LEFT_OUT })
  }
  return polygons
}

/** Returns true when what is outside a ring is filled, from the run west of the ring's first run, -1 = none. */
function isFilled({ eastRing }: Runs, traced: readonly Traced[], west: number): boolean {
  // the ring at the other side of the gap surrounds this one, or lies beside it
  return west >= 0 && traced[eastRing[west]!]!.isFilled
}

/** Lists the runs of all rows. */
function* findRuns({ height, rowWords, words }: Raster): Generator<undefined, Runs, undefined> {
  const first = new Uint32Array(height + 1)
  const west: number[] = []
  const sliceRows = Math.ceil(SLICE_WORDS / rowWords)
  for (let y = 0; y < height; y++) {
    if (y % sliceRows === sliceRows - 1) yield
    let before = 0
    for (let i = 0; i < rowWords; i++) {
      const word = words[y * rowWords + i]!
      // cells whose western neighbour is not in the set
      let begins = word & ~((word << 1) | (before >>> 31))
      while (begins !== 0) {
        west.push(i * 32 + 31 - Math.clz32(begins & -begins))
        begins &= begins - 1
      }
      before = word
    }
    first[y + 1] = west.length
  }
  return {
    first,
    west: Uint32Array.from(west),
    westRing: new Int32Array(west.length).fill(-1),
    eastRing: new Int32Array(west.length).fill(-1),
  }
}

/** Follows a ring, with the set on its left hand, from the western end of a run, and straightens it. */
function* traceRing(
  raster: Raster,
  runs: Runs,
  { x, y, number }: { x: number; y: number; number: number },
  pace: { steps: number },
): Generator<undefined, OutlineRing, undefined> {
  // square of the four cells from (i, j) on; the ring comes into it from the square to the north
  let [i, j] = [x - 1, y - 1]
  let heading: number = SOUTH
  const pen = createPen(gateTo(raster, i, j, heading))
  runs.westRing[runAt(runs, x, y)] = number
  for (;;) {
    heading = turn(raster, i, j, heading)
    i += STEP[heading]![0]
    j += STEP[heading]![1]
    // the first gate again
    if (heading === SOUTH && i === x - 1 && j === y - 1) break
    if (heading === SOUTH) runs.westRing[runAt(runs, i + 1, j + 1)] = number
    if (heading === NORTH) runs.eastRing[runAt(runs, i, j)] = number
    pen.passThrough(gateTo(raster, i, j, heading))
    if (++pace.steps % SLICE_STEPS === 0) yield
  }
  return pen.close()
}

/** Returns the heading by which a ring leaves a square: to the right where it can, so that corners join cells. */
function turn(raster: Raster, i: number, j: number, heading: number): number {
  const [dx, dy] = STEP[heading]!
  // the two cells ahead: half a step on from the middle of the square, and half a step aside
  const aheadX = i + (1 + dx) / 2
  const aheadY = j + (1 + dy) / 2
  if (hasCell(raster, aheadX + dy / 2, aheadY - dx / 2)) return (heading + 3) % 4
  if (hasCell(raster, aheadX - dy / 2, aheadY + dx / 2)) return heading
  return (heading + 1) % 4
}

/** Returns the gate by which a ring came into a square. */
function gateTo(raster: Raster, i: number, j: number, heading: number): Gate {
  const [dx, dy] = STEP[heading]!
  // the two cells behind, on the right hand and on the left
  const behindX = i + (1 - dx) / 2
  const behindY = j + (1 - dy) / 2
  const [outerX, outerY] = [behindX + dy / 2, behindY - dx / 2]
  const isShared = isSaddle(raster, i, j) || isSaddle(raster, i - dx, j - dy)
  const far = isShared ? FARTHEST_SHARED : FARTHEST
  // the left hand of the heading is (-dy, dx)
  return {
    nearX: outerX - dy * NEAREST,
    nearY: outerY + dx * NEAREST,
    farX: outerX - dy * far,
    farY: outerY + dx * far,
  }
}

/** Returns true when two opposite cells of a square are in the set and the others are not. */
function isSaddle(raster: Raster, i: number, j: number): boolean {
  const southWest = hasCell(raster, i, j)
  const southEast = hasCell(raster, i + 1, j)
  return (
    southWest !== southEast &&
    hasCell(raster, i + 1, j + 1) === southWest &&
    hasCell(raster, i, j + 1) === southEast
  )
}

/** Finds the run that holds a cell, by binary search. */
function runAt({ first, west }: Runs, x: number, y: number): number {
  let low = first[y]!
  let high = first[y + 1]! - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (west[middle]! <= x) low = middle
    else high = middle - 1
  }
  return low
}

/** Draws a ring through gates with as few corners as it can. */
interface Pen {
  passThrough(gate: Gate): void
  close(): OutlineRing
}

/**
 * Creates a pen at the middle of a gate. It keeps the directions in which a straight line from the last corner
 * passes through all gates since; when the next gate leaves none, the last gate gets a corner.
 *
 * @see L. Guibas, J. Hershberger, J. Mitchell, J. Snoeyink, "Approximating polygons and subdivisions with
 *   minimum-link paths", 1993
 */
function createPen(first: Gate): Pen {
  const ring: OutlineRing = []
  let [x, y] = [0, 0]
  // the outermost directions, from the last corner; `last` undefined: there was no gate since
  let [leftX, leftY, rightX, rightY] = [0, 0, 0, 0]
  let last: Gate | undefined
  const beginAt = (cornerX: number, cornerY: number) => {
    ring.push(cornerX, cornerY)
    x = cornerX
    y = cornerY
    last = undefined
  }
  const passThrough = (gate: Gate) => {
    const [nearX, nearY] = [gate.nearX - x, gate.nearY - y]
    const [farX, farY] = [gate.farX - x, gate.farY - y]
    if (last === undefined) {
      ;[leftX, leftY, rightX, rightY] = [farX, farY, nearX, nearY]
    } else if (cross(leftX, leftY, nearX, nearY) > 0 || cross(rightX, rightY, farX, farY) < 0) {
      const toLeft = crossing(last, x, y, leftX, leftY)
      const toRight = crossing(last, x, y, rightX, rightY)
      const share = (toLeft + toRight) / 2
      beginAt(last.nearX + (last.farX - last.nearX) * share, last.nearY + (last.farY - last.nearY) * share)
      passThrough(gate)
      return
    } else {
      if (cross(leftX, leftY, farX, farY) < 0) [leftX, leftY] = [farX, farY]
      if (cross(rightX, rightY, nearX, nearY) > 0) [rightX, rightY] = [nearX, nearY]
    }
    last = gate
  }
  beginAt((first.nearX + first.farX) / 2, (first.nearY + first.farY) / 2)
  return {
    passThrough,
    close() {
      // the gate is the first corner alone: a corner may be needed before it
      passThrough({ nearX: ring[0]!, nearY: ring[1]!, farX: ring[0]!, farY: ring[1]! })
      return ring
    },
  }
}

/** Share of the way along a gate where a ray from a point meets it, from its near end; 0 to 1. */
function crossing({ nearX, nearY, farX, farY }: Gate, x: number, y: number, dx: number, dy: number): number {
  const [alongX, alongY] = [farX - nearX, farY - nearY]
  const share = cross(x - nearX, y - nearY, dx, dy) / cross(alongX, alongY, dx, dy)
  return Math.min(1, Math.max(0, share))
}

function cross(ax: number, ay: number, bx: number, by: number): number {
  return ax * by - ay * bx
}

/** Area of a ring, negative where it runs clockwise. */
function areaOf(ring: OutlineRing): number {
  let double = 0
  for (let i = 0; i < ring.length; i += 2) {
    const next = (i + 2) % ring.length
    double += cross(ring[i]!, ring[i + 1]!, ring[next]!, ring[next + 1]!)
  }
  return double / 2
}
