import { createGrowing, filled, reserve } from '../../arrays/growing.js'
import type { Extract } from '../../extract/blobs.js'
import type { Member, Tags } from '../../extract/osm-objects.js'
import { joinWays } from '../shape/join-ways.js'
import { classifyArea } from '../tags/classify.js'
import { type Drawings, drawing, NOTHING } from '../tags/drawing.js'
import type { NodePlaces } from './node-places.js'
import { readNodePlaces } from './node-places.js'
import { type OnBlob, readBlobs, type Scanned } from './scan.js'

/** Relation that is drawn. */
export interface AreaRelation {
  readonly id: number
  readonly drawings: Drawings
  readonly members: Float64Array
  /** its ways are drawn as lines, each by itself: a boundary */
  readonly isBoundary: boolean
}

/** Object of the extract with its shape. */
export interface DrawnObject {
  readonly drawings: Drawings
  /** rings or lines, x, y … in units of the world; the first point of a ring is repeated */
  readonly parts: readonly number[][]
}

/** Receiver of areas that were put together. */
export interface AreaSink {
  add(object: DrawnObject): void
  /** a relation that is left out: ways are missing, or do not close */
  onBroken(id: number, cause: 'incomplete' | 'unclosed'): void
}

/** Ways of relations that are held at once. */
const BATCH_WAYS = 200_000
/** Levels of boundaries that Shortbread draws: countries and their first division. */
const LEVELS = new Set(['2', '4'])
const MAX_MEMBERS = 200_000

/** Returns a relation that is drawn; undefined for others. */
export function areaRelation(id: number, tags: Tags, members: readonly Member[]): AreaRelation | undefined {
  const type = tags.get('type')
  if (type !== 'multipolygon' && type !== 'boundary') return undefined
  const ways = members.filter((member) => member.type === 'way').slice(0, MAX_MEMBERS)
  if (ways.length === 0) return undefined
  const level = tags.get('boundary') === 'administrative' ? (tags.get('admin_level') ?? '') : ''
  const isBoundary = LEVELS.has(level)
  const drawings = isBoundary ? boundary(Number(level)) : drawingsOf(tags, type)
  if (drawings.areas.length + drawings.lines.length + drawings.points.length === 0) return undefined
  return { id, drawings, members: Float64Array.from(ways, (way) => way.id), isBoundary }
}

/** A boundary has no label: its place is a node of its own. */
function drawingsOf(tags: Tags, type: 'multipolygon' | 'boundary'): Drawings {
  const drawings = classifyArea(tags)
  return type === 'boundary' ? { ...drawings, points: [], named: undefined } : drawings
}

function boundary(level: number): Drawings {
  const minZoom = level === 2 ? 0 : 7
  return { ...NOTHING, lines: [drawing('boundaries', minZoom, { admin_level: level })] }
}

/**
 * Puts relations together from their ways, some at a time, so that memory has a limit: each batch reads the ways
 * and the nodes of the extract once.
 */
export async function readRelations(
  extract: Extract,
  scanned: Scanned,
  relations: readonly AreaRelation[],
  sink: AreaSink,
  onBlob: OnBlob,
): Promise<void> {
  for (let from = 0; from < relations.length; ) {
    let end = from
    let ways = 0
    while (end < relations.length && (end === from || ways + relations[end]!.members.length <= BATCH_WAYS)) {
      ways += relations[end]!.members.length
      end++
    }
    const batch = relations.slice(from, end)
    const refsOf = await readMemberWays(extract, scanned, batch, onBlob)
    const places = await readNodePlaces(extract, scanned, refsOf.all(), onBlob)
    for (const relation of batch) assemble(relation, refsOf.find, places, sink)
    from = end
  }
}

async function readMemberWays(
  extract: Extract,
  { wayBlobs }: Scanned,
  batch: readonly AreaRelation[],
  onBlob: OnBlob,
) {
  const wanted = new Set<number>()
  for (const { members } of batch) for (const id of members) wanted.add(id)
  const refs = createGrowing(Float64Array, 16_384)
  const spans = new Map<number, readonly [from: number, end: number]>()
  const visitor = {
    nodeKeys: [],
    wayKeys: [],
    way: (id: number, _tags: Tags, wayRefs: Float64Array, count: number) => {
      if (!wanted.has(id) || count < 2) return
      reserve(refs, refs.length + count)
      refs.array.set(wayRefs.subarray(0, count), refs.length)
      spans.set(id, [refs.length, refs.length + count])
      refs.length += count
    },
  }
  await readBlobs(extract, wayBlobs, visitor, onBlob)
  return {
    all: () => filled(refs),
    find(id: number): Float64Array | undefined {
      const span = spans.get(id)
      return span && refs.array.subarray(span[0], span[1])
    },
  }
}

function assemble(
  { id, drawings, members, isBoundary }: AreaRelation,
  find: (way: number) => Float64Array | undefined,
  places: NodePlaces,
  sink: AreaSink,
): void {
  const ways = [...new Set(members)].map(find)
  if (isBoundary) {
    const lines = ways.filter((refs) => refs !== undefined).map((refs) => pointsOf(refs, places).points)
    sink.add({ drawings, parts: lines.filter((line) => line.length >= 4) })
    return
  }
  const known = ways.filter((refs) => refs !== undefined)
  if (known.length < ways.length) {
    sink.onBroken(id, 'incomplete')
    return
  }
  const { rings, open } = joinWays(known.map((refs) => ({ refs })))
  if (open.length > 0 || rings.length === 0) {
    sink.onBroken(id, 'unclosed')
    return
  }
  const parts = rings.map((ring) => pointsOf(ring, places))
  if (parts.some(({ isWhole }) => !isWhole)) sink.onBroken(id, 'incomplete')
  else sink.add({ drawings, parts: parts.map(({ points }) => points) })
}

/** Returns x, y … of nodes. @returns `isWhole` false when some are missing, which are left out */
export function pointsOf(
  refs: ArrayLike<number>,
  places: NodePlaces,
): { points: number[]; isWhole: boolean } {
  const points: number[] = []
  let isWhole = true
  for (let i = 0; i < refs.length; i++) {
    const place = places.find(refs[i]!)
    if (place === undefined) isWhole = false
    else points.push(place[0], place[1])
  }
  return { points, isWhole }
}
