import { readLine } from '../routing/graph/geometry.js'
import { type Graph, LINK_FLAG } from '../routing/graph/graph.js'
import { segmentIndex } from '../routing/graph/segment-index.js'
import { readString } from '../routing/graph/strings.js'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import { clipLine } from './clip.js'
import { createLineSet, type LineSet } from './line-set.js'
import { EXTENT, type TileId, tileBox, unitX, unitY } from './mercator.js'
import { isDrawn, lastClassAt, ROAD_CLASSES, segmentClasses } from './road-classes.js'
import { type TileFeature, writeTile } from './write-tile.js'

/** From this zoom on each segment is a feature of its own, with its number; readers draw deeper zooms from it too. */
export const DETAIL_ZOOM = 14
/** Deepest zoom that is made; at it a unit is 4 cm. */
export const MAX_ZOOM = 18
/** Names are told from this zoom on: before, there is no room for them. */
const NAME_ZOOM = 12
/** A tile that is larger is made anew on a coarser grid. */
const MAX_BYTES = 400_000
/** Other calls may have their turn after so many segments. */
const SLICE_SEGMENTS = 512
export const LAYER = 'roads'

/**
 * A vector tile of the roads of a map: layer `roads`, lines with `class`, at zooms with room for it `name`, and at detail
 * zooms `id` (the segment), `kmh`, `oneway` (only along the line, or -1 only against it) and `private`.
 *
 * @returns undefined when no road is in the tile
 */
export function* roadTile(graph: Graph, tile: TileId): SlicedTask<Uint8Array | undefined> {
  const segments = segmentsIn(graph, tile)
  if (segments.length === 0) return undefined
  // a unit is a sixteenth of a screen's pixel at 256 pixels a tile: coarser from afar, where lines are joined
  let grid = tile.z >= DETAIL_ZOOM ? 1 : tile.z >= NAME_ZOOM ? 4 : 8
  for (;;) {
    const features = yield* featuresOf(graph, tile, segments, grid)
    if (features.length === 0) return undefined
    const bytes = writeTile(LAYER, features)
    if (bytes.length <= MAX_BYTES || grid >= EXTENT / 16) return bytes
    grid = Math.max(8, grid * 2)
  }
}

/** Segments whose boxes meet the tile and that are drawn at its zoom, ascending: the same tile has the same bytes. */
function segmentsIn(graph: Graph, tile: TileId): Uint32Array {
  const classes = segmentClasses(graph)
  const last = lastClassAt(graph, tile.z)
  const [west, south, east, north] = tileBox(tile)
  return Uint32Array.from(
    segmentIndex(graph).search(west, south, east, north, (segment) => isDrawn(classes[segment]!, last)),
  ).sort()
}

function* featuresOf(
  graph: Graph,
  tile: TileId,
  segments: Uint32Array,
  grid: number,
): SlicedTask<TileFeature[]> {
  const isDetailed = tile.z >= DETAIL_ZOOM && grid === 1
  const features: TileFeature[] = []
  const groups = new Map<string, { properties: TileFeature['properties']; set: LineSet }>()
  const line: number[] = []
  for (let i = 0; i < segments.length; i++) {
    if (i % SLICE_SEGMENTS === SLICE_SEGMENTS - 1) yield
    const segment = segments[i]!
    projectLine(graph, tile, segment, line)
    if (isDetailed) addDetailed(graph, segment, line, features)
    else addToGroup(graph, tile.z, segment, line, grid, groups)
  }
  for (const { properties, set } of groups.values()) {
    const lines = set.lines()
    if (lines.length > 0) features.push({ id: undefined, properties, lines })
  }
  return features
}

function addDetailed(graph: Graph, segment: number, line: number[], features: TileFeature[]): void {
  const lines: number[][] = []
  clipLine(line, 1, (part) => void lines.push(part))
  if (lines.length > 0) features.push({ id: segment, properties: detailsOf(graph, segment), lines })
}

function addToGroup(
  graph: Graph,
  zoom: number,
  segment: number,
  line: number[],
  grid: number,
  groups: Map<string, { properties: TileFeature['properties']; set: LineSet }>,
): void {
  const roadClass = segmentClasses(graph)[segment]!
  const name = zoom >= NAME_ZOOM ? graph.segmentName[segment]! : 0
  const key = `${roadClass} ${name}`
  let group = groups.get(key)
  if (group === undefined) {
    group = { properties: { class: className(roadClass), ...named(graph, name) }, set: createLineSet(grid) }
    groups.set(key, group)
  }
  const { set } = group
  clipLine(line, grid, (part) => set.add(part))
}

/** The line of a segment in tile units, from tail to head. */
function projectLine(graph: Graph, tile: TileId, segment: number, line: number[]): void {
  readLine(graph, segment, line)
  for (let at = 0; at < line.length; at += 2) {
    line[at] = unitX(line[at]!, tile)
    line[at + 1] = unitY(line[at + 1]!, tile)
  }
}

function detailsOf(graph: Graph, segment: number): TileFeature['properties'] {
  const [along, against] = [graph.linkSpeed[segment * 2]!, graph.linkSpeed[segment * 2 + 1]!]
  const flags = graph.linkFlags[segment * 2]! | graph.linkFlags[segment * 2 + 1]!
  return {
    class: className(segmentClasses(graph)[segment]!),
    kmh: Math.max(along, against) / 10,
    ...named(graph, graph.segmentName[segment]!),
    ...(along > 0 && against > 0 ? {} : { oneway: along > 0 ? 1 : -1 }),
    ...((flags & LINK_FLAG.PRIVATE) === 0 ? {} : { private: true }),
  }
}

function named(graph: Graph, offset: number): { name?: string } {
  return offset === 0 ? {} : { name: readString(graph, offset) }
}

function className(position: number): string {
  return ROAD_CLASSES[position] ?? 'lane'
}
