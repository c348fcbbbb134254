import { closeSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Graph } from '../../routing/graph/graph.js'
import {
  AT,
  CONDITIONAL_VERSION,
  ENTRY_BYTES,
  GRAPH_MAGIC,
  GRAPH_VERSION,
  HEADER_BYTES,
  SECTION_KIND,
  type SectionName,
} from '../../routing/graph/graph-file.js'
import { bytesOfStored } from '../../routing/graph/paged.js'

/** A graph that is not in a file yet: the same arrays, in any buffers. */
export type GraphParts = Omit<Graph, 'fileBytes' | 'closedArcs' | 'changes'>

interface PlacedSection {
  readonly kind: number
  readonly bytes: Uint8Array
  readonly offset: number
}

/** Returns the bytes of a map file. The same parts give the same bytes. */
export function writeGraph(parts: GraphParts): Uint8Array<ArrayBuffer> {
  const { head, sections, fileBytes } = layOut(parts)
  const file = new Uint8Array(fileBytes)
  file.set(head)
  for (const { bytes, offset } of sections) file.set(bytes, offset)
  return file
}

/** Returns the bytes of a map file in shared memory, like a loaded map; for tests and benchmarks. */
export function writeGraphShared(parts: GraphParts): SharedArrayBuffer {
  const { head, sections, fileBytes } = layOut(parts)
  const shared = new SharedArrayBuffer(fileBytes)
  const file = new Uint8Array(shared)
  file.set(head)
  for (const { bytes, offset } of sections) file.set(bytes, offset)
  return shared
}

/**
 * Writes a map file under a temporary name beside it, syncs and renames it, so that the file is complete or
 * absent. It writes section by section, without a second copy of the map in memory.
 *
 * @returns bytes written
 * @throws the error of the file system; the temporary file is removed
 */
export function writeGraphFile(file: string, parts: GraphParts): number {
  const { head, sections, fileBytes } = layOut(parts)
  const temporary = `${file}.${process.pid}.tmp`
  const fd = openSync(temporary, 'w')
  try {
    writeAll(fd, head, 0)
    for (const { bytes, offset } of sections) writeAll(fd, bytes, offset)
    ftruncateSync(fd, fileBytes) // padding is never written: a hole reads as zeros
    fsyncSync(fd)
  } catch (error) {
    closeSync(fd)
    rmSync(temporary, { force: true })
    throw error
  }
  closeSync(fd)
  renameSync(temporary, file)
  syncDirectory(path.dirname(file))
  return fileBytes
}

/** Header with section table, and the offset of each section. */
function layOut(parts: GraphParts): { head: Uint8Array; sections: PlacedSection[]; fileBytes: number } {
  const names = (Object.keys(SECTION_KIND) as SectionName[]).filter((name) => parts[name] !== undefined)
  const headBytes = HEADER_BYTES + names.length * ENTRY_BYTES
  let offset = headBytes
  const sections = names.map((name) => {
    const bytes = bytesOf(parts, name)
    const placed = { kind: SECTION_KIND[name], bytes, offset }
    offset = Math.ceil((offset + bytes.length) / 8) * 8
    return placed
  })
  return { head: writeHead(parts, sections, headBytes, offset), sections, fileBytes: offset }
}

function bytesOf(parts: GraphParts, name: SectionName): Uint8Array {
  if (name === 'meta') return new TextEncoder().encode(JSON.stringify(parts.meta))
  const array = parts[name] ?? NO_BYTES
  if (!ArrayBuffer.isView(array)) return bytesOfStored(array)
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}

const NO_BYTES = new Uint8Array(0)

/** Writes header and section table. The checksum is computed while its own field is 0. */
function writeHead(
  parts: GraphParts,
  sections: readonly PlacedSection[],
  headBytes: number,
  fileBytes: number,
): Uint8Array {
  const head = new Uint8Array(headBytes)
  const view = new DataView(head.buffer)
  for (let i = 0; i < GRAPH_MAGIC.length; i++) head[i] = GRAPH_MAGIC.charCodeAt(i)
  view.setUint32(AT.version, versionOf(parts), true)
  view.setUint32(AT.sections, sections.length, true)
  view.setBigUint64(AT.fileBytes, BigInt(fileBytes), true)
  view.setUint32(AT.junctions, parts.junctionCount, true)
  view.setUint32(AT.segments, parts.segmentCount, true)
  view.setUint32(AT.nodes, parts.nodeCount, true)
  view.setUint32(AT.arcs, parts.arcCount, true)
  for (const [position, { kind, bytes, offset }] of sections.entries()) {
    const at = HEADER_BYTES + position * ENTRY_BYTES
    view.setUint32(at, kind, true)
    view.setUint32(at + 4, crc32(bytes), true)
    view.setBigUint64(at + 8, BigInt(offset), true)
    view.setBigUint64(at + 16, BigInt(bytes.length), true)
  }
  view.setUint32(AT.crc, crc32(head), true)
  return head
}

/** Version of the file: a map in which a closed link has arcs must not be read as one of version 1. */
function versionOf({ linkSpeed, arcLink }: GraphParts): number {
  const isOpen = (link: number) => linkSpeed[link]! > 0
  return arcLink.every(isOpen) ? GRAPH_VERSION : CONDITIONAL_VERSION
}

/** Syncs a directory, so that a new name in it survives a power cut. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r')
  fsyncSync(fd)
  closeSync(fd)
}

/** Writes all bytes. `writeSync` may write less than asked, and refuses more than 2 GiB at once. */
function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  let done = 0
  while (done < bytes.length) {
    const length = Math.min(bytes.length - done, 64 * 1024 * 1024)
    done += writeSync(fd, bytes, done, length, position + done)
  }
}
