import { conditionsOf } from './conditions.js'
import type { Graph, GraphInMemory, GraphMeta } from './graph.js'
import { badMapFile, checkGraph } from './graph-check.js'
import { isShared, type PagedName, pagedSections, withPages } from './graph-pages.js'
import { closedArcsWhile } from './graph-state.js'
import type { Crc32, Pages } from './paged.js'

/**
 * The map file: a header, a table of sections, the sections. Little endian, each section begins at a multiple
 * of 8, so that its typed array is a view of the file's bytes and loading needs no parsing.
 *
 *     0  magic "FGGRAPH\n"                 24  u32 junctions, 28 segments, 32 nodes, 36 arcs
 *     8  u32 version                       40  u32 CRC-32 of header and table, this field taken as 0
 *     12 u32 number of sections            44  u32 0
 *     16 u64 bytes of the whole file       48  the table, 32 bytes a section:
 *                                              u32 kind, u32 CRC-32, u64 offset, u64 bytes, u64 0
 *
 * A reader skips kinds that it does not know: a new section needs no new version, a changed one does.
 */
export const GRAPH_MAGIC = 'FGGRAPH\n'
/** Version that this program writes, unless a map needs `CONDITIONAL_VERSION`. */
export const GRAPH_VERSION = 1
/** Version of maps with roads that only conditions open: a reader of version 1 would take them for open. */
export const CONDITIONAL_VERSION = 2
/** Bytes of the header. */
export const HEADER_BYTES = 48
/** Bytes of an entry in the table of sections. */
export const ENTRY_BYTES = 32
/** Field of the header → its offset. */
export const AT = {
  version: 8,
  sections: 12,
  fileBytes: 16,
  junctions: 24,
  segments: 28,
  nodes: 32,
  arcs: 36,
  crc: 40,
} as const

/** Section → its kind in the file. Numbers are never reused. */
export const SECTION_KIND = {
  meta: 1,
  firstOut: 2,
  head: 3,
  arcLink: 4,
  nodeJunction: 5,
  junctionLngE7: 6,
  junctionLatE7: 7,
  junctionOsmId: 8,
  segmentTail: 9,
  segmentHead: 10,
  segmentLengthMm: 11,
  firstGeometry: 12,
  geometry: 13,
  segmentName: 14,
  linkSpeed: 15,
  linkNotes: 16,
  linkFlags: 17,
  linkStartArc: 18,
  linkFirstArc: 19,
  linkArcs: 20,
  strings: 21,
  segmentIndex: 22,
  junctionIndex: 23,
  nodeRank: 25, // 24 was the inverse, before the first release
  limits: 26,
  turnPrices: 27,
  arcTurn: 28,
  conditions: 30,
  conditionalLinks: 31,
  conditionalArcs: 32,
} as const

export type SectionName = keyof typeof SECTION_KIND

/** Entry of the table of sections. */
interface Section {
  readonly crc: number
  /** from the beginning of the file, bytes */
  readonly offset: number
  readonly bytes: number
}

/** Header and table of sections; `sections` by kind. */
interface Layout {
  readonly junctionCount: number
  readonly segmentCount: number
  readonly nodeCount: number
  readonly arcCount: number
  readonly sections: ReadonlyMap<number, Section>
}

/** Bytes of a map file. */
export interface GraphBytes {
  readonly byteLength: number
  /**
   * Reads bytes that lie in the file.
   *
   * @param isShared other threads may be given them
   * @returns a buffer and their place in it, a multiple of 8 where `offset` is one
   */
  read(offset: number, bytes: number, isShared?: boolean): [buffer: ArrayBufferLike, at: number]
  /**
   * reads sections again when answers need them, where these are larger than `cacheBytes` together; undefined = all stay
   * in memory
   */
  readonly paging?: (Pick<Pages, 'read' | 'fd' | 'changed'> & { readonly cacheBytes: number }) | undefined
}

/** Most sections of a map file; there are 30 today. */
const MAX_SECTIONS = 1024

/**
 * Opens the graph in a map file's bytes, as views of them. 0.3 s for 200 MB, most of it checks.
 *
 * Refuses a wrong magic, another version, a short file, a damaged header, a section whose checksum or size is
 * wrong, and numbers that point outside their arrays, so that searches need no bounds checks.
 *
 * @param buffer the whole file; kept
 * @param crc32 checksum function: `routing/` uses no Node built-ins
 * @throws AppError BAD_MAP_FILE
 */
export function readGraph(buffer: ArrayBufferLike, crc32: Crc32): GraphInMemory {
  const file: GraphBytes = { byteLength: buffer.byteLength, read: (offset) => [buffer, offset] }
  return checkedGraph(file, readLayout(file, crc32), { crc32, paged: [] })
}

/**
 * Opens the graph in a map file as `readGraph` does, from bytes that are read section by section.
 *
 * @param crc32 checksum function: `routing/` uses no Node built-ins
 * @throws AppError BAD_MAP_FILE, and the errors of the file
 */
export function openGraph(file: GraphBytes, crc32: Crc32): Graph {
  const layout = readLayout(file, crc32)
  const { paging } = file
  const sectionOf = (name: SectionName) => layout.sections.get(SECTION_KIND[name])
  const bytesOf = (name: SectionName) => sectionOf(name)?.bytes ?? 0
  const paged = paging === undefined ? [] : pagedSections(bytesOf, paging.cacheBytes)
  const graph = checkedGraph(file, layout, { crc32, paged })
  if (paging === undefined || paged.length === 0) return graph
  return withPages(graph, paged, (name) => sectionOf(name)!.offset, { ...paging, crc32 })
}

function checkedGraph(file: GraphBytes, layout: Layout, options: ViewOptions): GraphInMemory {
  const graph = viewGraph(file, layout, options)
  checkGraph(graph)
  const conditionCount = conditionsOf(graph)?.conditions.length ?? 0
  const closedArcs = closedArcsWhile(graph, new Uint8Array(conditionCount))
  return closedArcs === undefined ? graph : { ...graph, closedArcs }
}

interface ViewOptions {
  readonly crc32: Crc32
  /** sections that do not stay in memory */
  readonly paged: readonly PagedName[]
}

/** Reads header and table of sections. @throws AppError BAD_MAP_FILE */
function readLayout(file: GraphBytes, crc32: Crc32): Layout {
  const headBytes = Math.min(HEADER_BYTES, file.byteLength)
  const [headBuffer, headAt] = file.read(0, headBytes)
  const view = new DataView(headBuffer, headAt, headBytes)
  checkHeader(file.byteLength, view)
  const sectionCount = view.getUint32(AT.sections, true)
  const tableEnd = HEADER_BYTES + sectionCount * ENTRY_BYTES
  // checked before the table is read: the number is not covered by a verified checksum yet
  if (sectionCount > MAX_SECTIONS || tableEnd > file.byteLength) {
    throw badMapFile('damaged', `the map file is damaged: its header names ${sectionCount} sections`)
  }
  // a copy, in which the checksum field is 0, as it was when the checksum was computed
  const [tableBuffer, tableAt] = file.read(0, tableEnd)
  const head = new Uint8Array(tableBuffer, tableAt, tableEnd).slice()
  const table = new DataView(head.buffer)
  head.fill(0, AT.crc, AT.crc + 4)
  if (crc32(head) !== view.getUint32(AT.crc, true)) {
    throw badMapFile('damaged', 'the map file is damaged: the checksum of its header is wrong')
  }
  const sections = new Map<number, Section>()
  for (let at = HEADER_BYTES; at < tableEnd; at += ENTRY_BYTES) {
    // fields of an entry: kind, checksum, offset, bytes; the last eight bytes are reserved
    sections.set(table.getUint32(at, true), {
      crc: table.getUint32(at + 4, true),
      offset: readUint64(table, at + 8),
      bytes: readUint64(table, at + 16),
    })
  }
  return {
    junctionCount: view.getUint32(AT.junctions, true),
    segmentCount: view.getUint32(AT.segments, true),
    nodeCount: view.getUint32(AT.nodes, true),
    arcCount: view.getUint32(AT.arcs, true),
    sections,
  }
}

/**
 * Checks magic, version and size of the file, in this order: the first fault decides the reason reported.
 *
 * @throws AppError BAD_MAP_FILE
 */
function checkHeader(foundBytes: number, view: DataView): void {
  const magicLength = Math.min(GRAPH_MAGIC.length, view.byteLength)
  const found = new Uint8Array(view.buffer, view.byteOffset, magicLength)
  // a file shorter than the magic matches as far as it goes and is refused as short below
  for (let i = 0; i < found.length; i++) {
    if (found[i] === GRAPH_MAGIC.charCodeAt(i)) continue
    throw badMapFile(
      'magic',
      `not a map file: found first bytes ${hex(found)}, expected ${hex(magicBytes())}`,
    )
  }
  if (foundBytes < HEADER_BYTES) {
    throw badMapFile(
      'short',
      `the map file is cut short: found ${foundBytes} bytes, expected a header of ${HEADER_BYTES} bytes`,
    )
  }
  // before the size: a newer version may count bytes in another way
  const version = view.getUint32(AT.version, true)
  if (version < GRAPH_VERSION || version > CONDITIONAL_VERSION) {
    const what = version > GRAPH_VERSION ? 'was written by a newer program' : 'has an unknown version'
    const expected = `expected ${GRAPH_VERSION} or ${CONDITIONAL_VERSION}`
    throw badMapFile('version', `the map file ${what}: found version ${version}, ${expected}`)
  }
  const fileBytes = readUint64(view, AT.fileBytes)
  if (foundBytes < fileBytes) {
    throw badMapFile('short', `the map file is cut short: found ${foundBytes} bytes, expected ${fileBytes}`)
  }
  if (foundBytes > fileBytes) {
    throw badMapFile('damaged', `the map file is damaged: found ${foundBytes} bytes, expected ${fileBytes}`)
  }
}

/** Creates the views of all sections. @throws AppError BAD_MAP_FILE for one that is missing or damaged */
function viewGraph(file: GraphBytes, layout: Layout, { crc32, paged }: ViewOptions): GraphInMemory {
  const { junctionCount, segmentCount, nodeCount, arcCount } = layout
  // two links a segment, one for each direction
  const linkCount = segmentCount * 2
  /** checks a section; `count` undefined = any number of elements */
  const bytesOf = (name: SectionName, elementBytes: number, count?: number) => {
    const section = layout.sections.get(SECTION_KIND[name])
    if (section === undefined)
      throw badMapFile('damaged', `the map file is damaged: section ${name} is missing`)
    const expected = count === undefined ? section.bytes : count * elementBytes
    const options = { ...section, name, isShared: isShared(name, paged) }
    return readSection(file, options, expected, crc32)
  }
  const u32 = (name: SectionName, count: number) => {
    const { buffer, byteOffset } = bytesOf(name, 4, count)
    return new Uint32Array(buffer, byteOffset, count)
  }
  const i32 = (name: SectionName, count: number) => {
    const { buffer, byteOffset } = bytesOf(name, 4, count)
    return new Int32Array(buffer, byteOffset, count)
  }
  const u16 = (name: SectionName, count: number) => {
    const { buffer, byteOffset } = bytesOf(name, 2, count)
    return new Uint16Array(buffer, byteOffset, count)
  }
  const f64 = (name: SectionName, count: number) => {
    const { buffer, byteOffset } = bytesOf(name, 8, count)
    return new Float64Array(buffer, byteOffset, count)
  }
  const u8 = (name: SectionName, count?: number) => bytesOf(name, 1, count)
  return {
    junctionCount,
    segmentCount,
    nodeCount,
    arcCount,
    meta: readMeta(u8('meta')),
    firstOut: u32('firstOut', nodeCount + 1),
    head: u32('head', arcCount),
    arcLink: u32('arcLink', arcCount),
    nodeJunction: u32('nodeJunction', nodeCount),
    junctionLngE7: i32('junctionLngE7', junctionCount),
    junctionLatE7: i32('junctionLatE7', junctionCount),
    junctionOsmId: f64('junctionOsmId', junctionCount),
    segmentTail: u32('segmentTail', segmentCount),
    segmentHead: u32('segmentHead', segmentCount),
    segmentLengthMm: u32('segmentLengthMm', segmentCount),
    firstGeometry: u32('firstGeometry', segmentCount + 1),
    geometry: u8('geometry'),
    segmentName: u32('segmentName', segmentCount),
    linkSpeed: u16('linkSpeed', linkCount),
    linkNotes: u32('linkNotes', linkCount),
    linkFlags: u8('linkFlags', linkCount),
    linkStartArc: u32('linkStartArc', linkCount),
    linkFirstArc: u32('linkFirstArc', linkCount + 1),
    linkArcs: u32('linkArcs', arcCount),
    strings: u8('strings'),
    segmentIndex: u8('segmentIndex'),
    junctionIndex: u8('junctionIndex'),
    nodeRank: layout.sections.has(SECTION_KIND.nodeRank) ? u32('nodeRank', nodeCount) : undefined,
    limits: restOf(layout, 'limits', u32),
    turnPrices: restOf(layout, 'turnPrices', u32),
    arcTurn: layout.sections.has(SECTION_KIND.arcTurn) ? u8('arcTurn', arcCount) : undefined,
    conditions: layout.sections.has(SECTION_KIND.conditions) ? u8('conditions') : undefined,
    conditionalLinks: restOf(layout, 'conditionalLinks', u32),
    conditionalArcs: restOf(layout, 'conditionalArcs', u32),
    fileBytes: file.byteLength,
  }
}

/** Reads an optional section of numbers, whose count only the section itself has. */
function restOf(
  { sections }: Layout,
  name: SectionName,
  u32: (name: SectionName, count: number) => Uint32Array,
): Uint32Array | undefined {
  const section = sections.get(SECTION_KIND[name])
  return section === undefined ? undefined : u32(name, Math.floor(section.bytes / 4))
}

/** Reads a section, and checks its position, size and checksum. @throws AppError BAD_MAP_FILE */
function readSection(
  file: GraphBytes,
  section: Section & { readonly name: SectionName; readonly isShared: boolean },
  expectedBytes: number,
  crc32: Crc32,
): Uint8Array<ArrayBufferLike> {
  const { name, offset, bytes, crc, isShared } = section
  // typed arrays ask for aligned offsets; 8 is enough for all of their elements
  const isPlaced = offset % 8 === 0 && offset + bytes <= file.byteLength
  if (!isPlaced || bytes !== expectedBytes) {
    throw badMapFile(
      'damaged',
      `the map file is damaged: section ${name} has ${bytes} bytes at ${offset}, expected ${expectedBytes}`,
    )
  }
  const [buffer, at] = file.read(offset, bytes, isShared)
  const found = new Uint8Array(buffer, at, bytes)
  if (crc32(found) !== crc) {
    throw badMapFile('damaged', `the map file is damaged: the checksum of section ${name} is wrong`)
  }
  return found
}

/** Parses the description of the map, JSON in UTF-8. @throws AppError BAD_MAP_FILE */
function readMeta(bytes: Uint8Array): GraphMeta {
  try {
    // a copy, because TextDecoder refuses views of shared memory
    return JSON.parse(new TextDecoder().decode(bytes.slice())) as GraphMeta
  } catch (cause) {
    throw badMapFile('damaged', 'the map file is damaged: its description is not JSON', cause)
  }
}

/** Reads a u64 as a double. */
function readUint64(view: DataView, at: number): number {
  // exact up to 2^53; a larger value cannot equal the size of a file
  return view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true)
}

function magicBytes(): Uint8Array {
  return Uint8Array.from(GRAPH_MAGIC, (char) => char.charCodeAt(0))
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
}
