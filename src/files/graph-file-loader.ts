import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { AppError } from '../errors.js'
import type { Graph } from '../routing/graph/graph.js'
import { readGraph } from '../routing/graph/graph-file.js'

/**
 * Size of one read: large enough that the calls cost nothing, small enough to keep other file operations
 * waiting briefly.
 */
const CHUNK_BYTES = 8 * 1024 * 1024

/**
 * Reads a map file into memory and opens it. Blocks the thread: 10 ms for a city, about 0.3 s for 200
 * MB.
 *
 * @param maxBytes `routing.maxMapBytes`; a larger file is refused before it is read
 * @throws AppError BAD_MAP_FILE, or errors of the file system
 */
export function loadGraphFile(file: string, maxBytes = Number.POSITIVE_INFINITY): Graph {
  return readGraph(readWhole(file, maxBytes), crc32)
}

/** Not into shared memory: V8 does not count that, and would keep a map that was dropped for long. */
function readWhole(file: string, maxBytes: number): ArrayBuffer {
  const fd = openSync(file, 'r')
  try {
    const sizeBytes = fstatSync(fd).size
    if (sizeBytes > maxBytes) {
      throw new AppError(
        'BAD_MAP_FILE',
        { reason: 'size', sizeBytes, maxBytes },
        { message: `the map file has ${sizeBytes} bytes, routing.maxMapBytes allows ${maxBytes}` },
      )
    }
    const buffer = new ArrayBuffer(sizeBytes)
    const bytes = new Uint8Array(buffer)
    for (let at = 0; at < sizeBytes; ) {
      const read = readSync(fd, bytes, at, Math.min(CHUNK_BYTES, sizeBytes - at), at)
      if (read === 0) throw new Error(`${file} became shorter while it was read`)
      at += read
    }
    return buffer
  } finally {
    closeSync(fd)
  }
}
