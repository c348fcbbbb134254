import type { LineBatch } from './read-lines.js'

/** Limits at which batches are cut. */
export interface SplitLimits {
  /** most lines of a batch */
  batchLines: number
  /** size at which a batch is cut even if it has fewer lines, bytes */
  batchBytes: number
  /** most bytes of a line */
  lineBytes: number
}

/** A batch and its position in the stream; lines count from 1, blank lines included. */
export interface NumberedBatch extends LineBatch {
  firstLine: number
  lastLine: number
}

/** Cuts a stream of bytes into batches of whole lines. */
export interface LineSplitter {
  /**
   * Adds bytes and returns the batches that are full.
   *
   * @throws RangeError when a line is longer than the limit
   */
  push(chunk: Uint8Array): NumberedBatch[]
  /** Returns the whole lines of the batch that is not full; undefined when there are none. */
  flush(): NumberedBatch | undefined
  /** Returns the last batch, with a last line that may have no separator; undefined when it is empty. */
  end(): NumberedBatch | undefined
  /** Returns the bytes that are held: whole lines, and the beginning of the next one. */
  heldBytes(): number
  /** Returns the number of the line that is being read. */
  line(): number
}

const NEWLINE = 0x0a
/** RFC 8142: each record begins with it, so a record ends at the separator of the next one */
const RECORD_SEPARATOR = 0x1e
const BOM = [0xef, 0xbb, 0xbf]

/** Creates a splitter. The first byte that is not a space decides between newlines and RFC 8142. */
export function createLineSplitter(limits: SplitLimits): LineSplitter {
  let separator = 0 // 0 until the first byte that is not a space
  let whole: Uint8Array[] = []
  let wholeBytes = 0
  let wholeLines = 0
  let tail: Uint8Array[] = []
  let tailBytes = 0
  let firstLine = 1

  const take = (): NumberedBatch | undefined => {
    if (wholeLines === 0) return undefined
    const batch: NumberedBatch = {
      bytes: join(whole, wholeBytes),
      separator: separator === RECORD_SEPARATOR ? '\u001e' : '\n',
      firstLine,
      lastLine: firstLine + wholeLines - 1,
    }
    firstLine += wholeLines
    whole = []
    wholeBytes = 0
    wholeLines = 0
    return batch
  }
  // the tail and this part are one line; `whole` holds views, which are copied when a batch is full
  const closeLine = (part: Uint8Array) => {
    checkLength(part.length)
    whole.push(...tail, part)
    wholeBytes += tailBytes + part.length
    wholeLines++
    tail = []
    tailBytes = 0
  }
  const openLine = (part: Uint8Array) => {
    checkLength(part.length)
    if (part.length > 0) tail.push(part)
    tailBytes += part.length
  }
  const checkLength = (moreBytes: number) => {
    if (tailBytes + moreBytes > limits.lineBytes + 1)
      throw new RangeError(`found a line of more than ${limits.lineBytes} bytes`)
  }
  return {
    push(given) {
      const chunk = separator === 0 ? withoutBom(given) : given
      if (separator === 0) {
        separator = separatorOf(chunk)
        if (separator === RECORD_SEPARATOR) firstLine = 0 // text before the first separator is not a record
      }
      const batches: NumberedBatch[] = []
      let start = 0
      for (let end = nextEnd(chunk, separator, 0); end !== -1; end = nextEnd(chunk, separator, start)) {
        closeLine(chunk.subarray(start, end + 1))
        start = end + 1
        const isFull = wholeLines >= limits.batchLines || wholeBytes >= limits.batchBytes
        if (isFull) batches.push(take() as NumberedBatch)
      }
      openLine(chunk.subarray(start))
      return batches
    },
    flush: take,
    end() {
      if (tailBytes > 0) closeLine(new Uint8Array(0))
      return take()
    },
    heldBytes: () => wholeBytes + tailBytes,
    line: () => firstLine + wholeLines,
  }
}

/** Returns the separator by the first byte that is not a space; 0 when there is none. */
function separatorOf(chunk: Uint8Array): number {
  const first = chunk.find((byte) => byte > 0x20 || byte === RECORD_SEPARATOR)
  if (first === undefined) return 0
  return first === RECORD_SEPARATOR ? RECORD_SEPARATOR : NEWLINE
}

function nextEnd(chunk: Uint8Array, separator: number, from: number): number {
  return chunk.indexOf(separator === 0 ? NEWLINE : separator, from)
}

function withoutBom(chunk: Uint8Array): Uint8Array {
  return BOM.every((byte, at) => chunk[at] === byte) ? chunk.subarray(BOM.length) : chunk
}

/** Copies parts into a new buffer, which can be transferred to another thread. */
function join(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
