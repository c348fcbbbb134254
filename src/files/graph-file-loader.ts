import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { AppError, messageOf } from '../errors.js'
import type { Graph } from '../routing/graph/graph.js'
import { type GraphBytes, openGraph } from '../routing/graph/graph-file.js'
import { CACHE_BYTES, createPages, isPaged } from '../routing/graph/paged.js'
import { type RoadLines, receiveLines, type SentLines } from '../routing/graph/road-lines.js'
import { sharedBuffer } from '../routing/graph/shared-memory.js'

/**
 * Size of one read: large enough that the calls cost nothing, small enough to keep other file operations
 * waiting briefly.
 */
const CHUNK_BYTES = 8 * 1024 * 1024

/**
 * Opens a map file: checks all of it, and keeps in memory what searches run on. Geometry, names, notes and some
 * indexes are read again when an answer needs them. The file stays open as long as the graph is in use, so it may
 * be replaced meanwhile; where it is written in place or cut short, answers that need that place fail with UNKNOWN_MAP.
 * A small map stays in memory as a whole, and its file is closed.
 *
 * Blocks the thread: 10 ms for a city, about 0.3 s for 200 MB.
 *
 * @param maxBytes `routing.maxMapBytes`; a larger file is refused before it is read
 * @param cacheBytes most memory of what is read again; a map that has no more of it stays in memory
 * @throws AppError BAD_MAP_FILE, or errors of the file system
 */
export function loadGraphFile(
  file: string,
  maxBytes = Number.POSITIVE_INFINITY,
  cacheBytes = CACHE_BYTES,
): Graph {
  const fd = openSync(file, 'r')
  let isKept = false
  try {
    const graph = openFrom(fd, file, { maxBytes, cacheBytes })
    isKept = isPaged(graph.geometry)
    return graph
  } finally {
    if (!isKept) closeSync(fd)
  }
}

function openFrom(
  fd: number,
  file: string,
  { maxBytes, cacheBytes }: { maxBytes: number; cacheBytes: number },
): Graph {
  const sizeBytes = fstatSync(fd).size
  if (sizeBytes > maxBytes) {
    throw new AppError(
      'BAD_MAP_FILE',
      { reason: 'size', sizeBytes, maxBytes },
      { message: `the map file has ${sizeBytes} bytes, routing.maxMapBytes allows ${maxBytes}` },
    )
  }
  const buffers: ArrayBuffer[] = []
  const paging = pagingOf(fd, file)
  const graph = openGraph(
    {
      byteLength: sizeBytes,
      read(offset, bytes, isShared) {
        const buffer = isShared === true ? sharedBuffer(bytes) : new ArrayBuffer(bytes)
        readAll(fd, file, offset, new Uint8Array(buffer))
        if (buffer instanceof ArrayBuffer) buffers.push(buffer)
        return [buffer, 0]
      },
      paging: { ...paging, cacheBytes },
    },
    crc32,
  )
  // the sections that are read by pages: given back at once, not when V8 collects its next garbage
  const kept = new Set<unknown>(
    Object.values(graph).map((value) => ArrayBuffer.isView(value) && value.buffer),
  )
  for (const buffer of buffers) if (!kept.has(buffer)) buffer.transfer(0)
  // the pages of the graph hold this function, and nothing else does
  if (isPaged(graph.geometry)) files.register(paging.read, fd)
  return graph
}

/** Memory for the pages of lines that another thread reads, which goes through its part of the map once. */
const LINES_CACHE_BYTES = 4 * 1024 * 1024

/** Opens lines of roads in another thread than that of their graph, which keeps the file open. */
export function openLines(sent: SentLines): RoadLines {
  return receiveLines(sent, (fd) => {
    const paging = pagingOf(fd, 'a map that another thread has opened')
    return createPages({ ...paging, crc32 }, LINES_CACHE_BYTES)
  })
}

/** Closes the files of graphs that are no longer used: a search may outlast its map's replacement. */
const files = new FinalizationRegistry<number>(closeSync)

/** Reads pages of a file, which are errors of its map when they cannot be read. */
function pagingOf(fd: number, file: string): Omit<NonNullable<GraphBytes['paging']>, 'cacheBytes'> {
  // answers to callers do not name folders
  const name = path.basename(file)
  const map = name.replace(/\.graph$/, '')
  const fault = (what: string, cause?: unknown) =>
    new AppError(
      'UNKNOWN_MAP',
      { map },
      { message: `The map ${JSON.stringify(map)} cannot be read any more: ${what}`, cause },
    )
  return {
    fd,
    read(offset, into) {
      try {
        readAll(fd, name, offset, into)
      } catch (error) {
        throw fault(messageOf(error), error)
      }
    },
    changed: (offset) =>
      fault(`${name} was changed while it was open, at byte ${offset}; replace maps by renaming a new file`),
  }
}

/** Fills an array from a place in a file. @throws Error for a file that has become shorter */
function readAll(fd: number, file: string, offset: number, into: Uint8Array): void {
  for (let at = 0; at < into.length; ) {
    const read = readSync(fd, into, at, Math.min(CHUNK_BYTES, into.length - at), offset + at)
    if (read === 0)
      throw new Error(
        `${file} became shorter while it was open: found ${fstatSync(fd).size} bytes, expected at least ${offset + into.length}`,
      )
    at += read
  }
}
