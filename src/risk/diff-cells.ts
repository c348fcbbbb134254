import type { Shape } from '../geo/shape.js'
import { type CellSet, copyCell, createCellSet, endOfPositions, FORM } from './cell-set.js'

/**
 * Finds the cells that are in only one of two sets, as multisets: a cell that is once in one and three times
 * in the other is listed twice. Order does not matter, but sets that begin alike are compared faster.
 *
 * Cost: linear in the cells.
 *
 * @returns undefined when more than `most` cells differ
 */
export function diffCells(before: CellSet, after: CellSet, most: number): CellSet | undefined {
  const { count: beforeCount } = before
  const { count: afterCount } = after
  if (Math.abs(beforeCount - afterCount) > most) return undefined
  const changed = createCellSet()
  let same = 0
  while (same < beforeCount && same < afterCount && isSame(before, same, after, same)) same++
  const table = createTable(before, same)
  for (let cell = same; cell < afterCount; cell++) {
    if (takeTwin(table, before, after, cell)) continue
    copyCell(after, cell, changed)
    if (changed.count > most) return undefined
  }
  for (let cell = same; cell < beforeCount; cell++) {
    if (table.isTaken[cell - same] === 1) continue
    copyCell(before, cell, changed)
    if (changed.count > most) return undefined
  }
  return changed
}

/** Hash table of cells, with chains. */
interface Table {
  /** first cell in the table; those before are equal in both sets */
  readonly from: number
  readonly mask: number
  /** slot → cell, counted from `from`, plus 1 */
  readonly first: Uint32Array
  /** cell → the next one of its slot, plus 1 */
  readonly next: Uint32Array
  readonly isTaken: Uint8Array
}

function createTable(cells: CellSet, from: number): Table {
  const count = cells.count - from
  const mask = 2 ** Math.ceil(Math.log2(count * 2 + 2)) - 1
  const first = new Uint32Array(mask + 1)
  const next = new Uint32Array(count)
  // last to first, so that a chain begins with its first cell
  for (let at = count - 1; at >= 0; at--) {
    const slot = hash(cells, from + at) & mask
    next[at] = first[slot]!
    first[slot] = at + 1
  }
  return { from, mask, first, next, isTaken: new Uint8Array(count) }
}

/**
 * Takes an equal cell that is not taken yet; false when there is none. Taken cells at the front of a chain
 * leave it, so that many equal cells do not cost quadratic time.
 */
function takeTwin(
  { from, mask, first, next, isTaken }: Table,
  before: CellSet,
  after: CellSet,
  cell: number,
): boolean {
  const slot = hash(after, cell) & mask
  while (first[slot]! > 0 && isTaken[first[slot]! - 1] === 1) first[slot] = next[first[slot]! - 1]!
  for (let link = first[slot]!; link > 0; link = next[link - 1]!) {
    const at = link - 1
    if (isTaken[at] === 1 || !isSame(before, from + at, after, cell)) continue
    isTaken[at] = 1
    return true
  }
  return false
}

function hash({ box, level }: CellSet, cell: number): number {
  const at = cell * 4
  // in eighths of 1e-7 degree, close cells get different hashes
  const x = Math.imul((box[at]! * 8) | 0, 0x9e3779b1)
  const y = Math.imul((box[at + 1]! * 8) | 0, 0x85ebca6b)
  const mixed = x ^ y ^ Math.imul(level[cell]!, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

function isSame(a: CellSet, at: number, b: CellSet, bt: number): boolean {
  const form = a.form[at]!
  if (a.level[at] !== b.level[bt] || form !== b.form[bt]) return false
  for (let side = 0; side < 4; side++) if (a.box[at * 4 + side] !== b.box[bt * 4 + side]) return false
  if (form === FORM.RING) return isSameRing(a, at, b, bt)
  return form === FORM.RECTANGLE || isSameShape(a.shapes.get(at)!, b.shapes.get(bt)!)
}

function isSameRing(a: CellSet, at: number, b: CellSet, bt: number): boolean {
  const from = a.firstPosition[at]! * 2
  const end = endOfPositions(a, at) * 2
  const move = b.firstPosition[bt]! * 2 - from
  if (endOfPositions(b, bt) * 2 - end !== move) return false
  for (let i = from; i < end; i++) if (a.xy[i] !== b.xy[i + move]) return false
  return true
}

/** Compares positions and the form of the tree; boxes and counts follow from these. */
function isSameShape(a: Shape, b: Shape): boolean {
  return (
    a.nodeCount === b.nodeCount &&
    areEqual(a.xy, b.xy) &&
    areEqual(a.kind, b.kind) &&
    areEqual(a.skip, b.skip) &&
    areEqual(a.first, b.first) &&
    areEqual(a.last, b.last)
  )
}

function areEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}
