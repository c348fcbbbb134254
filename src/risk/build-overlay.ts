import { createFlatLine, type FlatLine, readFlatLine } from '../routing/graph/flat-line.js'
import { cornerOffsets, readLine } from '../routing/graph/geometry.js'
import type { Graph } from '../routing/graph/graph.js'
import { openSegmentTree, type SegmentTree } from '../routing/graph/graph-check.js'
import type { Overlay } from '../routing/search/overlay.js'
import type { CellSet } from './cell-set.js'
import { type CellSieve, createCellSieve, siftCells } from './cell-sieve.js'
import { addFound, assemble, createFound, type Found } from './found-pieces.js'
import { levelOfBox, MIXED, walkGrid } from './grid-walk.js'
import { type Covered, coverLine, type MeasuredLine } from './line-cover.js'
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
 * Lays cells on the roads of a map: which stretches of which segments have which level.
 *
 * The tree of segments is walked where cells are, each branch with the cells that meet it. Rectangles that share their
 * borders, as mesh squares do, are then met as fields of one grid. A line is unpacked only when a border may cross it.
 * So the time goes with the cells and the roads that they cover, not with the map.
 */
export function buildOverlay(graph: Graph, cells: CellSet): Overlay {
  const found = createFound(Math.min(graph.segmentCount, cells.level.length * SEGMENTS_PER_CELL))
  if (cells.level.length > 0) layOn(graph, cells, cells, found)
  return assemble(found)
}

/**
 * The same as `buildOverlay(graph, cells)`, when few cells are others than those of a former overlay: only roads near
 * those are laid out again.
 *
 * @param changed all cells that came or went
 */
export function rebuildOverlay(graph: Graph, former: Overlay, cells: CellSet, changed: CellSet): Overlay {
  if (changed.level.length === 0) return former
  const found = createFound(Math.min(graph.segmentCount, changed.level.length * SEGMENTS_PER_CELL))
  layOn(graph, cells, changed, found)
  return assemble(found, former)
}

/** A mesh square of 250 m holds so many in a town: a guess saves growing. */
const SEGMENTS_PER_CELL = 8

/** Bytes that an overlay holds. */
export function overlayBytes({ segments, firstPiece, pieceEndMm, pieceLevel }: Overlay): number {
  return segments.byteLength + firstPiece.byteLength + pieceEndMm.byteLength + pieceLevel.byteLength
}

/** Where cells are. */
interface Cover {
  /** all rectangles, where they share their borders */
  readonly rects: RectGrid | undefined
  /** the other cells */
  readonly others: CellSieve
}

/** What the walk needs for one segment after the other. */
interface Laying {
  readonly graph: Graph
  readonly cells: CellSet
  readonly cover: Cover
  readonly flat: FlatLine
  readonly line: MeasuredLine
  readonly covered: Covered
  readonly stretches: Stretches
  readonly pieces: Pieces
}

/** A walk through the tree of segments, with the cells that are near. */
interface Walk {
  readonly tree: SegmentTree
  /** the cells whose surroundings are looked at, undefined = all are */
  readonly where: Cover | undefined
  readonly laying: Laying
  readonly found: Found
}

/**
 * Finds the pieces of every segment near some cells.
 *
 * @param where cells whose surroundings are looked at; a segment there that has no pieces is listed only when these are
 * not all cells
 */
function layOn(graph: Graph, cells: CellSet, where: CellSet, found: Found): void {
  const tree = openSegmentTree(graph)
  if (tree === undefined) throw new Error('the map has no index of its segments')
  const walk: Walk = {
    tree,
    where: where === cells ? undefined : coverOf(where),
    laying: createLaying(graph, cells),
    found,
  }
  const { levelEnds } = tree
  const root = levelEnds[levelEnds.length - 1]! - 1
  const end = walk.laying.cover.others.cells.length
  walkBranches(walk, levelEnds.length - 1, root, 0, end, 0, walk.where?.others.cells.length ?? 0)
}

/**
 * Goes through the children of one branch.
 *
 * @param level of the tree that they are on, leaves 0
 * @param first of them
 * @param from list of cells near the branch, up to `end`; `whereFrom` and `whereEnd` likewise, of those in `where`
 * @see flatbush, `search`: parents lead to the place of their first child times 4
 */
function walkBranches(
  walk: Walk,
  level: number,
  first: number,
  from: number,
  end: number,
  whereFrom: number,
  whereEnd: number,
): void {
  const { tree, where, laying, found } = walk
  const { rects, others } = laying.cover
  const { boxes, indices, nodeSize, levelEnds } = tree
  const last = Math.min(first + nodeSize, levelEnds[level]!)
  for (let at = first; at < last; at++) {
    const x0 = boxes[at * 4]!
    const y0 = boxes[at * 4 + 1]!
    const x1 = boxes[at * 4 + 2]!
    const y1 = boxes[at * 4 + 3]!
    let whereTop = whereEnd
    if (where !== undefined) {
      whereTop = siftCells(where.others, whereFrom, whereEnd, x0, y0, x1, y1)
      if (whereTop === whereEnd && levelOfMaybe(where.rects, x0, y0, x1, y1) === 0) continue
    }
    const top = siftCells(others, from, end, x0, y0, x1, y1)
    const rectLevel = levelOfMaybe(rects, x0, y0, x1, y1)
    if (top === end && rectLevel === 0 && where === undefined) continue
    if (level > 0) walkBranches(walk, level - 1, indices[at]! >>> 2, end, top, whereEnd, whereTop)
    else if (layOnSegment(laying, indices[at]!, x0, y0, x1, y1, rectLevel, end, top) || where !== undefined)
      addFound(found, indices[at]!, laying.pieces)
  }
}

function levelOfMaybe(rects: RectGrid | undefined, x0: number, y0: number, x1: number, y1: number): number {
  return rects === undefined ? 0 : levelOfBox(rects, x0, y0, x1, y1)
}

function coverOf(cells: CellSet): Cover {
  const rects = createRectGrid(cells)
  const others: number[] = []
  for (let cell = 0; cell < cells.level.length; cell++) {
    if (rects === undefined || cells.shape[cell] !== null) others.push(cell)
  }
  return { rects, others: createCellSieve(cells.box, others) }
}

function createLaying(graph: Graph, cells: CellSet): Laying {
  return {
    graph,
    cells,
    cover: coverOf(cells),
    flat: createFlatLine(),
    line: { xy: [], offsets: [], west: 0, south: 0, east: 0, north: 0 },
    covered: { size: 0, ends: [] },
    stretches: createStretches(),
    pieces: createPieces(),
  }
}

/**
 * The pieces of one segment; none, and false, if no cell covers a stretch of it.
 *
 * @param x0 box of the segment, y0, x1, y1 likewise
 * @param rectLevel what the grid of rectangles has in that box
 * @param from list of the other cells whose boxes meet it, up to `end`
 */
function layOnSegment(
  laying: Laying,
  segment: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  rectLevel: number,
  from: number,
  end: number,
): boolean {
  const { graph, cover, pieces } = laying
  pieces.count = 0
  const lengthMm = graph.segmentLengthMm[segment]!
  if (lengthMm === 0) return false // two junctions at one place: there is nothing to drive
  if (rectLevel !== MIXED) addPiece(pieces, lengthMm, rectLevel)
  else {
    readFlatLine(graph, segment, laying.flat)
    walkGrid(cover.rects!, laying.flat, lengthMm, pieces)
  }
  if (from < end) addNear(laying, from, end, segment, lengthMm, x0, y0, x1, y1)
  if (pieces.count > 1 || pieces.level[0]! > 0) return true
  pieces.count = 0
  return false
}

/**
 * Puts the cells of a list over a segment's pieces.
 *
 * Stretches are rounded to whole millimetres, as routes measure: one below half a millimetre is none.
 */
function addNear(
  laying: Laying,
  from: number,
  end: number,
  segment: number,
  lengthMm: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): void {
  const { cells, cover, line, covered, stretches, pieces } = laying
  const { box, shape, level } = cells
  const { stack, cells: cellAt } = cover.others
  let isRead = false
  listStretches(pieces, stretches)
  for (let index = from; index < end; index++) {
    const cell = cellAt[stack[index]!]!
    const at = cell * 4
    if (
      shape[cell] === null &&
      x0 >= box[at]! &&
      y0 >= box[at + 1]! &&
      x1 < box[at + 2]! &&
      y1 < box[at + 3]!
    ) {
      addStretch(stretches, 0, lengthMm, level[cell]!) // wholly in a rectangle: its line need not be known
      continue
    }
    if (!isRead) readMeasured(laying, segment, lengthMm, x0, y0, x1, y1)
    isRead = true
    coverLine(cells, cell, line, covered)
    for (let i = 0; i < covered.size; i += 2) {
      const fromMm = Math.round(covered.ends[i]!)
      const toMm = Math.round(covered.ends[i + 1]!)
      if (fromMm < toMm) addStretch(stretches, fromMm, toMm, level[cell]!)
    }
  }
  stackLevels(stretches, lengthMm, pieces)
}

/** Pieces of level 0 are what is left where no stretch is. */
function listStretches({ count, end, level }: Pieces, stretches: Stretches): void {
  stretches.count = 0
  for (let piece = 0; piece < count; piece++) {
    if (level[piece]! > 0)
      addStretch(stretches, piece === 0 ? 0 : end[piece - 1]!, end[piece]!, level[piece]!)
  }
}

/** Unpacks the line; how its length is shared out is routing's, so that a cut lies where a route that ends there does. */
function readMeasured(
  { graph, line }: Laying,
  segment: number,
  lengthMm: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): void {
  readLine(graph, segment, line.xy)
  cornerOffsets(line.xy, lengthMm, line.offsets)
  line.west = x0
  line.south = y0
  line.east = x1
  line.north = y1
}
