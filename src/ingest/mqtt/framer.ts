import type { Frame } from './decode.js'
import { TYPE } from './packets.js'

/** Cuts a stream of bytes into frames. */
export interface Framer {
  /**
   * Takes the next bytes of the stream.
   *
   * @param onFrame called for each frame that has ended
   * @throws Error that says what breaks the protocol
   */
  push(chunk: Buffer, onFrame: (frame: Frame) => void): void
}

/** Bytes at the start of a message that hold its topic, and its packet id. */
const HEAD_BYTES = 2 + 65_535 + 2
/** Bytes after them that are kept of a message above the limit: its properties, and a sample of the payload. */
const SAMPLE_BYTES = 4096

/**
 * Creates a framer. A message above the limit is not held in memory: its frame has the first bytes only, and the rest
 * is dropped as it comes.
 *
 * @param maxBytes largest body of a packet that is held
 */
export function createFramer(maxBytes: number): Framer {
  let rest: Buffer = Buffer.alloc(0)
  /** a message above the limit: its frame, and the bytes that still come */
  let skipping: { frame: Frame; left: number } | undefined
  const take = (onFrame: (frame: Frame) => void): boolean => {
    const length = readLength(rest)
    if (length === undefined) return false
    const head = rest[0] as number
    const { bodyBytes, headerBytes } = length
    const isHeld = bodyBytes <= Math.max(maxBytes, HEAD_BYTES + SAMPLE_BYTES)
    if (!isHeld && head >> 4 !== TYPE.publish)
      throw new Error(`found a packet of ${bodyBytes} bytes that is no message`)
    const keptBytes = isHeld ? bodyBytes : HEAD_BYTES + SAMPLE_BYTES
    const end = headerBytes + keptBytes
    if (rest.length < end) return false
    const body = rest.subarray(headerBytes, end)
    rest = rest.subarray(end)
    if (isHeld) onFrame({ head, body, bodyBytes })
    else skipping = { frame: { head, body: Buffer.from(body), bodyBytes }, left: bodyBytes - keptBytes }
    return true
  }
  const skip = (onFrame: (frame: Frame) => void): boolean => {
    if (skipping === undefined) return true
    const dropped = Math.min(skipping.left, rest.length)
    rest = rest.subarray(dropped)
    skipping.left -= dropped
    if (skipping.left > 0) return false
    const { frame } = skipping
    skipping = undefined
    onFrame(frame)
    return true
  }
  return {
    push(chunk, onFrame) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      while (skip(onFrame) && take(onFrame));
      if (rest.length === 0) rest = Buffer.alloc(0) // releases the chunk
    },
  }
}

/** Reads the fixed header. @returns undefined while its bytes are not all there */
function readLength(bytes: Buffer): { bodyBytes: number; headerBytes: number } | undefined {
  let bodyBytes = 0
  for (let at = 1; at <= 4; at++) {
    const byte = bytes[at]
    if (byte === undefined) return undefined
    bodyBytes += (byte & 0x7f) * 128 ** (at - 1)
    if (byte < 0x80) return { bodyBytes, headerBytes: at + 1 }
  }
  throw new Error('found a packet length of more than 4 bytes')
}
