import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import {
  AT,
  CONDITIONAL_VERSION,
  ENTRY_BYTES,
  GRAPH_MAGIC,
  GRAPH_VERSION,
  HEADER_BYTES,
} from '../routing/graph/graph-file.js'

const CHUNK_BYTES = 1024 * 1024
/** Most sections of a map file, as in `readGraph`. */
const MAX_SECTIONS = 1024

/**
 * Compares the checksums of a map file in 1 MiB of memory, so that it can run beside a gateway with the same
 * map. It does not check the meaning of the numbers; `map check` does.
 *
 * @returns the fault, or null for a sound file
 * @throws errors of the file system
 */
export function checkGraphFile(file: string): string | null {
  const fd = openSync(file, 'r')
  try {
    const sizeBytes = fstatSync(fd).size
    if (sizeBytes < HEADER_BYTES)
      return `is cut short: found ${sizeBytes} bytes, expected a header of ${HEADER_BYTES}`
    const header = readAt(fd, 0, HEADER_BYTES)
    if (header.toString('latin1', 0, GRAPH_MAGIC.length) !== GRAPH_MAGIC) return 'is not a map file'
    const version = header.readUInt32LE(AT.version)
    if (version < GRAPH_VERSION || version > CONDITIONAL_VERSION)
      return `has the version ${version}, this program reads ${GRAPH_VERSION} and ${CONDITIONAL_VERSION}: build the map again`
    const expected = Number(header.readBigUInt64LE(AT.fileBytes))
    if (sizeBytes !== expected) return `has ${sizeBytes} bytes, its header says ${expected}`
    const count = header.readUInt32LE(AT.sections)
    const tableEnd = HEADER_BYTES + count * ENTRY_BYTES
    if (count > MAX_SECTIONS || tableEnd > sizeBytes)
      return `has a damaged header: it names ${count} sections`
    return checkSections(fd, readAt(fd, 0, tableEnd), sizeBytes)
  } finally {
    closeSync(fd)
  }
}

function checkSections(fd: number, head: Buffer, sizeBytes: number): string | null {
  const known = head.readUInt32LE(AT.crc)
  head.fill(0, AT.crc, AT.crc + 4)
  if (crc32(head) !== known) return 'has a header with a wrong checksum'
  for (let at = HEADER_BYTES; at < head.length; at += ENTRY_BYTES) {
    const offset = Number(head.readBigUInt64LE(at + 8))
    const bytes = Number(head.readBigUInt64LE(at + 16))
    const name = `section ${head.readUInt32LE(at)}`
    if (offset + bytes > sizeBytes) return `is damaged: ${name} ends beyond the file`
    if (crcOf(fd, offset, bytes) !== head.readUInt32LE(at + 4))
      return `is damaged: ${name} has a wrong checksum`
  }
  return null
}

function crcOf(fd: number, offset: number, bytes: number): number {
  let crc = 0
  for (let done = 0; done < bytes; done += CHUNK_BYTES)
    crc = crc32(readAt(fd, offset + done, Math.min(CHUNK_BYTES, bytes - done)), crc)
  return crc
}

function readAt(fd: number, offset: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  for (let at = 0; at < bytes; ) {
    const read = readSync(fd, buffer, at, bytes - at, offset + at)
    if (read === 0) throw new Error('the file became shorter while it was read')
    at += read
  }
  return buffer
}
