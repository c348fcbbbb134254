import type { Graph } from './graph.js'
import { isPaged, isZeroAt, numberAt, type Piece, readPiece } from './paged.js'

const decoder = new TextDecoder()
/** Bytes of the length before a string. */
const LENGTH_BYTES = 4
const NO_BYTES = new Uint8Array(0)
/** Piece of the pool that is read; nothing else is read while it is used. */
const piece: Piece = { bytes: NO_BYTES, at: 0 }

/** Reads a string of the pool; '' for offset 0. */
export function readString(graph: Pick<Graph, 'strings'>, offset: number): string {
  // a copy, because TextDecoder refuses views of shared memory
  return offset === 0 ? '' : decoder.decode(readStringBytes(graph, offset).slice())
}

/** Reads a string of the pool as UTF-8: a view of the pool in memory, a copy of a pool in the file; empty for offset 0. */
export function readStringBytes({ strings }: Pick<Graph, 'strings'>, offset: number): Uint8Array {
  if (offset === 0) return NO_BYTES
  readPiece(strings, offset, offset + LENGTH_BYTES, piece)
  const { bytes, at } = piece
  // u32, little endian, read by bytes: strings are not aligned
  const length = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
  const from = offset + LENGTH_BYTES
  if (!isPaged(strings)) return strings.subarray(from, from + length)
  readPiece(strings, from, from + length, piece)
  return piece.bytes.slice(piece.at, piece.at + length)
}

/** Reads the notes of a link: conditional restrictions and the like, as text. */
export function readNotes(graph: Pick<Graph, 'strings' | 'linkNotes'>, link: number): string[] {
  if (isZeroAt(graph.linkNotes, link)) return []
  const text = readString(graph, numberAt(graph.linkNotes, link))
  return text === '' ? [] : text.split('\u001f')
}
