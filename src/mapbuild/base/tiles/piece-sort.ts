import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import FlatQueue from 'flatqueue'
import { type Piece, packPiece, readPiece } from './piece.js'

/** Memory of pieces that are not on disk yet. */
const ARENA_BYTES = 48 * 1024 * 1024
/** Piece of a run that is read at once. */
const READ_BYTES = 256 * 1024
/** Length and tile before each piece in a run. */
const HEAD_BYTES = 12

/** Pieces by tile, however many there are. */
export interface PieceSort {
  add(piece: Piece): void
  /** Yields the pieces by tile, then in the order in which they were added. */
  sorted(): Generator<Piece>
  /** Removes the files. */
  close(): void
}

/** Pieces of one run, ascending. */
interface Run {
  readonly fd: number
  readonly file: string
  sizeBytes: number
}

/**
 * Creates an external merge sort: pieces are kept in memory up to a limit, then written to a file as a sorted
 * run; at the end the runs are merged. Small extracts write no file.
 *
 * @param stem path and beginning of the names of the files
 */
export function createPieceSort(stem: string, arenaBytes = ARENA_BYTES): PieceSort {
  let held: { tile: number; bytes: Uint8Array }[] = []
  let heldBytes = 0
  const runs: Run[] = []
  const spill = () => {
    const file = `${stem}.run${runs.length}`
    const run: Run = { fd: openSync(file, 'wx+', 0o600), file, sizeBytes: 0 }
    runs.push(run)
    writeRun(run, sortHeld(held))
    held = []
    heldBytes = 0
  }
  return {
    add(piece) {
      const bytes = packPiece(piece)
      held.push({ tile: piece.tile, bytes })
      // an entry of the list takes about as much as a small piece
      heldBytes += bytes.length + 100
      if (heldBytes >= arenaBytes) spill()
    },
    *sorted() {
      if (runs.length === 0) {
        for (const { tile, bytes } of sortHeld(held)) yield readPiece(tile, bytes)
        return
      }
      spill()
      yield* mergeRuns(runs)
    },
    close() {
      for (const { fd, file } of runs.splice(0)) {
        closeSync(fd)
        rmSync(file, { force: true })
      }
    },
  }
}

/** Sorts by tile; the sort is stable, so pieces of a tile keep their order. */
function sortHeld<T extends { tile: number }>(held: T[]): T[] {
  return held.sort((a, b) => a.tile - b.tile)
}

function writeRun(run: Run, pieces: readonly { tile: number; bytes: Uint8Array }[]): void {
  let chunk: Uint8Array[] = []
  let chunkBytes = 0
  const flush = () => {
    const joined = Buffer.concat(chunk)
    for (let done = 0; done < joined.length; ) done += writeSync(run.fd, joined, done)
    run.sizeBytes += joined.length
    chunk = []
    chunkBytes = 0
  }
  for (const { tile, bytes } of pieces) {
    const head = new Uint8Array(HEAD_BYTES)
    const view = new DataView(head.buffer)
    view.setUint32(0, bytes.length)
    view.setFloat64(4, tile)
    chunk.push(head, bytes)
    chunkBytes += HEAD_BYTES + bytes.length
    if (chunkBytes >= READ_BYTES) flush()
  }
  flush()
}

/** Merges runs. Of equal tiles the earlier run comes first, which keeps the order of adding. */
function* mergeRuns(runs: readonly Run[]): Generator<Piece> {
  const readers = runs.map(readRun)
  const heads = readers.map((reader) => reader.next().value)
  const queue = new FlatQueue<number>()
  const order = (head: Piece, index: number) => head.tile * runs.length + index
  for (const [index, head] of heads.entries()) if (head !== undefined) queue.push(index, order(head, index))
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    yield heads[index]!
    const next = readers[index]!.next().value
    heads[index] = next
    if (next !== undefined) queue.push(index, order(next, index))
  }
}

function* readRun({ fd, sizeBytes }: Run): Generator<Piece, undefined> {
  let buffer = new Uint8Array(READ_BYTES)
  let filled = 0
  let at = 0
  let read = 0
  const need = (bytes: number) => {
    if (filled - at >= bytes) return
    const rest = buffer.subarray(at, filled)
    const next = bytes > buffer.length ? new Uint8Array(bytes) : buffer
    next.set(rest)
    filled = rest.length
    at = 0
    buffer = next
    while (filled < bytes) {
      const got = readSync(fd, buffer, filled, buffer.length - filled, read)
      if (got === 0) throw new Error('a temporary file of the build became shorter')
      filled += got
      read += got
    }
  }
  let done = 0
  while (done < sizeBytes) {
    need(HEAD_BYTES)
    const view = new DataView(buffer.buffer, at, HEAD_BYTES)
    const length = view.getUint32(0)
    const tile = view.getFloat64(4)
    at += HEAD_BYTES
    need(length)
    yield readPiece(tile, buffer.subarray(at, at + length))
    at += length
    done += HEAD_BYTES + length
  }
  return undefined
}
