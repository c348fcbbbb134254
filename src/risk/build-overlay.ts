import { createFlatLine, type FlatLine, measureFlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import type { RoadLines } from '../routing/graph/road-lines.js'
import { type SegmentIndex, segmentIndex } from '../routing/graph/segment-index.js'
import type { Overlay } from '../routing/search/overlay.js'
import { runToEnd, type SlicedTask } from '../routing/search/sliced-task.js'
import { type CellSet, FORM } from './cell-set.js'
import { type CellSieve, createCellSieve, siftCells } from './cell-sieve.js'
import { addFound, assemble, createFound, type Found } from './found-pieces.js'
import { levelOfBox, MIXED, walkGrid } from './grid-walk.js'
import { type Covered, coverLine, createCovered, type MeasuredLine } from './line-cover.js'
import { createRectGrid, type RectGrid } from './rect-grid.js'
import {
  addPiece,
  addStretch,
  createPieces,
  createStretches,
  type Pieces,
  type Stretches,
  stackLevels,
} from './stack-levels.js'

/**
 * Builds the overlay of a map and a set of cells: the pieces of each segment that a cell covers, with their
 * levels.
 *
 * The tree of segment boxes is walked from the root, each branch with the cells that meet its box. Rectangles
 * that share their borders, as mesh squares do, are one grid. A line is unpacked only when a border may cross
 * it. So the cost follows the cells and the roads that they cover, not the size of the map.
 *
 * @throws Error when the map has no index of its segments
 */
export function buildOverlay(graph: RoadLines, cells: CellSet): Overlay {
  return runToEnd(buildOverlaySliced(graph, cells))
}

/**
 * Builds the same in slices of a few segments, for cells that a caller has drawn.
 *
 * @param throwIfEnded called before each step that may take long; what it throws ends the work
 */
export function* buildOverlaySliced(
  graph: RoadLines,
  cells: CellSet,
  throwIfEnded?: () => void,
): SlicedTask<Overlay> {
  return assemble(yield* findPiecesSliced(graph, cells, throwIfEnded))
}

/** Finds the pieces of an overlay that is to be assembled. @param share undefined = all of them */
export function* findPiecesSliced(
  graph: RoadLines,
  cells: CellSet,
  throwIfEnded?: () => void,
  share?: Share,
): SlicedTask<Found> {
  const found = createFound(Math.min(graph.segmentCount, cells.count * SEGMENTS_PER_CELL))
  if (cells.count > 0) yield* findPieces(createWork(graph, cells, throwIfEnded), { found, share })
  return found
}

/** Part of the work that a thread takes, while others take the rest. */
export interface Share {
  /** level of the branches that a thread takes as a whole */
  readonly level: number
  /** Takes a branch, counted from the first of its level. @returns false when another thread has it */
  take(branch: number): boolean
  /** from the last branch to the first, so that threads that begin at both ends meet once */
  readonly isReversed: boolean
}

/**
 * Returns the same as `buildOverlay(graph, cells)`, at the cost of the changed cells only: segments near none
 * of them keep their pieces from the former overlay.
 *
 * @param former overlay of the cells before the change
 * @param changed all cells that were added or removed
 */
export function rebuildOverlay(graph: RoadLines, former: Overlay, cells: CellSet, changed: CellSet): Overlay {
  return runToEnd(rebuildOverlaySliced(graph, former, cells, changed))
}

/** Rebuilds an overlay as `rebuildOverlay` does, in slices of a few segments. */
export function* rebuildOverlaySliced(
  graph: RoadLines,
  former: Overlay,
  cells: CellSet,
  changed: CellSet,
  throwIfEnded?: () => void,
): SlicedTask<Overlay> {
  if (changed.count === 0) return former
  const found = createFound(Math.min(graph.segmentCount, changed.count * SEGMENTS_PER_CELL))
  yield* findPieces(createWork(graph, cells, throwIfEnded), { found, changed })
  return assemble(found, former)
}

/**
 * Estimate: a mesh square of 250 m has about 8 segments in a town. A good estimate saves growing the arrays.
 */
const SEGMENTS_PER_CELL = 8

/** Returns the bytes that an overlay holds in memory. */
export function overlayBytes({ segments, firstPiece, pieceEndMm, pieceLevel }: Overlay): number {
  return segments.byteLength + firstPiece.byteLength + pieceEndMm.byteLength + pieceLevel.byteLength
}

/** Cells of a set, indexed by place. */
interface CellIndex {
  /** all rectangles, where they share their borders */
  readonly rects: RectGrid | undefined
  /** all other cells; also the rectangles when `rects` is undefined */
  readonly others: CellSieve
}

/** Input and working memory of the search for pieces, one segment after the other. */
interface Work {
  readonly graph: RoadLines
  readonly cells: CellSet
  readonly index: CellIndex
  /** line of the segment */
  readonly flat: FlatLine
  /** the same for cells beside the grid, with its box */
  readonly line: MeasuredLine
  readonly covered: Covered
  readonly stretches: Stretches
  /** result: pieces of the segment */
  readonly pieces: Pieces
}

/** A walk through the tree of segments. */
interface Walk {
  readonly tree: SegmentIndex
  /**
   * only segments near these cells are searched, and listed even without pieces; undefined = near any cell
   */
  readonly changed: CellIndex | undefined
  readonly work: Work
  readonly found: Found
  /** undefined = all branches */
  readonly share: Share | undefined
}

/** Children of one node of the tree, with the lists of cells that meet the node's box. */
interface Branch {
  /** level of the children; leaves are 0 */
  readonly level: number
  /** first child */
  readonly first: number
  /** list in the sieve of all cells */
  readonly from: number
  readonly end: number
  /** list in the sieve of the changed cells; empty when there is none */
  readonly changedFrom: number
  readonly changedEnd: number
}

/**
 * Finds the pieces of every segment near some cells: near the changed ones, or near any when `changed` is
 * undefined.
 */
function* findPieces(
  work: Work,
  { found, changed, share }: { found: Found; changed?: CellSet; share?: Share | undefined },
): SlicedTask<void> {
  const tree = segmentIndex(work.graph)
  const walk: Walk = { tree, changed: changed && indexCells(changed), work, found, share }
  const { levelEnds } = tree
  yield* walkBranch(walk, {
    level: levelEnds.length - 1,
    first: levelEnds[levelEnds.length - 1]! - 1,
    from: 0,
    end: walk.work.index.others.cells.length,
    changedFrom: 0,
    changedEnd: walk.changed?.others.cells.length ?? 0,
  })
}

/**
 * Walks down to the segments; yields after the segments of each lowest branch.
 *
 * @see flatbush, `search`: an inner node's index is the place of its first child times 4
 */
function* walkBranch(
  walk: Walk,
  { level, first, from, end, changedFrom, changedEnd }: Branch,
): SlicedTask<void> {
  const { tree, changed, work, found, share } = walk
  const { rects, others } = work.index
  const { nodeSize, levelEnds } = tree
  const last = Math.min(first + nodeSize, levelEnds[level]!)
  // leaves are valid until the next call, which comes after all of them were used
  const { boxes, indices, base } = tree.childrenOf(level, first, last)
  const isReversed = share?.isReversed === true && level > 0
  const isShared = share?.level === level
  for (let step = first; step < last; step++) {
    const child = isReversed ? first + last - 1 - step : step
    if (isShared && !share.take(child - levelEnds[level - 1]!)) continue
    const at = (child - base) * 4
    const next = indices[child - base]!
    let changedTop = changedEnd
    if (changed !== undefined) {
      changedTop = siftCells(changed.others, changedFrom, changedEnd, boxes, at)
      if (changedTop === changedEnd && levelInGrid(changed.rects, boxes, at) === 0) continue
    }
    const top = siftCells(others, from, end, boxes, at)
    const rectLevel = levelInGrid(rects, boxes, at)
    if (top === end && rectLevel === 0 && changed === undefined) continue
    if (level > 0) {
      yield* walkBranch(walk, {
        level: level - 1,
        first: next >>> 2,
        from: end,
        end: top,
        changedFrom: changedEnd,
        changedEnd: changedTop,
      })
      continue
    }
    work.line.west = boxes[at]!
    work.line.south = boxes[at + 1]!
    work.line.east = boxes[at + 2]!
    work.line.north = boxes[at + 3]!
    if (findOnSegment(work, next, rectLevel, end, top) || changed !== undefined)
      addFound(found, next, work.pieces)
  }
  if (level === 0) yield
}

/** Level of the grid in a box, `MIXED` when it has several, 0 without a grid. */
function levelInGrid(rects: RectGrid | undefined, boxes: Int32Array, at: number): number {
  return rects === undefined ? 0 : levelOfBox(rects, boxes, at)
}

function indexCells(cells: CellSet): CellIndex {
  const rects = createRectGrid(cells)
  const others: number[] = []
  for (let cell = 0; cell < cells.count; cell++) {
    if (rects === undefined || cells.form[cell] !== FORM.RECTANGLE) others.push(cell)
  }
  return { rects, others: createCellSieve(cells.box, others) }
}

function createWork(graph: RoadLines, cells: CellSet, throwIfEnded?: () => void): Work {
  const flat = createFlatLine()
  return {
    graph,
    cells,
    index: indexCells(cells),
    flat,
    line: { corners: 0, xy: flat.xy, offsets: flat.offsetsMm, west: 0, south: 0, east: 0, north: 0 },
    covered: createCovered(throwIfEnded),
    stretches: createStretches(),
    pieces: createPieces(),
  }
}

/**
 * Finds the pieces of one segment, whose box is that of `work.line`.
 *
 * @param rectLevel level of the grid of rectangles in that box
 * @param from list of the other cells whose boxes meet it, up to `end`
 * @returns false when no cell covers any of it; then it has no pieces
 */
function findOnSegment(work: Work, segment: number, rectLevel: number, from: number, end: number): boolean {
  const { graph, index, pieces } = work
  pieces.count = 0
  const lengthMm = graph.segmentLengthMm[segment]!
  if (lengthMm === 0) return false // two junctions at one place: there is nothing to drive
  if (rectLevel !== MIXED) addPiece(pieces, lengthMm, rectLevel)
  else {
    readFlatLine(graph, segment, work.flat)
    walkGrid(index.rects!, work.flat, lengthMm, pieces)
  }
  if (from < end) addNear(work, segment, lengthMm, from, end)
  if (pieces.count > 1 || pieces.level[0]! > 0) return true
  pieces.count = 0
  return false
}

/**
 * Adds the cells of a list to the pieces of a segment.
 *
 * Stretches are rounded to whole millimetres, the unit of routes; one below half a millimetre is dropped.
 */
function addNear(work: Work, segment: number, lengthMm: number, from: number, end: number): void {
  const { cells, index, line, covered, stretches, pieces } = work
  const { box, form, level } = cells
  const { stack, cells: cellAt } = index.others
  let isRead = false
  listStretches(pieces, stretches)
  for (let listed = from; listed < end; listed++) {
    const cell = cellAt[stack[listed]!]!
    const at = cell * 4
    if (
      form[cell] === FORM.RECTANGLE &&
      line.west >= box[at]! &&
      line.south >= box[at + 1]! &&
      line.east < box[at + 2]! &&
      line.north < box[at + 3]!
    ) {
      addStretch(stretches, 0, lengthMm, level[cell]!) // wholly inside a rectangle: the line itself is not needed
      continue
    }
    if (!isRead) {
      // routes measure by the same offsets, so a cut lies exactly where a route that ends there does
      readMeasured(work, segment, lengthMm)
      isRead = true
    }
    coverLine(cells, cell, line, covered)
    for (let i = 0; i < covered.size; i += 2) {
      const fromMm = Math.round(covered.ends[i]!)
      const toMm = Math.round(covered.ends[i + 1]!)
      if (fromMm < toMm) addStretch(stretches, fromMm, toMm, level[cell]!)
    }
  }
  stackLevels(stretches, lengthMm, pieces)
}

/** Fills `line` and its offsets, but not its box. */
function readMeasured({ graph, flat, line }: Work, segment: number, lengthMm: number): void {
  readFlatLine(graph, segment, flat)
  measureFlatLine(flat, lengthMm)
  line.corners = flat.corners
  line.xy = flat.xy
  line.offsets = flat.offsetsMm
}

/** Replaces `stretches` with the pieces above level 0. */
function listStretches({ count, end, level }: Pieces, stretches: Stretches): void {
  stretches.count = 0
  for (let piece = 0; piece < count; piece++) {
    if (level[piece]! > 0)
      addStretch(stretches, piece === 0 ? 0 : end[piece - 1]!, end[piece]!, level[piece]!)
  }
}
