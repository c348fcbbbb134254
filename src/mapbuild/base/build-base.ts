import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { BaseMeta, BaseSink } from '../../basemap/format.js'
import { BASE_MAX_ZOOM } from '../../basemap/format.js'
import { vectorLayers } from '../../basemap/layers.js'
import { EXTENT } from '../../tiles/mercator.js'
import { badExtract, type Extract, openExtract } from '../extract/blobs.js'
import { isoTime } from '../extract/header.js'
import type { Cause, OnLeftOut } from '../roads/left-out.js'
import { createDrawer, type Drawer } from './draw.js'
import { type AreaRelation, areaRelation, readRelations } from './read/areas.js'
import { type OnBlob, type Scanned, scanExtract } from './read/scan.js'
import { type CoastWay, readDrawnNodes, readDrawnWays } from './read/ways.js'
import type { Box } from './shape/clip-vertices.js'
import { fillSea } from './shape/coast.js'
import { joinWays } from './shape/join-ways.js'
import { drawing, NOTHING } from './tags/drawing.js'
import { createTileJoin } from './tiles/join-tile.js'
import { type Piece, tileOf } from './tiles/piece.js'
import { createPieceSort, type PieceSort } from './tiles/piece-sort.js'
import { worldX, worldY } from './tiles/world.js'

/** Input of `buildBase`. */
export interface BaseOptions {
  /** an `.osm.pbf` file */
  readonly input: string
  readonly name: string
  readonly builtBy: string
  readonly attribution: string
  readonly licence: string
  /** west, south, east, north, degrees: what lies outside is left out */
  readonly within?: readonly [number, number, number, number] | undefined
  /** path and beginning of the names of temporary files */
  readonly tempStem: string
  readonly sink: BaseSink
  /** share of the work that is done, 0 to 1 */
  readonly onProgress?: ((share: number) => void) | undefined
  /** called for each object that is left out */
  readonly onLeftOut?: OnLeftOut | undefined
  readonly signal?: AbortSignal | undefined
  /** limits of memory, for tests */
  readonly batchRefs?: number | undefined
  readonly arenaBytes?: number | undefined
}

/** Result of a build. */
export interface BuiltBase {
  readonly bytes: number
  readonly tiles: number
  readonly places: number
  readonly counts: Readonly<Record<string, number>>
  /** why the sea is a line and no area; undefined when it is filled, or there is none */
  readonly seaFault: string | undefined
}

/** Objects whose ways reach over the box of the extract are kept up to this share of its size. */
const MARGIN = 0.25
/** Tiles of the last zoom in the box: half of a continent; a larger box is refused. */
const MAX_TILES = 6_000_000

/**
 * Builds a base map from an extract: water, land use, buildings, streets and names as vector tiles. The same
 * extract and options give the same tiles, byte for byte.
 *
 * Steps, one folder each: `read` reads the objects that are drawn; `tags` decides what they are drawn as; `shape`
 * makes areas of ways; `tiles` cuts them into the tiles of each zoom, sorts the pieces and writes the tiles.
 *
 * Memory has a limit whatever the extract: ways are read in batches, pieces are sorted on disk.
 *
 * @throws AppError BAD_EXTRACT when the extract cannot be read, or its box is too large
 */
export async function buildBase(options: BaseOptions): Promise<BuiltBase> {
  const extract = openExtract(options.input)
  const pieces = createPieceSort(options.tempStem, options.arenaBytes)
  try {
    return await build(options, extract, pieces)
  } catch (error) {
    options.sink.abandon()
    throw error
  } finally {
    pieces.close()
    extract.close()
  }
}

async function build(options: BaseOptions, extract: Extract, pieces: PieceSort): Promise<BuiltBase> {
  const counts: Record<string, number> = {}
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const onBlob = reportOf(options)
  const { scanned, relations, bbox, osmTimestamp } = await scan(options, extract, onBlob)
  const box = worldBox(grown(bbox, options.within))
  const pieceSink = { add: pieces.add, onEntangled: () => count('areasEntangled') }
  const drawer = createDrawer(box, pieceSink, options.sink)
  const leaveOut = (type: 'way' | 'relation', id: number, cause: Cause) => {
    count(cause)
    options.onLeftOut?.(type, id, cause)
  }
  await readRelations(
    extract,
    scanned,
    relations,
    {
      add: (object) => drawer.draw(object, object.drawings.lines.length > 0 ? 'line' : 'area'),
      onBroken: (id, cause) =>
        leaveOut('relation', id, cause === 'unclosed' ? 'relationsUnclosed' : 'relationsIncomplete'),
    },
    onBlob,
  )
  const coast: CoastWay[] = []
  const waySink = {
    add: drawer.draw,
    addCoast: (way: CoastWay) => void coast.push(way),
    onIncomplete: (id: number) => leaveOut('way', id, 'areasIncomplete'),
  }
  await readDrawnWays(extract, scanned, waySink, onBlob, options.batchRefs)
  await readDrawnNodes(extract, scanned, waySink, onBlob)
  const seaFault = drawSea(coast, worldBox(bbox), drawer)
  const used = await writeTiles(pieces, options, count)
  const meta: BaseMeta = {
    name: options.name,
    builtBy: options.builtBy,
    builtFrom: { file: path.basename(options.input), sha256: extract.sha256(), osmTimestamp },
    attribution: options.attribution,
    licence: options.licence,
    bbox: options.within ?? bbox,
    layers: vectorLayers((layer) => used.has(layer)),
    counts,
  }
  return { ...options.sink.finish(meta), counts, seaFault }
}

type Degrees = readonly [west: number, south: number, east: number, north: number]

/** Does the first reading: the relations that are drawn, and the box. */
async function scan(options: BaseOptions, extract: Extract, onBlob: OnBlob) {
  const relations: AreaRelation[] = []
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  let newestS = 0
  const visitor = {
    nodeKeys: [],
    wayKeys: [],
    node: (_id: number, lng: number, lat: number) => {
      if (lng < west) west = lng
      if (lng > east) east = lng
      if (lat < south) south = lat
      if (lat > north) north = lat
    },
    relation: (
      id: number,
      tags: Parameters<typeof areaRelation>[1],
      members: Parameters<typeof areaRelation>[2],
    ) => {
      const relation = areaRelation(id, tags, members)
      if (relation !== undefined) relations.push(relation)
    },
    timestamp: (epochS: number) => {
      if (epochS > newestS) newestS = epochS
    },
  }
  const scanned: Scanned = await scanExtract(extract, visitor, onBlob)
  if (west > east) throw badExtract(0, 'the extract has no node')
  const all: Degrees = [west / 1e7, south / 1e7, east / 1e7, north / 1e7]
  const bbox =
    options.within === undefined
      ? (scanned.header.bbox ?? all)
      : inner(scanned.header.bbox ?? all, options.within)
  const osmTimestamp = scanned.header.replicatedAt ?? isoTime(newestS)
  return { scanned, relations, bbox, osmTimestamp }
}

function inner(a: Degrees, b: Degrees): Degrees {
  return [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])]
}

/** Box of what is drawn: that of the extract with a margin, cut to the box that was asked for. */
function grown([west, south, east, north]: Degrees, within: Degrees | undefined): Degrees {
  const [overX, overY] = [(east - west) * MARGIN, (north - south) * MARGIN]
  const wide: Degrees = [
    Math.max(-180, west - overX),
    Math.max(-85, south - overY),
    Math.min(180, east + overX),
    Math.min(85, north + overY),
  ]
  return within === undefined ? wide : inner(wide, within)
}

/** @throws AppError BAD_EXTRACT for a box of more than `MAX_TILES` */
function worldBox([west, south, east, north]: Degrees): Box {
  const box: Box = [worldX(west * 1e7), worldY(north * 1e7), worldX(east * 1e7), worldY(south * 1e7)]
  const tiles = (Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1])) / EXTENT ** 2
  if (tiles > MAX_TILES)
    throw badExtract(
      0,
      `the box of the extract has about ${Math.round(tiles)} tiles of zoom ${BASE_MAX_ZOOM}, expected at most ${MAX_TILES}; --area makes it smaller`,
    )
  return box
}

/** Draws the sea, or the coast as lines where it does not close. @returns the reason for lines */
function drawSea(coast: readonly CoastWay[], box: Box, drawer: Drawer): string | undefined {
  if (coast.length === 0) return undefined
  const whole = coast.filter((way) => way.points !== undefined)
  const places = new Map<number, readonly [number, number]>()
  for (const { refs, points } of whole) {
    for (let i = 0; i < refs.length; i++) places.set(refs[i]!, [points![i * 2]!, points![i * 2 + 1]!])
  }
  const joined = joinWays(whole, true)
  const toPoints = (refs: readonly number[]) => refs.flatMap((id) => places.get(id) ?? [])
  const sea = fillSea(joined.rings.map(toPoints), joined.open.map(toPoints), box)
  const ocean = { ...NOTHING, areas: [drawing('ocean', 0, {})] }
  const lines = { ...NOTHING, lines: [drawing('water_lines', 5, { kind: 'coastline' })] }
  if (sea.rings.length > 0) drawer.draw({ drawings: ocean, parts: sea.rings }, 'area')
  for (const line of sea.lines) drawer.draw({ drawings: lines, parts: [line] }, 'line')
  return sea.fault
}

/** Writes the tiles from their sorted pieces. @returns the layers that have anything */
async function writeTiles(
  pieces: PieceSort,
  { sink, signal, onProgress }: BaseOptions,
  count: (name: string) => void,
): Promise<Set<number>> {
  const used = new Set<number>()
  let tile = -1
  let join = createTileJoin()
  let done = 0
  const finish = () => {
    const made = join.finish()
    join = createTileJoin()
    if (made === undefined) return
    const { z, x, y } = tileOf(tile)
    sink.addTile(z, x, y, gzipSync(made.bytes, { level: 9 }))
    for (let i = 0; i < made.dropped; i++) count('featuresWithoutRoom')
    for (const layer of made.layers) used.add(layer)
  }
  for (const piece of pieces.sorted() as Iterable<Piece>) {
    if (piece.tile !== tile) {
      if (tile >= 0) finish()
      tile = piece.tile
      if (++done % 64 === 0) {
        await new Promise((resolve) => setImmediate(resolve))
        signal?.throwIfAborted()
        onProgress?.(READ_SHARE + (1 - READ_SHARE) * zoomShare(tile))
      }
    }
    join.add(piece)
  }
  if (tile >= 0) finish()
  return used
}

/** Share of the progress that reading takes. */
const READ_SHARE = 0.5
/** Readings of a small extract: relations, their ways and nodes, ways and nodes, places. */
const READINGS = 6

/** Share of the tiles that are written, by zoom: most of the work is in the last ones. */
function zoomShare(tile: number): number {
  return tileOf(tile).z / BASE_MAX_ZOOM
}

/** Reports readings; each report is a pause, in which a signal can arrive. */
function reportOf({ onProgress, signal }: BaseOptions): OnBlob {
  let readings = 0
  let last = 0
  return async (done, total) => {
    if (done < last) readings++
    last = done
    onProgress?.(READ_SHARE * Math.min(1, (readings + done / total) / READINGS))
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
}
