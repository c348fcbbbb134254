import { PbfReader } from 'pbf'
import { AppError, messageOf } from '../../errors.js'
import { createGrowing } from '../arrays/growing.js'
import { badExtract } from './blobs.js'
import {
  enter,
  leave,
  type Reading,
  readDeltas,
  readDenseInfo,
  readInfo,
  readNumbers,
  readTags,
  textOf,
} from './block-fields.js'
import type { BlockVisitor, Member, Tags } from './osm-objects.js'
import { readStringTable } from './string-table.js'

/** Kinds of objects in a block, as bits, so that a second pass can skip blocks. */
export const HOLDS = { nodes: 1, ways: 2, relations: 4 } as const

/** Field numbers in osmformat.proto. */
const BLOCK = {
  strings: 1,
  group: 2,
  granularity: 17,
  dateGranularityMs: 18,
  latOffset: 19,
  lngOffset: 20,
} as const
const GROUP = { node: 1, dense: 2, way: 3, relation: 4 } as const
const NODE = { id: 1, keys: 2, values: 3, info: 4, lat: 8, lng: 9 } as const
const DENSE = { ids: 1, info: 5, lats: 8, lngs: 9, keysValues: 10 } as const
const WAY = { id: 1, keys: 2, values: 3, info: 4, refs: 8 } as const
const RELATION = { id: 1, keys: 2, values: 3, info: 4, roles: 8, memberIds: 9, types: 10 } as const
const MEMBER_TYPES = ['node', 'way', 'relation'] as const

const MAX_LNG_E7 = 1_800_000_000
const MAX_LAT_E7 = 900_000_000
/** nanodegrees in 1e-7 degree */
const NANO_PER_E7 = 100

/**
 * Creates a reader of OSMData blocks for one visitor.
 *
 * @returns a function that reads a block and returns its kinds of objects (bits of `HOLDS`); it throws
 *   AppError BAD_EXTRACT with the given offset for a damaged block
 */
export function createBlockReader(visitor: BlockVisitor): (bytes: Uint8Array, offset: number) => number {
  const scratch = () => createGrowing(Float64Array, 16_384)
  const reading: Reading = {
    pbf: new PbfReader(new Uint8Array(0)),
    table: readStringTable(new Uint8Array(0), 0, 0, []),
    granularity: 100,
    latOffset: 0,
    lngOffset: 0,
    dateGranularityMs: 1000,
    offset: 0,
    holds: 0,
    visitor,
    ids: scratch(),
    lats: scratch(),
    lngs: scratch(),
    keys: createGrowing(Uint32Array, 1024),
    values: createGrowing(Uint32Array, 1024),
  }
  return (bytes, offset) => {
    reading.pbf = new PbfReader(bytes)
    reading.offset = offset
    try {
      readBlock(reading)
    } catch (error) {
      if (error instanceof AppError) throw error
      throw badExtract(offset, `the block cannot be read (${messageOf(error)})`, error)
    }
    return reading.holds
  }
}

/** Reads a block. Groups may come before the fields that they depend on, so they are read last. */
function readBlock(reading: Reading): void {
  const { pbf, visitor } = reading
  const groups: number[] = []
  reading.granularity = 100
  reading.latOffset = 0
  reading.lngOffset = 0
  reading.dateGranularityMs = 1000
  reading.holds = 0
  reading.table = readStringTable(pbf.buf, 0, 0, [])
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field === BLOCK.strings) {
      const end = enter(reading, pbf.length)
      reading.table = readStringTable(pbf.buf, pbf.pos, end, [...visitor.nodeKeys, ...visitor.wayKeys])
      pbf.pos = end
    } else if (field === BLOCK.group) {
      const end = enter(reading, pbf.length)
      groups.push(pbf.pos, end)
      pbf.pos = end
    } else if (field === BLOCK.granularity) reading.granularity = pbf.readVarint(true)
    else if (field === BLOCK.dateGranularityMs) reading.dateGranularityMs = pbf.readVarint(true)
    else if (field === BLOCK.latOffset) reading.latOffset = pbf.readVarint(true)
    else if (field === BLOCK.lngOffset) reading.lngOffset = pbf.readVarint(true)
  }
  leave(reading, pbf.length)
  for (let at = 0; at < groups.length; at += 2) readGroup(reading, groups[at]!, groups[at + 1]!)
}

function readGroup(reading: Reading, start: number, end: number): void {
  const { pbf, visitor } = reading
  pbf.pos = start
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === GROUP.dense || field === GROUP.node) {
      reading.holds |= HOLDS.nodes
      if (visitor.node === undefined) continue
      const last = enter(reading, end)
      if (field === GROUP.dense) readDense(reading, last)
      else readNode(reading, last)
    } else if (field === GROUP.way) {
      reading.holds |= HOLDS.ways
      if (visitor.way !== undefined) readWay(reading, enter(reading, end))
    } else if (field === GROUP.relation) {
      reading.holds |= HOLDS.relations
      if (visitor.relation !== undefined) readRelation(reading, enter(reading, end))
    }
  }
  leave(reading, end)
}

/** Reads dense nodes: ids, coordinates and tags are one list each, in the same order. */
function readDense(reading: Reading, end: number): void {
  const { pbf, ids, lats, lngs, keys, visitor, offset } = reading
  ids.length = 0
  lats.length = 0
  lngs.length = 0
  keys.length = 0
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === DENSE.ids) readDeltas(reading, ids, end)
    else if (field === DENSE.lats) readDeltas(reading, lats, end)
    else if (field === DENSE.lngs) readDeltas(reading, lngs, end)
    else if (field === DENSE.keysValues) readNumbers(reading, keys, end)
    else if (field === DENSE.info && visitor.timestamp !== undefined)
      readDenseInfo(reading, enter(reading, end))
  }
  leave(reading, end)
  const count = ids.length
  if (lats.length !== count || lngs.length !== count) {
    throw badExtract(
      offset,
      `found ${count} node ids with ${lats.length} latitudes and ${lngs.length} longitudes, expected as many of each`,
    )
  }
  let at = 0
  for (let i = 0; i < count; i++) {
    let tags: Tags | undefined
    if (at < keys.length) {
      const from = at
      while (at < keys.length && keys.array[at] !== 0) at += 2
      tags = denseTags(reading, from, at)
      at++ // the 0 that ends a node's tags
    }
    emitNode(reading, ids.array[i]!, lngs.array[i]!, lats.array[i]!, tags)
  }
}

/** Tags of one dense node: keys and values alternate in `keys[from … end)`. */
function denseTags({ keys, table, offset, visitor }: Reading, from: number, end: number): Tags | undefined {
  if (end > keys.length) throw badExtract(offset, 'a node has a key without a value')
  for (let at = from; at < end; at += 2) {
    if (!table.isWanted(keys.array[at]!, visitor.nodeKeys)) continue
    const tags = new Map<string, string>()
    for (let pair = from; pair < end; pair += 2) {
      tags.set(textOf(table, keys.array[pair]!, offset), textOf(table, keys.array[pair + 1]!, offset))
    }
    return tags
  }
  return undefined
}

/** Reads a node with a message of its own, a form that few writers use. */
function readNode(reading: Reading, end: number): void {
  const { pbf, keys, values, visitor } = reading
  let id = 0
  let lat = 0
  let lng = 0
  keys.length = 0
  values.length = 0
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === NODE.id) id = pbf.readSVarint()
    else if (field === NODE.lat) lat = pbf.readSVarint()
    else if (field === NODE.lng) lng = pbf.readSVarint()
    else if (field === NODE.keys) readNumbers(reading, keys, end)
    else if (field === NODE.values) readNumbers(reading, values, end)
    else if (field === NODE.info && visitor.timestamp !== undefined) readInfo(reading, enter(reading, end))
  }
  leave(reading, end)
  emitNode(reading, id, lng, lat, readTags(reading, visitor.nodeKeys))
}

/** Hands a node to the visitor. @param lng in units of the block's granularity, like `lat` */
function emitNode(reading: Reading, id: number, lng: number, lat: number, tags: Tags | undefined): void {
  const { visitor, granularity, lngOffset, latOffset, offset } = reading
  const lngE7 = Math.round((lngOffset + granularity * lng) / NANO_PER_E7)
  const latE7 = Math.round((latOffset + granularity * lat) / NANO_PER_E7)
  // negated, so that NaN is refused too
  if (!(Math.abs(lngE7) <= MAX_LNG_E7 && Math.abs(latE7) <= MAX_LAT_E7)) {
    throw badExtract(
      offset,
      `node ${id} lies at ${lngE7 / 1e7}, ${latE7 / 1e7} (lng, lat), outside the earth`,
    )
  }
  visitor.node?.(id, lngE7, latE7, tags)
}

/** Reads a way. Its tags decide whether the visitor gets it; most ways of a full extract are no roads. */
function readWay(reading: Reading, end: number): void {
  const { pbf, ids, keys, values, visitor } = reading
  let id = 0
  ids.length = 0
  keys.length = 0
  values.length = 0
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === WAY.id) id = pbf.readVarint(true)
    else if (field === WAY.keys) readNumbers(reading, keys, end)
    else if (field === WAY.values) readNumbers(reading, values, end)
    else if (field === WAY.refs) readDeltas(reading, ids, end)
    else if (field === WAY.info && visitor.timestamp !== undefined) readInfo(reading, enter(reading, end))
  }
  leave(reading, end)
  const tags = readTags(reading, visitor.wayKeys)
  if (tags !== undefined) visitor.way?.(id, tags, ids.array, ids.length)
}

/** Reads a relation. Relations are few, so their members may become objects. */
function readRelation(reading: Reading, end: number): void {
  const { pbf, ids, keys, values, visitor, table, offset } = reading
  const roles = createGrowing(Uint32Array, 8)
  const types = createGrowing(Uint32Array, 8)
  let id = 0
  ids.length = 0
  keys.length = 0
  values.length = 0
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === RELATION.id) id = pbf.readVarint(true)
    else if (field === RELATION.keys) readNumbers(reading, keys, end)
    else if (field === RELATION.values) readNumbers(reading, values, end)
    else if (field === RELATION.roles) readNumbers(reading, roles, end)
    else if (field === RELATION.memberIds) readDeltas(reading, ids, end)
    else if (field === RELATION.types) readNumbers(reading, types, end)
    else if (field === RELATION.info && visitor.timestamp !== undefined)
      readInfo(reading, enter(reading, end))
  }
  leave(reading, end)
  if (ids.length !== roles.length || ids.length !== types.length) {
    throw badExtract(offset, `relation ${id} has ${ids.length} members with ${roles.length} roles`)
  }
  const tags = readTags(reading, [])
  if (tags === undefined) return
  const members: Member[] = []
  for (let i = 0; i < ids.length; i++) {
    const type = MEMBER_TYPES[types.array[i]!]
    if (type === undefined) throw badExtract(offset, `relation ${id} has a member of type ${types.array[i]}`)
    members.push({ type, id: ids.array[i]!, role: textOf(table, roles.array[i]!, offset) })
  }
  visitor.relation?.(id, tags, members)
}
