import { createFlatLine, type FlatLine, readFlatLine } from '../routing/flat-line.js'
import { cornerOffsets, readLine } from '../routing/geometry.js'
import type { Graph } from '../routing/graph.js'
import { openSegmentTree } from '../routing/graph-check.js'
import type { Overlay } from '../routing/overlay.js'
import { type CellGrid, createCellGrid, findCells } from './cell-grid.js'
import type { CellSet } from './cell-set.js'
import { type CoverageRaster, createRaster, mayHaveCells } from './coverage-raster.js'
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
 * The tree of segments is walked where cells may be. Rectangles that share their borders, as mesh squares do, are met
 * as fields of one grid; each segment looks for its other cells in a hashed grid. Its line is unpacked only when a
 * border may cross it. So the time goes with the roads that are covered.
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
  readonly cells: CellSet
  /** all rectangles, where they share their borders */
  readonly rects: RectGrid | undefined
  /** the other cells */
  readonly others: readonly number[]
  /** undefined when there are no others */
  readonly raster: CoverageRaster | undefined
}

/** What the walk needs for one segment after the other. */
interface Laying {
  readonly graph: Graph
  readonly cells: CellSet
  readonly rects: RectGrid | undefined
  /** all other cells, undefined when there are none */
  readonly others: CellGrid | undefined
  readonly flat: FlatLine
  readonly line: MeasuredLine
  readonly near: number[]
  readonly covered: Covered
  readonly stretches: Stretches
  readonly pieces: Pieces
}

/**
 * Finds the pieces of every segment near some cells.
 *
 * @param where cells whose surroundings are looked at; a segment there that has no pieces is listed only when these are
 * not all cells
 * @see flatbush, `search`: parents lead to the place of their first child times 4
 */
function layOn(graph: Graph, cells: CellSet, where: CellSet, found: Found): void {
  const tree = openSegmentTree(graph)
  if (tree === undefined) throw new Error('the map has no index of its segments')
  const { boxes, indices, nodeSize, levelEnds } = tree
  const cover = coverOf(cells)
  const isAll = where === cells
  const near = isAll ? cover : coverOf(where)
  const laying = createLaying(graph, cover)
  const stack = [levelEnds.at(-1)! - 1]
  for (let first = stack.pop(); first !== undefined; first = stack.pop()) {
    const isLeaf = first < graph.segmentCount
    const end = Math.min(first + nodeSize, endOfLevel(levelEnds, first))
    for (let at = first; at < end; at++) {
      const x0 = boxes[at * 4]!
      const y0 = boxes[at * 4 + 1]!
      const x1 = boxes[at * 4 + 2]!
      const y1 = boxes[at * 4 + 3]!
      // whoever lays out a segment looks for its cells anyway
      if (!(isLeaf && isAll) && !mayMeet(near, x0, y0, x1, y1)) continue
      if (!isLeaf) stack.push(indices[at]! >>> 2)
      else if (layOnSegment(laying, indices[at]!, x0, y0, x1, y1) || !isAll) {
        addFound(found, indices[at]!, laying.pieces)
      }
    }
  }
}

/** A node's children never go beyond the end of their level. */
function endOfLevel(levelEnds: readonly number[], at: number): number {
  let level = 0
  while (levelEnds[level]! <= at) level++
  return levelEnds[level]!
}

function coverOf(cells: CellSet): Cover {
  const rects = createRectGrid(cells)
  const others: number[] = []
  for (let cell = 0; cell < cells.level.length; cell++) {
    if (rects === undefined || cells.shape[cell] !== null) others.push(cell)
  }
  return { cells, rects, others, raster: others.length === 0 ? undefined : createRaster(cells, others) }
}

/** May a box meet a cell? False is certain. */
function mayMeet({ rects, raster }: Cover, x0: number, y0: number, x1: number, y1: number): boolean {
  return (
    (rects !== undefined && levelOfBox(rects, x0, y0, x1, y1) !== 0) ||
    (raster !== undefined && mayHaveCells(raster, x0, y0, x1, y1))
  )
}

function createLaying(graph: Graph, { cells, rects, others }: Cover): Laying {
  return {
    graph,
    cells,
    rects,
    others: others.length === 0 ? undefined : createCellGrid(cells, others),
    flat: createFlatLine(),
    line: { xy: [], offsets: [], west: 0, south: 0, east: 0, north: 0 },
    near: [],
    covered: { size: 0, ends: [] },
    stretches: createStretches(),
    pieces: createPieces(),
  }
}

/**
 * The pieces of one segment; none, and false, if no cell covers a stretch of it.
 *
 * @param x0 box of the segment, y0, x1, y1 likewise
 */
function layOnSegment(
  laying: Laying,
  segment: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): boolean {
  const { graph, cells, rects, others, near, pieces } = laying
  pieces.count = 0
  const lengthMm = graph.segmentLengthMm[segment]!
  if (lengthMm === 0) return false // two junctions at one place: there is nothing to drive
  const nearCount = others === undefined ? 0 : findCells(others, cells, x0, y0, x1, y1, near)
  const level = rects === undefined ? 0 : levelOfBox(rects, x0, y0, x1, y1)
  if (level === 0 && nearCount === 0) return false
  if (level !== MIXED) addPiece(pieces, lengthMm, level)
  else {
    readFlatLine(graph, segment, laying.flat)
    walkGrid(rects!, laying.flat, lengthMm, pieces)
  }
  if (nearCount > 0) addNear(laying, nearCount, segment, lengthMm, x0, y0, x1, y1)
  if (pieces.count > 1 || pieces.level[0]! > 0) return true
  pieces.count = 0
  return false
}

/**
 * Puts the cells that were found near a segment over its pieces.
 *
 * Stretches are rounded to whole millimetres, as routes measure: one below half a millimetre is none.
 */
function addNear(
  laying: Laying,
  nearCount: number,
  segment: number,
  lengthMm: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): void {
  const { cells, line, near, covered, stretches, pieces } = laying
  const { box, shape, level } = cells
  let isRead = false
  listStretches(pieces, stretches)
  for (let index = 0; index < nearCount; index++) {
    const cell = near[index]!
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
