import { createGrowing, filled, push, reserve } from '../arrays/growing.js'
import { createStringPool, type StringPool } from '../arrays/string-pool.js'
import { type Blob, badExtract, type Extract, unpackBlob } from '../extract/blobs.js'
import { createBlockReader, HOLDS } from '../extract/block.js'
import { type ExtractHeader, isoTime, readExtractHeader } from '../extract/header.js'
import type { Member, Tags } from '../extract/osm-objects.js'
import { type ConditionalRule, readBarrier, readWay } from '../profile/conditional-way.js'
import { type Decision, usualOutcome } from '../profile/decision.js'
import type { DirectionRule, Profile, WayClosure } from '../profile/profile.js'
import type { Cause, Tally } from './left-out.js'
import { findId, NO_INDEX, sortedIds } from './node-table.js'
import { joinNotes } from './note-text.js'
import { type RawRestriction, readRestriction } from './restriction-relation.js'

/** Part of an extract that a profile uses: ways and nodes in flat arrays, ways in the order of the file. */
export interface RoadData {
  readonly wayCount: number
  readonly wayId: Float64Array
  /** way → its refs are `refs[wayFirstRef[way] … wayFirstRef[way + 1])` */
  readonly wayFirstRef: Uint32Array
  /** index of a node */
  readonly refs: Uint32Array
  /** way → speed, 1/10 km/h; 0 = closed */
  readonly forwardSpeed: Uint16Array
  readonly backwardSpeed: Uint16Array
  /** way → bits of `LINK_FLAG` */
  readonly forwardFlags: Uint8Array
  readonly backwardFlags: Uint8Array
  /** way → offset in `strings` of its notes */
  readonly forwardNotes: Uint32Array
  readonly backwardNotes: Uint32Array
  /** way → limits of both directions, for ways that have any */
  readonly limits: Map<number, WayLimits>
  /** way → what conditions change, for ways that have any */
  readonly conditional: Map<number, ConditionalWay>
  /** way → offset in `strings` */
  readonly wayName: Uint32Array
  /** way → seconds, for ways with a tagged duration */
  readonly durations: Map<number, number>
  /** node → OSM id, ascending */
  readonly nodeId: Float64Array
  readonly nodeLngE7: Int32Array
  readonly nodeLatE7: Int32Array
  /** node → bits of `NODE_STATE` */
  readonly nodeState: Uint8Array
  /** node → bits of `SIGN`, way → rank and side, see `TurnTags`; 0 where turns cost nothing */
  readonly nodeSign: Uint8Array
  readonly wayRank: Uint8Array
  /** node → whether it is closed, for barriers that conditions open or close */
  readonly barriers: ReadonlyMap<number, Decision>
  readonly restrictions: RawRestriction[]
  readonly strings: StringPool
  readonly header: ExtractHeader
  readonly osmTimestamp: string | null
  readonly tally: Tally
}

/** Limits of a way by direction. */
export interface WayLimits {
  readonly forward: DirectionRule['limits']
  readonly backward: DirectionRule['limits']
}

/** Outcomes of a way by direction, see `ConditionalRule`. */
export interface ConditionalWay {
  readonly forward: Decision | undefined
  readonly backward: Decision | undefined
}

/** Bits of `RoadData.nodeState`. */
export const NODE_STATE = {
  /** the extract holds the node */
  PRESENT: 1,
  /** a barrier that the profile cannot pass */
  CLOSED: 2,
  /** must be a junction, because a turn restriction refers to it, or traffic slows down there */
  FORCED: 4,
  /** inside the area of the map */
  INSIDE: 8,
} as const

/** Receiver of progress in bytes, called after every blob. */
type OnProgress = (done: number, total: number) => Promise<void> | void

/**
 * Reads an extract twice: ways and turn restrictions first, then the nodes that they use. So objects may come
 * in any order, and memory follows the roads, not the extract.
 *
 * @param country ISO 3166-1 alpha-2, for legal speed limits; null = none
 * @param tally counts what is used and what is left out
 * @throws AppError BAD_EXTRACT
 */
export async function readRoads(
  extract: Extract,
  profile: Profile,
  country: string | null,
  tally: Tally,
  onProgress: OnProgress,
): Promise<RoadData> {
  const ways = await readWays(extract, { profile, country, tally }, onProgress)
  const nodeId = sortedIds(filled(ways.refIds))
  const refs = indexRefs(ways.refIds, nodeId)
  const nodes = await readNodes(extract, { profile, nodeId, tally }, ways.nodeBlobs, onProgress)
  const newestS = Math.max(ways.newestS(), nodes.newestS)
  return {
    ...ways.data(),
    refs,
    nodeId,
    nodeLngE7: nodes.lngE7,
    nodeLatE7: nodes.latE7,
    nodeState: nodes.state,
    nodeSign: nodes.sign,
    barriers: nodes.barriers,
    header: ways.header,
    osmTimestamp: ways.header.replicatedAt ?? isoTime(newestS),
    tally,
  }
}

/** Yields the blobs of data after the header, which must come first. */
function* dataBlobs(extract: Extract, offset: number): Generator<Blob> {
  for (const blob of extract.blobsFrom(offset)) {
    if (blob.type === 'OSMData') yield blob
    else if (blob.offset === 0 && blob.type !== 'OSMHeader') {
      throw badExtract(0, `the file begins with a blob ${JSON.stringify(blob.type)}, expected OSMHeader`)
    }
  }
}

/** Does the first reading: ways, turn restrictions, and the list of blobs with nodes. */
async function readWays(
  extract: Extract,
  { profile, country, tally }: { profile: Profile; country: string | null; tally: Tally },
  onProgress: OnProgress,
) {
  const table = createWayTable(profile, country, tally)
  const header = readHeader(extract)
  const restrictions: RawRestriction[] = []
  const nodeBlobs: number[] = []
  let newestS = 0
  const readBlock = createBlockReader({
    nodeKeys: [],
    wayKeys: profile.wayKeys,
    way: table.add,
    relation: (id: number, tags: Tags, members: readonly Member[]) => {
      const found = readRestriction(id, tags, members, profile)
      if (typeof found === 'object') restrictions.push(found)
      else if (found !== 'other') tally.leaveOut(found, id)
    },
    ...(header.replicatedAt === null
      ? {
          timestamp: (epochS: number) => {
            if (epochS > newestS) newestS = epochS
          },
        }
      : {}),
  })
  for (const blob of dataBlobs(extract, 0)) {
    if ((readBlock(unpackBlob(blob), blob.offset) & HOLDS.nodes) !== 0) nodeBlobs.push(blob.offset)
    await onProgress(blob.offset + blob.bytes.length, extract.sizeBytes)
  }
  return {
    header,
    nodeBlobs,
    refIds: table.refIds,
    newestS: () => newestS,
    data: () => ({ ...table.data(), restrictions }),
  }
}

/** Reads the header, which must come first. */
function readHeader(extract: Extract): ExtractHeader {
  for (const blob of extract.blobsFrom(0)) {
    if (blob.type === 'OSMHeader') return readExtractHeader(unpackBlob(blob), blob.offset)
    break
  }
  throw badExtract(0, 'the file does not begin with an OSMHeader blob')
}

const CAUSE_OF_CLOSURE: Record<WayClosure, Cause> = {
  class: 'waysClosedByClass',
  access: 'waysClosedByAccess',
  construction: 'waysUnderConstruction',
  unusable: 'waysUnusable',
  reversible: 'waysReversible',
}

/** Counts the conditions of a way, and lists it where some of them are notes only. */
function countConditions(tally: Tally, { closure, obeyed, noted }: ConditionalRule, id: number): void {
  if (closure !== undefined) tally.count('waysOpenedByConditions')
  for (let i = 0; i < obeyed; i++) tally.count('conditionsUsed')
  for (let i = 0; i < noted; i++) tally.count('conditionsNoted')
  if (noted > 0) tally.list('conditionsNoted', id)
}

/** Creates the table of ways that the profile uses. */
function createWayTable(profile: Profile, country: string | null, tally: Tally) {
  const wayId = createGrowing(Float64Array)
  const wayFirstRef = createGrowing(Uint32Array)
  const refIds = createGrowing(Float64Array, 16_384)
  const forwardSpeed = createGrowing(Uint16Array)
  const backwardSpeed = createGrowing(Uint16Array)
  const forwardFlags = createGrowing(Uint8Array)
  const backwardFlags = createGrowing(Uint8Array)
  const forwardNotes = createGrowing(Uint32Array)
  const backwardNotes = createGrowing(Uint32Array)
  const wayName = createGrowing(Uint32Array)
  const wayRank = createGrowing(Uint8Array)
  const rare = createRareTraits()
  const strings = createStringPool()
  const addRule = (found: ConditionalRule) => {
    const { rule } = found
    rare.add(wayId.length, found)
    push(forwardSpeed, rule.forward.speedDkmh)
    push(backwardSpeed, rule.backward.speedDkmh)
    push(forwardFlags, rule.forward.flags)
    push(backwardFlags, rule.backward.flags)
    push(forwardNotes, strings.add(joinNotes(rule.forward.notes)))
    push(backwardNotes, strings.add(joinNotes(rule.backward.notes)))
    push(wayName, strings.add(rule.name))
  }
  push(wayFirstRef, 0)
  return {
    refIds,
    add(id: number, tags: Tags, refs: Float64Array, refCount: number): void {
      const rule = readWay(profile, tags, country)
      if (typeof rule === 'string') {
        tally.count('waysClosed')
        tally.leaveOut(CAUSE_OF_CLOSURE[rule], id)
        return
      }
      if (refCount < 2) {
        tally.leaveOut('waysTooShort', id)
        return
      }
      tally.count('waysUsed')
      countConditions(tally, rule, id)
      addRule(rule)
      push(wayRank, profile.turns?.rankOf(tags, country) ?? 0)
      push(wayId, id)
      reserve(refIds, refIds.length + refCount)
      refIds.array.set(refs.subarray(0, refCount), refIds.length)
      refIds.length += refCount
      push(wayFirstRef, refIds.length)
    },
    data: () => ({
      wayCount: wayId.length,
      wayId: filled(wayId),
      wayFirstRef: filled(wayFirstRef),
      forwardSpeed: filled(forwardSpeed),
      backwardSpeed: filled(backwardSpeed),
      forwardFlags: filled(forwardFlags),
      backwardFlags: filled(backwardFlags),
      forwardNotes: filled(forwardNotes),
      backwardNotes: filled(backwardNotes),
      wayName: filled(wayName),
      wayRank: filled(wayRank),
      ...rare.traits,
      strings,
    }),
  }
}

/** Creates the table of what few ways have. */
function createRareTraits() {
  const durations = new Map<number, number>()
  const limits = new Map<number, WayLimits>()
  const conditional = new Map<number, ConditionalWay>()
  return {
    traits: { durations, limits, conditional },
    add(way: number, { rule, forward, backward }: ConditionalRule): void {
      if (rule.durationS !== undefined) durations.set(way, rule.durationS)
      const found = { forward: rule.forward.limits, backward: rule.backward.limits }
      if ((found.forward ?? found.backward) !== undefined) limits.set(way, found)
      if ((forward ?? backward) !== undefined) conditional.set(way, { forward, backward })
    },
  }
}

/** Replaces the ids of refs by indexes of nodes, and frees the ids. */
function indexRefs(refIds: { array: Float64Array; length: number }, nodeId: Float64Array): Uint32Array {
  const refs = new Uint32Array(refIds.length)
  let near = 0
  for (let i = 0; i < refs.length; i++) {
    near = findId(nodeId, refIds.array[i]!, near)
    refs[i] = near
  }
  refIds.array = new Float64Array(0)
  refIds.length = 0
  return refs
}

/** Does the second reading: coordinates and barriers of the nodes that ways use. */
async function readNodes(
  extract: Extract,
  { profile, nodeId, tally }: { profile: Profile; nodeId: Float64Array; tally: Tally },
  nodeBlobs: readonly number[],
  onProgress: OnProgress,
) {
  const lngE7 = new Int32Array(nodeId.length)
  const latE7 = new Int32Array(nodeId.length)
  const state = new Uint8Array(nodeId.length)
  const sign = new Uint8Array(nodeId.length)
  const barriers = new Map<number, Decision>()
  let near = 0
  let newestS = 0
  const readBlock = createBlockReader({
    nodeKeys: [...profile.nodeKeys, ...(profile.turns?.nodeKeys ?? [])],
    wayKeys: [],
    node: (id: number, lng: number, lat: number, tags: Tags | undefined) => {
      const node = findId(nodeId, id, near)
      if (node === NO_INDEX) return
      near = node
      lngE7[node] = lng
      latE7[node] = lat
      state[node] = NODE_STATE.PRESENT
      if (tags === undefined) return
      const barrier = readBarrier(profile, tags)
      const isClosed = usualOutcome(barrier) === 1
      if (isClosed) tally.leaveOut('barriersClosed', id)
      if (barrier.when.length > 0) {
        barriers.set(node, barrier)
        tally.count('barriersConditional')
      } else if (isClosed) {
        state[node] = NODE_STATE.PRESENT | NODE_STATE.CLOSED
        return
      }
      sign[node] = profile.turns?.signOf(tags) ?? 0
      if (sign[node] > 0 || barriers.has(node)) state[node] = NODE_STATE.PRESENT | NODE_STATE.FORCED
    },
    timestamp: (epochS: number) => {
      if (epochS > newestS) newestS = epochS
    },
  })
  for (const offset of nodeBlobs) {
    for (const blob of extract.blobsFrom(offset)) {
      readBlock(unpackBlob(blob), offset)
      await onProgress(offset + blob.bytes.length, extract.sizeBytes)
      break
    }
  }
  for (let node = 0; node < state.length; node++) {
    if (state[node] === 0) tally.leaveOut('nodesMissing', nodeId[node]!)
  }
  return { lngE7, latE7, state, sign, barriers, newestS }
}
