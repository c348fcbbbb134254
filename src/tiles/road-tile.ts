import { readLine } from '../routing/graph/geometry.js'
import { type Graph, LINK_FLAG } from '../routing/graph/graph.js'
import { numberAt } from '../routing/graph/paged.js'
import { findSegments, segmentIndex } from '../routing/graph/segment-index.js'
import { readString } from '../routing/graph/strings.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import { clipLine } from './clip.js'
import { createLineSet, type LineSet } from './line-set.js'
import { EXTENT, type TileId, tileBox, unitX, unitY } from './mercator.js'
import { isDrawn, lastClassAt, ROAD_CLASSES, segmentClasses } from './road-classes.js'
import { type TileFeature, writeTile } from './write-tile.js'

/** First zoom where each segment is a feature with its own id; readers overzoom from it. */
export const DETAIL_ZOOM = 14
/** Last zoom; a unit is 4 cm there. */
export const MAX_ZOOM = 18
/** First zoom with names; lower ones have no room for them. */
const NAME_ZOOM = 12
/** A larger tile is built again on a coarser grid. */
const MAX_BYTES = 400_000
/** Segments of one time slice. */
const SLICE_SEGMENTS = 512
const LAYER = 'roads'

/**
 * Draws the vector tile of the roads of a map: layer `roads`, lines with `class`; `name` from zoom 12 on;
 * from zoom 14 on `id` (the segment), `kmh`, `oneway` (1 only along the line, -1 only against it) and
 * `private`. Yields between slices.
 *
 * @returns undefined when no road is in the tile
 */
export function* roadTile(graph: Graph, tile: TileId): SlicedTask<Uint8Array | undefined> {
  const segments = segmentsIn(graph, tile)
  if (segments.length === 0) return undefined
  // a unit is 1/16 of a pixel at 256 pixels a tile; coarser at low zooms, where lines are joined
  let grid = tile.z >= DETAIL_ZOOM ? 1 : tile.z >= NAME_ZOOM ? 4 : 8
  // the grid at least doubles, up to EXTENT / 16: seven rounds at most
  for (;;) {
    const features = yield* featuresOf(graph, tile, segments, grid)
    if (features.length === 0) return undefined
    const bytes = writeTile(LAYER, features)
    if (bytes.length <= MAX_BYTES || grid >= EXTENT / 16) return bytes
    grid = Math.max(8, grid * 2)
  }
}

/**
 * Segments in the box of a tile that are drawn at its zoom, ascending, so that equal tiles have equal bytes.
 */
function segmentsIn(graph: Graph, tile: TileId): Uint32Array {
  const classes = segmentClasses(graph)
  const last = lastClassAt(graph, tile.z)
  return Uint32Array.from(
    findSegments(segmentIndex(graph), tileBox(tile), (segment) => isDrawn(classes[segment]!, last)),
  ).sort()
}

/** Roads of one class, and of one name where names are drawn. */
interface Group {
  readonly properties: TileFeature['properties']
  readonly set: LineSet
}

function* featuresOf(
  graph: Graph,
  tile: TileId,
  segments: Uint32Array,
  grid: number,
): SlicedTask<TileFeature[]> {
  const isDetailed = tile.z >= DETAIL_ZOOM && grid === 1
  const features: TileFeature[] = []
  // in the order of their first segments, which is the order of the features
  const groups = new Map<string, Group>()
  // reused for every segment: clipping copies the points that it keeps
  const line: number[] = []
  for (let i = 0; i < segments.length; i++) {
    if (i % SLICE_SEGMENTS === SLICE_SEGMENTS - 1) yield
    const segment = segments[i]!
    projectLine(graph, tile, segment, line)
    if (isDetailed) addDetailed(graph, segment, line, features)
    else {
      const { set } = groupOf(graph, tile.z, segment, grid, groups)
      clipLine(line, grid, (part) => set.add(part))
    }
  }
  for (const { properties, set } of groups.values()) {
    const lines = set.lines()
    if (lines.length > 0) features.push({ id: undefined, properties, lines })
  }
  return features
}

/** Adds a segment as a feature of its own. */
function addDetailed(graph: Graph, segment: number, line: number[], features: TileFeature[]): void {
  const lines: number[][] = []
  clipLine(line, 1, (part) => void lines.push(part))
  if (lines.length > 0) features.push({ id: segment, properties: detailsOf(graph, segment), lines })
}

/** Returns the group of a segment, and creates it when it is the first. */
function groupOf(
  graph: Graph,
  zoom: number,
  segment: number,
  grid: number,
  groups: Map<string, Group>,
): Group {
  const roadClass = segmentClasses(graph)[segment]!
  const name = zoom >= NAME_ZOOM ? numberAt(graph.segmentName, segment) : 0
  const key = `${roadClass} ${name}`
  let group = groups.get(key)
  if (group === undefined) {
    group = { properties: { class: className(roadClass), ...named(graph, name) }, set: createLineSet(grid) }
    groups.set(key, group)
  }
  return group
}

/** Reads the line of a segment in tile units, from tail to head. @param line receives x, y … */
function projectLine(graph: Graph, tile: TileId, segment: number, line: number[]): void {
  readLine(graph, segment, line)
  for (let at = 0; at < line.length; at += 2) {
    line[at] = unitX(line[at]!, tile)
    line[at + 1] = unitY(line[at + 1]!, tile)
  }
}

/** Returns the properties of one segment: `kmh` of its faster direction, `oneway` when only one is open. */
function detailsOf(graph: Graph, segment: number): TileFeature['properties'] {
  const [along, against] = [graph.linkSpeed[segment * 2]!, graph.linkSpeed[segment * 2 + 1]!]
  const flags = graph.linkFlags[segment * 2]! | graph.linkFlags[segment * 2 + 1]!
  return {
    class: className(segmentClasses(graph)[segment]!),
    kmh: Math.max(along, against) / 10,
    ...named(graph, numberAt(graph.segmentName, segment)),
    ...(along > 0 && against > 0 ? {} : { oneway: along > 0 ? 1 : -1 }),
    ...((flags & LINK_FLAG.PRIVATE) === 0 ? {} : { private: true }),
  }
}

/** Returns the name as a property; offset 0 is the empty string, which is no name. */
function named(graph: Graph, offset: number): { name?: string } {
  return offset === 0 ? {} : { name: readString(graph, offset) }
}

function className(index: number): string {
  return ROAD_CLASSES[index] ?? 'lane'
}
