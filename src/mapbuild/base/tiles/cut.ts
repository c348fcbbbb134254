import { BASE_MAX_ZOOM } from '../../../basemap/format.js'
import { LAYERS } from '../../../basemap/layers.js'
import { BUFFER, EXTENT } from '../../../tiles/mercator.js'
import { type Box, boxOf, clipLines, clipRings } from '../shape/clip-vertices.js'
import { signedArea2 } from '../shape/nest-rings.js'
import { validAreas } from '../shape/valid-areas.js'
import { STRIDE, type Vertices } from '../shape/vertices.js'
import type { Drawing } from '../tags/drawing.js'
import { AREA, LINE, type Piece, type POINT, tileNumber } from './piece.js'
import { unitsPerTileUnit, WORLD } from './world.js'

/** Units of a tile in a pixel, at 512 pixels a tile. */
const PIXEL = EXTENT / 512
/** Areas below two square pixels are not drawn; at the last zoom, which is drawn larger, below half a pixel's side. */
const LEAST_AREA = 2 * PIXEL ** 2
const LEAST_AREA_AT_LAST = (PIXEL / 2) ** 2

/** Shape that is drawn, in units of the world. */
export interface Shape {
  readonly type: typeof POINT | typeof LINE | typeof AREA
  /** rings are closed; a point is one vertex */
  readonly parts: readonly Vertices[]
}

/** Receiver of pieces. */
export interface PieceSink {
  add(piece: Piece): void
  /** an area could not be made valid in one tile, and is left out there */
  onEntangled(): void
}

/** Rounding of coordinates: fine at the last zoom, which is drawn larger. */
function gridAt(zoom: number): number {
  return zoom === BASE_MAX_ZOOM ? 1 : 2
}

/** Half a pixel in units of the world, squared; a unit at the last zoom. */
function toleranceAt(zoom: number): number {
  return ((zoom === BASE_MAX_ZOOM ? 1 : PIXEL / 2) * unitsPerTileUnit(zoom)) ** 2
}

/**
 * Cuts a shape into the tiles of all its zooms. Each tile gets what lies in it and a margin, simplified to half a
 * pixel and rounded to its grid. Work follows the vertices and the tiles, not their product: a tile is cut from
 * the one around it.
 */
export function cutShape(shape: Shape, drawings: readonly Drawing[], sink: PieceSink): void {
  const area = shape.type === AREA ? areaOf(shape.parts) : 0
  const first = Math.min(...drawings.map(({ minZoom }) => minZoom))
  const visit = (z: number, x: number, y: number, parts: readonly Vertices[], box: Box): void => {
    const size = WORLD / 2 ** z
    const over = (size * BUFFER) / EXTENT
    const cutBox: Box = [x * size - over, y * size - over, (x + 1) * size + over, (y + 1) * size + over]
    if (!overlaps(box, cutBox)) return
    const inside = z < first || isWithin(box, cutBox) ? parts : cutParts(shape.type, parts, cutBox)
    if (inside.length === 0) return
    if (z >= first && !isTooSmall(area, z, shape.type)) emit({ z, x, y }, shape.type, inside, drawings, sink)
    if (z === BASE_MAX_ZOOM) return
    const innerBox = inside === parts ? box : boxOf(inside)
    for (const [dx, dy] of [
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
    ] as const)
      visit(z + 1, x * 2 + dx, y * 2 + dy, inside, innerBox)
  }
  visit(0, 0, 0, shape.parts, boxOf(shape.parts))
}

function overlaps(a: Box, b: Box): boolean {
  return a[0] <= b[2] && a[2] >= b[0] && a[1] <= b[3] && a[3] >= b[1]
}

function isWithin(a: Box, b: Box): boolean {
  return a[0] >= b[0] && a[2] <= b[2] && a[1] >= b[1] && a[3] <= b[3]
}

function cutParts(type: number, parts: readonly Vertices[], box: Box): readonly Vertices[] {
  if (type === AREA) return clipRings(parts, box)
  return type === LINE ? clipLines(parts, box) : parts
}

function isTooSmall(area: number, z: number, type: number): boolean {
  if (type !== AREA) return false
  return area / unitsPerTileUnit(z) ** 2 < (z === BASE_MAX_ZOOM ? LEAST_AREA_AT_LAST : LEAST_AREA)
}

/** Area of rings, holes taken off by size: an estimate that decides what is too small to be seen. */
function areaOf(rings: readonly Vertices[]): number {
  return Math.max(
    ...rings.map((ring) => Math.abs(signedArea2(ring.filter((_, i) => i % STRIDE !== 2))) / 2),
    0,
  )
}

/** Hands over the pieces of one tile. */
function emit(
  tile: { z: number; x: number; y: number },
  type: Shape['type'],
  parts: readonly Vertices[],
  drawings: readonly Drawing[],
  sink: PieceSink,
): void {
  const shown = drawings.filter(({ minZoom }) => tile.z >= minZoom)
  if (shown.length === 0) return
  const made = onGrid(tile, type, parts, sink)
  for (const part of made) {
    for (const { layer, props } of shown) {
      const text = JSON.stringify(props(tile.z))
      sink.add({
        tile: tileNumber(tile.z, tile.x, tile.y),
        layer: LAYERS.indexOf(layer),
        type,
        props: text,
        parts: part,
      })
    }
  }
}

/** Simplifies and rounds parts to a tile. @returns the parts of each feature */
function onGrid(
  { z, x, y }: { z: number; x: number; y: number },
  type: Shape['type'],
  parts: readonly Vertices[],
  sink: PieceSink,
): (readonly number[][])[] {
  const grid = gridAt(z)
  const scale = 1 / unitsPerTileUnit(z) / grid
  const tolerance = toleranceAt(z)
  const origin = EXTENT / grid
  const rounded = parts.map((part) => {
    const points: number[] = []
    for (let at = 0; at < part.length; at += STRIDE) {
      if (part[at + 2]! < tolerance) continue
      const px = Math.round(part[at]! * scale - x * origin)
      const py = Math.round(part[at + 1]! * scale - y * origin)
      const { length } = points
      if (length >= 2 && points[length - 2] === px && points[length - 1] === py) continue
      points.push(px, py)
    }
    return points
  })
  const toUnits = (points: readonly number[]) => points.map((value) => value * grid)
  if (type === AREA) {
    const areas = validAreas(rounded)
    if (areas === undefined) sink.onEntangled()
    const least = (z === BASE_MAX_ZOOM ? LEAST_AREA_AT_LAST : LEAST_AREA) / grid ** 2
    return (areas ?? []).flatMap((area) => visibleRings(area, least)).map((area) => area.map(toUnits))
  }
  if (type === LINE) {
    const lines = rounded.filter((points) => points.length >= 4).map(toUnits)
    return lines.length === 0 ? [] : [lines]
  }
  // half open, so that a point is in one tile
  const [point = []] = rounded
  const isIn = point.every((value) => value >= 0 && value < origin)
  return isIn ? [[toUnits(point)]] : []
}

/** Drops an area that is too small to be seen, or its holes. */
function visibleRings(area: readonly number[][], least: number): number[][][] {
  const rings = area.filter((ring, i) => Math.abs(signedArea2(ring)) / 2 >= (i === 0 ? least / 4 : least))
  return area.length > 0 && rings[0] === area[0] ? [rings] : []
}
