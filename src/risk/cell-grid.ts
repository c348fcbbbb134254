import type { CellSet } from './cell-set.js'

/**
 * Cells by place: which may meet a box? A hierarchy of hashed grids: a cell lies in the grid whose squares are at least
 * as large as it, so it fills four squares at most, and a box looks into few squares of each grid in use.
 */
export interface CellGrid {
  readonly levels: readonly GridLevel[]
  /** cell → number of the last box that met it: a cell in several squares is told once */
  readonly seenIn: Uint32Array
  boxCount: number
}

interface GridLevel {
  /** side of a square */
  readonly side: number
  /** one less than the number of slots, a power of two */
  readonly mask: number
  /** slot → its cells in `cells`; squares that fall on one slot share it, and the boxes of the cells tell them apart */
  readonly first: Uint32Array
  readonly cells: Uint32Array
}

/** Sides grow by this factor from one grid to the next. */
const GROWTH = 2
/** A box over more squares than this is compared with every cell of the grid. */
const MAX_SQUARES = 4096

/** @param listed the cells that are to be found */
export function createCellGrid(
  cells: CellSet,
  listed: readonly number[] = [...cells.level.keys()],
): CellGrid {
  const bySize = new Map<number, number[]>()
  const { box } = cells
  for (const cell of listed) {
    const size = Math.max(box[cell * 4 + 2]! - box[cell * 4]!, box[cell * 4 + 3]! - box[cell * 4 + 1]!, 1)
    const step = Math.ceil(Math.log(size) / Math.log(GROWTH))
    const list = bySize.get(step)
    if (list === undefined) bySize.set(step, [cell])
    else list.push(cell)
  }
  return {
    levels: [...bySize].map(([step, list]) => createLevel(cells, list, GROWTH ** step)),
    seenIn: new Uint32Array(cells.level.length),
    boxCount: 0,
  }
}

/**
 * Cells whose box meets a box, each once, in any order.
 *
 * @param found filled from its beginning, and never shortened
 * @returns how many were found
 */
export function findCells(
  grid: CellGrid,
  cells: CellSet,
  west: number,
  south: number,
  east: number,
  north: number,
  found: number[],
): number {
  const { levels, seenIn } = grid
  const { box } = cells
  const number = ++grid.boxCount
  let count = 0
  for (let level = 0; level < levels.length; level++) {
    const { side, mask, first, cells: listed } = levels[level]!
    let left = Math.floor(west / side)
    let bottom = Math.floor(south / side)
    let right = Math.floor(east / side)
    let top = Math.floor(north / side)
    const isWide = (right - left + 1) * (top - bottom + 1) > MAX_SQUARES
    if (isWide) left = bottom = right = top = 0
    for (let y = bottom; y <= top; y++) {
      for (let x = left; x <= right; x++) {
        const slot = slotOf(x, y, mask)
        const end = isWide ? listed.length : first[slot + 1]!
        for (let at = isWide ? 0 : first[slot]!; at < end; at++) {
          const cell = listed[at]!
          if (seenIn[cell] === number) continue
          const place = cell * 4
          if (
            box[place]! > east ||
            box[place + 2]! < west ||
            box[place + 1]! > north ||
            box[place + 3]! < south
          )
            continue
          seenIn[cell] = number
          found[count++] = cell
        }
      }
    }
  }
  return count
}

function createLevel({ box }: CellSet, list: readonly number[], side: number): GridLevel {
  const mask = 2 ** Math.ceil(Math.log2(list.length * 4 + 1)) - 1
  const first = new Uint32Array(mask + 2)
  const visit = (put: (cell: number, slot: number) => void) => {
    for (const cell of list) {
      const left = Math.floor(box[cell * 4]! / side)
      const bottom = Math.floor(box[cell * 4 + 1]! / side)
      const right = Math.floor(box[cell * 4 + 2]! / side)
      const top = Math.floor(box[cell * 4 + 3]! / side)
      for (let y = bottom; y <= top; y++) for (let x = left; x <= right; x++) put(cell, slotOf(x, y, mask))
    }
  }
  visit((_, slot) => {
    first[slot + 1]!++
  })
  for (let slot = 0; slot <= mask; slot++) first[slot + 1]! += first[slot]!
  const cells = new Uint32Array(first[mask + 1]!)
  const next = first.slice()
  visit((cell, slot) => {
    cells[next[slot]!++] = cell
  })
  return { side, mask, first, cells }
}

/** Multiplies by two odd numbers of 32 bits and takes the upper bits, where neighbours come far apart. */
function slotOf(x: number, y: number, mask: number): number {
  const mixed = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) & mask
}
