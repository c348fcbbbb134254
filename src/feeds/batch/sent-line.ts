import { MAX_BATCH_ROWS } from './format.js'
import { badBatch, commaFault, depthFault, readLine, VALUES } from './lines.js'

/** Values of a column, one per row. */
export interface SentLine {
  readonly length: number
  /** Returns the values of some rows. */
  slice(from: number, to: number): readonly unknown[]
}

/** Values that are parsed together. */
export const PIECE_VALUES = 128

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [OPEN, CLOSE] = [0x5b, 0x5d]
/** Levels by which each byte leads into an array or object, or out of it. */
const STEP = new Int8Array(256)
for (const byte of Buffer.from('[{')) STEP[byte] = 1
for (const byte of Buffer.from(']}')) STEP[byte] = -1

/**
 * Opens a line of values. It is checked as a whole, and parsed again where it is read: so few values at a time that they
 * die young.
 *
 * @param bytes UTF-8 text; the line reads it later
 * @param number of the line, from 1
 * @throws AppError BAD_BATCH
 */
export function openLine(bytes: Buffer, from: number, to: number, number: number): SentLine {
  const ends = endsOfPieces(bytes, from, to, number)
  // no plain array: parsed as a whole it may be one, with spaces around it
  if (ends === undefined) return readLine(bytes.toString('utf8', from, to), number, 'values')
  const readPiece = (piece: number): readonly unknown[] => {
    const start = piece === 0 ? from + 1 : (ends[piece - 1] as number) + 1
    return JSON.parse(`[${bytes.toString('utf8', start, ends[piece])}]`)
  }
  const length = checkPieces(ends.length, readPiece, number)
  return {
    length,
    slice(first, end) {
      const values: unknown[] = []
      const last = Math.min(end, length)
      for (let at = first; at < last; ) {
        const piece = Math.floor(at / PIECE_VALUES)
        const start = piece * PIECE_VALUES
        const part = readPiece(piece).slice(at - start, last - start)
        if (first === start && part.length === last - first) return part
        values.push(...part)
        at += part.length
      }
      return values
    },
  }
}

/** Parses all pieces, and counts their values. @throws AppError BAD_BATCH */
function checkPieces(
  pieces: number,
  readPiece: (piece: number) => readonly unknown[],
  number: number,
): number {
  let length = 0
  for (let piece = 0; piece < pieces; piece++) {
    const found = countOf(readPiece, piece)
    const isLast = piece === pieces - 1
    // nothing behind a comma is no value
    if (found === undefined || (isLast ? piece > 0 && found === 0 : found !== PIECE_VALUES))
      throw badBatch(`line ${number}: found no JSON`)
    length += found
  }
  return length
}

function countOf(readPiece: (piece: number) => readonly unknown[], piece: number): number | undefined {
  try {
    return readPiece(piece).length
  } catch {
    return undefined // what a peer sent is no fault of this gateway
  }
}

/**
 * Finds the ends of the pieces of a line: each comma behind `PIECE_VALUES` values, and the bracket at its end.
 *
 * @returns undefined for a line that is no plain array from its first byte to its last
 * @throws AppError BAD_BATCH for more values, or arrays within each other, than allowed
 */
function endsOfPieces(bytes: Buffer, from: number, to: number, number: number): number[] | undefined {
  const ends: number[] = []
  let level = 0
  let commas = 0
  let closedAt = to
  for (let at = from; at < to; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) at = endOfString(bytes, at, to)
    else if (byte === COMMA) {
      commas++
      if (commas % PIECE_VALUES === 0) ends.push(at)
    } else level += STEP[byte] as number
    if (level > VALUES.depth) throw badBatch(`line ${number}: ${depthFault(VALUES)}`)
    if (commas > MAX_BATCH_ROWS) throw badBatch(`line ${number}: ${commaFault(VALUES)}`)
    if (level <= 0) closedAt = Math.min(closedAt, at)
  }
  const isArray = bytes[from] === OPEN && closedAt === to - 1 && bytes[closedAt] === CLOSE
  return isArray ? [...ends, closedAt] : undefined
}

/** Returns the position of the quote that ends a string, or the end of the line. */
function endOfString(bytes: Buffer, start: number, to: number): number {
  for (let at = start + 1; at < to; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return to
}
