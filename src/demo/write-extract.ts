import { deflateSync } from 'node:zlib'
import { PbfWriter } from 'pbf'

/** Node of OpenStreetMap. */
export interface OsmNode {
  id: number
  /** degrees */
  lng: number
  lat: number
  tags?: Readonly<Record<string, string>>
}

/** Way of OpenStreetMap; `refs` are the ids of its nodes. */
export interface OsmWay {
  id: number
  refs: readonly number[]
  tags?: Readonly<Record<string, string>>
}

/** Relation of OpenStreetMap. */
export interface OsmRelation {
  id: number
  members: readonly { type: 'node' | 'way' | 'relation'; id: number; role: string }[]
  tags?: Readonly<Record<string, string>>
}

/** Objects of an extract. */
export interface OsmData {
  nodes: readonly OsmNode[]
  ways: readonly OsmWay[]
  relations?: readonly OsmRelation[]
}

/** Form of the file, for tests of readers; the defaults are those of most writers. */
export interface WriteOptions {
  /** one node a message instead of packed lists */
  plainNodes?: boolean
  /** blobs without compression */
  raw?: boolean
  /** nanodegrees of one unit, to which coordinates are rounded; default 100 */
  granularity?: number
  /** nanodegrees that all coordinates of a block are relative to */
  lngOffset?: number
  latOffset?: number
  /** ways before nodes, as in the output of some tools */
  waysFirst?: boolean
  /** seconds since 1970 */
  replicatedAtS?: number
  requiredFeatures?: readonly string[]
  bbox?: readonly [west: number, south: number, east: number, north: number]
}

/** Objects of a block, as in the output of other writers. */
const BLOCK_OBJECTS = 8000
const NANO = 1e9
const WRITTEN_BY = 'fieldgate'
const MEMBER_TYPES = { node: 0, way: 1, relation: 2 } as const

/**
 * Writes an `.osm.pbf` file: sorted by type, dense nodes, zlib, unless the options say otherwise.
 *
 * @see https://wiki.openstreetmap.org/wiki/PBF_Format
 */
export function writeExtract(data: OsmData, options: WriteOptions = {}): Uint8Array<ArrayBuffer> {
  const nodes = chunk(data.nodes).map((part) => nodeBlock(part, options))
  const ways = chunk(data.ways).map((part) => wayBlock(part, options))
  const relations = chunk(data.relations ?? []).map((part) => relationBlock(part, options))
  const blocks =
    options.waysFirst === true ? [...relations, ...ways, ...nodes] : [...nodes, ...ways, ...relations]
  const blobs = [
    writeBlob('OSMHeader', headerBlock(options), options),
    ...blocks.map((block) => writeBlob('OSMData', block, options)),
  ]
  const file = new Uint8Array(blobs.reduce((sum, blob) => sum + blob.length, 0))
  let at = 0
  for (const blob of blobs) {
    file.set(blob, at)
    at += blob.length
  }
  return file
}

/** Writes a blob with its length and header. @param type `OSMHeader` or `OSMData` */
export function writeBlob(type: string, content: Uint8Array, options: WriteOptions = {}): Uint8Array {
  const blob = new PbfWriter()
  if (options.raw === true) blob.writeBytesField(1, content)
  else {
    blob.writeVarintField(2, content.length)
    blob.writeBytesField(3, deflateSync(content))
  }
  const body = blob.finish()
  const header = new PbfWriter()
  header.writeStringField(1, type)
  header.writeVarintField(3, body.length)
  const head = header.finish()
  const bytes = new Uint8Array(4 + head.length + body.length)
  new DataView(bytes.buffer).setUint32(0, head.length)
  bytes.set(head, 4)
  bytes.set(body, 4 + head.length)
  return bytes
}

function headerBlock({ bbox, replicatedAtS, requiredFeatures }: WriteOptions): Uint8Array {
  const pbf = new PbfWriter()
  if (bbox !== undefined) {
    const [west, south, east, north] = bbox.map((degrees) => Math.round(degrees * NANO))
    pbf.writeMessage(
      1,
      (sides, box) => {
        for (const [side, value] of sides.entries()) box.writeSVarintField(side + 1, value ?? 0)
      },
      [west, east, north, south],
    )
  }
  for (const feature of requiredFeatures ?? ['OsmSchema-V0.6', 'DenseNodes']) pbf.writeStringField(4, feature)
  pbf.writeStringField(5, 'Sort.Type_then_ID')
  pbf.writeStringField(16, WRITTEN_BY)
  if (replicatedAtS !== undefined) pbf.writeVarintField(32, replicatedAtS)
  return pbf.finish()
}

/**
 * String table of one block, in the order of first use; index 0 is reserved for the end of a dense node's
 * tags.
 */
function createTable() {
  const texts = new Map<string, number>([['', 0]])
  return {
    index(text: string): number {
      const known = texts.get(text)
      if (known !== undefined) return known
      texts.set(text, texts.size)
      return texts.size - 1
    },
    texts: () => [...texts.keys()],
  }
}

type Table = ReturnType<typeof createTable>

/** Writes a block of one group. The group comes first, because only then all of its strings are known. */
function writeBlock(options: WriteOptions, writeGroup: (group: PbfWriter, table: Table) => void): Uint8Array {
  const table = createTable()
  const group = new PbfWriter()
  writeGroup(group, table)
  const pbf = new PbfWriter()
  pbf.writeMessage(
    1,
    (texts, strings) => {
      for (const text of texts) strings.writeStringField(1, text)
    },
    table.texts(),
  )
  pbf.writeBytesField(2, group.finish())
  if (options.granularity !== undefined) pbf.writeVarintField(17, options.granularity)
  if (options.latOffset !== undefined) pbf.writeVarintField(19, options.latOffset)
  if (options.lngOffset !== undefined) pbf.writeVarintField(20, options.lngOffset)
  return pbf.finish()
}

function nodeBlock(nodes: readonly OsmNode[], options: WriteOptions): Uint8Array {
  const units = (degrees: number, offset = 0) =>
    Math.round((Math.round(degrees * NANO) - offset) / (options.granularity ?? 100))
  const lng = (node: OsmNode) => units(node.lng, options.lngOffset)
  const lat = (node: OsmNode) => units(node.lat, options.latOffset)
  return writeBlock(options, (group, table) => {
    if (options.plainNodes !== true) {
      group.writeMessage(2, () => writeDense(group, table, nodes, lng, lat), undefined)
      return
    }
    for (const node of nodes) {
      group.writeMessage(
        1,
        (_, pbf) => {
          pbf.writeSVarintField(1, node.id)
          writeTags(pbf, table, node.tags)
          pbf.writeSVarintField(8, lat(node))
          pbf.writeSVarintField(9, lng(node))
        },
        undefined,
      )
    }
  })
}

function writeDense(
  pbf: PbfWriter,
  table: Table,
  nodes: readonly OsmNode[],
  lng: (node: OsmNode) => number,
  lat: (node: OsmNode) => number,
): void {
  pbf.writePackedSVarint(1, deltas(nodes.map((node) => node.id)))
  pbf.writePackedSVarint(8, deltas(nodes.map(lat)))
  pbf.writePackedSVarint(9, deltas(nodes.map(lng)))
  const isTagged = nodes.some((node) => node.tags !== undefined)
  const keysValues = nodes.flatMap((node) => [
    ...Object.entries(node.tags ?? {}).flatMap(([key, value]) => [table.index(key), table.index(value)]),
    0,
  ])
  if (isTagged) pbf.writePackedVarint(10, keysValues)
}

function wayBlock(ways: readonly OsmWay[], options: WriteOptions): Uint8Array {
  return writeBlock(options, (group, table) => {
    for (const way of ways) {
      group.writeMessage(
        3,
        (_, pbf) => {
          pbf.writeVarintField(1, way.id)
          writeTags(pbf, table, way.tags)
          pbf.writePackedSVarint(8, deltas(way.refs))
        },
        undefined,
      )
    }
  })
}

function relationBlock(relations: readonly OsmRelation[], options: WriteOptions): Uint8Array {
  return writeBlock(options, (group, table) => {
    for (const { id, tags, members } of relations) {
      group.writeMessage(
        4,
        (_, pbf) => {
          pbf.writeVarintField(1, id)
          writeTags(pbf, table, tags)
          pbf.writePackedVarint(
            8,
            members.map((member) => table.index(member.role)),
          )
          pbf.writePackedSVarint(9, deltas(members.map((member) => member.id)))
          pbf.writePackedVarint(
            10,
            members.map((member) => MEMBER_TYPES[member.type]),
          )
        },
        undefined,
      )
    }
  })
}

function writeTags(pbf: PbfWriter, table: Table, tags: Readonly<Record<string, string>> | undefined): void {
  const entries = Object.entries(tags ?? {})
  pbf.writePackedVarint(
    2,
    entries.map(([key]) => table.index(key)),
  )
  pbf.writePackedVarint(
    3,
    entries.map(([, value]) => table.index(value)),
  )
}

function deltas(values: readonly number[]): number[] {
  return values.map((value, i) => value - (values[i - 1] ?? 0))
}

function chunk<T>(items: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let at = 0; at < items.length; at += BLOCK_OBJECTS) parts.push(items.slice(at, at + BLOCK_OBJECTS))
  return parts
}
