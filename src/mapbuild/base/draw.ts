import type { BaseSink } from '../../basemap/format.js'
import type { DrawnObject } from './read/areas.js'
import { type Box, boxOf, clipLines, clipRings } from './shape/clip-vertices.js'
import { innerPoint } from './shape/inner-point.js'
import { KEPT, STRIDE, toVertices, type Vertices } from './shape/vertices.js'
import type { Named } from './tags/drawing.js'
import { cutShape, type PieceSink } from './tiles/cut.js'
import { AREA, LINE, POINT } from './tiles/piece.js'
import { toLngLatE7 } from './tiles/world.js'

/** Kind of shape that an object is drawn as. */
export type ShapeKind = 'area' | 'line' | 'point'

/** Draws objects into pieces of tiles, and hands on their names. */
export interface Drawer {
  draw(object: DrawnObject, kind: ShapeKind): void
}

/**
 * Creates a drawer.
 *
 * @param box in units of the world; what lies outside is left out
 */
export function createDrawer(box: Box, pieces: PieceSink, names: Pick<BaseSink, 'addName'>): Drawer {
  return {
    draw({ drawings, parts }, kind) {
      const shape = cutToBox(parts, kind, box)
      if (shape.length === 0) return
      if (kind === 'area') cutShape({ type: AREA, parts: shape }, drawings.areas, pieces)
      else if (kind === 'line') cutShape({ type: LINE, parts: shape }, drawings.lines, pieces)
      const { points, named } = drawings
      if (points.length === 0 && named === undefined) return
      const [x, y] = placeOf(shape, kind)
      if (points.length > 0) cutShape({ type: POINT, parts: [[x, y, KEPT]] }, points, pieces)
      if (named !== undefined) names.addName(entryOf(named, x, y, shape, kind))
    },
  }
}

/** Rates the vertices, and cuts the shape to the box of the base map. */
function cutToBox(parts: readonly number[][], kind: ShapeKind, box: Box): Vertices[] {
  if (kind === 'point') {
    const [[x = 0, y = 0] = []] = parts
    return x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3] ? [[x, y, KEPT]] : []
  }
  const vertices = parts.map(toVertices)
  const [minX, minY, maxX, maxY] = boxOf(vertices)
  if (minX >= box[0] && minY >= box[1] && maxX <= box[2] && maxY <= box[3]) return vertices
  return kind === 'area' ? clipRings(vertices, box) : clipLines(vertices, box)
}

/** Place of a label: inside an area, in the middle of a line. */
function placeOf(shape: readonly Vertices[], kind: ShapeKind): readonly [x: number, y: number] {
  const [first = []] = shape
  if (kind === 'area') return innerPoint(shape.map((ring) => ring.filter((_, i) => i % STRIDE !== 2)))
  const middle = kind === 'line' ? Math.floor(first.length / STRIDE / 2) * STRIDE : 0
  return [first[middle]!, first[middle + 1]!]
}

function entryOf(named: Named, x: number, y: number, shape: readonly Vertices[], kind: ShapeKind) {
  const { name, latin, others, kind: what, rank, population } = named
  const [minX, minY, maxX, maxY] = boxOf(shape)
  const [west, north] = toLngLatE7(minX, minY)
  const [east, south] = toLngLatE7(maxX, maxY)
  const [lngE7, latE7] = toLngLatE7(x, y)
  return {
    name,
    latin,
    otherNames: others,
    kind: what,
    rank,
    population,
    lngE7,
    latE7,
    bboxE7: [west, south, east, north] as const,
    weight: kind === 'point' ? 0 : Math.round(Math.hypot(maxX - minX, maxY - minY)),
  }
}
