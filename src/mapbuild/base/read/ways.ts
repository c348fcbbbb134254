import { createGrowing, filled, reserve } from '../../arrays/growing.js'
import type { Extract } from '../../extract/blobs.js'
import type { Tags } from '../../extract/osm-objects.js'
import { classifyNode, classifyWay, DRAWN_KEYS, DRAWN_NODE_KEYS } from '../tags/classify.js'
import type { Drawings } from '../tags/drawing.js'
import { worldX, worldY } from '../tiles/world.js'
import { type DrawnObject, pointsOf } from './areas.js'
import { type NodePlaces, readNodePlaces } from './node-places.js'
import { type OnBlob, readBlobs, type Scanned } from './scan.js'

/** Refs of ways that are held at once, about 60 bytes each. */
const BATCH_REFS = 3_000_000
/** A way takes as much memory as this many refs: most have few of them. */
const REFS_PER_WAY = 10

/** Coastline, with its nodes for joining. */
export interface CoastWay {
  readonly refs: Float64Array
  /** x, y … as long as `refs`; undefined where the extract lacks a node */
  readonly points: readonly number[] | undefined
}

/** Receiver of ways. */
export interface WaySink {
  add(object: DrawnObject, shape: 'area' | 'line' | 'point'): void
  addCoast(way: CoastWay): void
  /** an area that is left out, because the extract lacks a node */
  onIncomplete(id: number): void
}

interface HeldWay {
  readonly id: number
  /** undefined for a coastline */
  readonly drawings: Drawings | undefined
  readonly from: number
  readonly end: number
}

/** Reads what ways are drawn as, some at a time, so that memory has a limit: each batch reads the nodes once. */
export async function readDrawnWays(
  extract: Extract,
  scanned: Scanned,
  sink: WaySink,
  onBlob: OnBlob,
  batchRefs = BATCH_REFS,
): Promise<void> {
  const refs = createGrowing(Float64Array, 16_384)
  let held: HeldWay[] = []
  const flush = async () => {
    const places = await readNodePlaces(extract, scanned, filled(refs), onBlob)
    for (const way of held) deliver(way, refs.array.subarray(way.from, way.end), places, sink)
    held = []
    refs.length = 0
  }
  const visitor = {
    nodeKeys: [],
    wayKeys: DRAWN_KEYS,
    way: (id: number, tags: Tags, wayRefs: Float64Array, count: number) => {
      const isCoast = tags.get('natural') === 'coastline'
      const isClosed = count > 3 && wayRefs[0] === wayRefs[count - 1]
      const drawings = classifyWay(tags, isClosed)
      const isDrawn = drawings.areas.length + drawings.lines.length + drawings.points.length > 0
      if (count < 2 || !(isCoast || isDrawn)) return
      reserve(refs, refs.length + count)
      refs.array.set(wayRefs.subarray(0, count), refs.length)
      const span = { from: refs.length, end: refs.length + count }
      if (isCoast) held.push({ id, drawings: undefined, ...span })
      if (isDrawn) held.push({ id, drawings, ...span })
      refs.length += count
    },
  }
  await readBlobs(extract, scanned.wayBlobs, visitor, onBlob, async () => {
    if (refs.length + held.length * REFS_PER_WAY >= batchRefs) await flush()
  })
  await flush()
}

function deliver({ id, drawings }: HeldWay, refs: Float64Array, places: NodePlaces, sink: WaySink): void {
  const { points, isWhole } = pointsOf(refs, places)
  if (drawings === undefined) {
    sink.addCoast({ refs: refs.slice(), points: isWhole ? points : undefined })
    return
  }
  if (drawings.lines.length > 0) {
    // a road without some of its nodes is still a road
    if (points.length >= 4) sink.add({ drawings, parts: [points] }, 'line')
    return
  }
  if (isWhole) sink.add({ drawings, parts: [points] }, 'area')
  else sink.onIncomplete(id)
}

/** Reads the nodes that are drawn: places. */
export async function readDrawnNodes(
  extract: Extract,
  { nodeBlobs }: Scanned,
  sink: Pick<WaySink, 'add'>,
  onBlob: OnBlob,
): Promise<void> {
  const visitor = {
    nodeKeys: DRAWN_NODE_KEYS,
    wayKeys: [],
    node: (_id: number, lngE7: number, latE7: number, tags: Tags | undefined) => {
      const drawings = tags && classifyNode(tags)
      if (drawings === undefined || drawings.points.length === 0) return
      sink.add({ drawings, parts: [[worldX(lngE7), worldY(latE7)]] }, 'point')
    },
  }
  await readBlobs(extract, nodeBlobs, visitor, onBlob)
}
