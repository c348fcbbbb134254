import type { Frame } from './decode.js'
import { TYPE } from './packets.js'

/** Cuts a stream of bytes into frames. */
export interface Framer {
  /**
   * Takes the next bytes of the stream.
   *
   * @param chunk empty to go on with bytes that are held
   * @param onFrame called for each frame that has ended
   * @param isOpen asked before each frame; while it is false, the rest is held as bytes: hundreds of messages come in
   *   one chunk, and their objects would take many times its memory
   * @throws Error that says what breaks the protocol
   */
  push(chunk: Buffer, onFrame: (frame: Frame) => void, isOpen: () => boolean): void
}

/** Bytes at the start of a message that hold its topic, and its packet id. */
const HEAD_BYTES = 2 + 65_535 + 2
/** Bytes after them that are kept of a message above the limit: its properties, and a sample of the payload. */
const SAMPLE_BYTES = 4096
/** Memory for bytes that wait: a chunk of a socket has at most as many. */
const HELD_BYTES = 64 * 1024

/**
 * Creates a framer. A message above the limit is not held in memory: its frame has the first bytes only, and the rest
 * is dropped as it comes.
 *
 * Chunks are copied into memory that is used again, and so are frames a part of it: the pool of `Buffer` is made of blocks
 * that become old objects, which V8 frees late.
 *
 * @param maxBytes largest body of a packet that is held
 */
export function createFramer(maxBytes: number): Framer {
  const bytes = createBytes()
  /** a message above the limit: its frame, and the bytes that still come */
  let skipping: { frame: Frame; left: number } | undefined
  const take = (onFrame: (frame: Frame) => void): boolean => {
    const length = readLength(bytes)
    if (length === undefined) return false
    const head = bytes.at(0) as number // before its length
    const { bodyBytes, headerBytes } = length
    const isHeld = bodyBytes <= Math.max(maxBytes, HEAD_BYTES + SAMPLE_BYTES)
    if (!isHeld && head >> 4 !== TYPE.publish)
      throw new Error(`found a packet of ${bodyBytes} bytes that is no message`)
    const keptBytes = isHeld ? bodyBytes : HEAD_BYTES + SAMPLE_BYTES
    if (bytes.count() < headerBytes + keptBytes) return false
    bytes.drop(headerBytes)
    const frame = { head, body: bytes.take(keptBytes), bodyBytes }
    if (isHeld) onFrame(frame)
    else skipping = { frame: { ...frame, body: Buffer.from(frame.body) }, left: bodyBytes - keptBytes }
    return true
  }
  const skip = (onFrame: (frame: Frame) => void): boolean => {
    if (skipping === undefined) return true
    const dropped = Math.min(skipping.left, bytes.count())
    bytes.drop(dropped)
    skipping.left -= dropped
    if (skipping.left > 0) return false
    const { frame } = skipping
    skipping = undefined
    onFrame(frame)
    return true
  }
  return {
    push(chunk, onFrame, isOpen) {
      bytes.add(chunk)
      while (isOpen() && skip(onFrame) && take(onFrame));
    },
  }
}

/** Bytes that wait, in memory that is used again. */
interface Bytes {
  add(chunk: Uint8Array): void
  count(): number
  /** @returns a byte, counted from the first that waits; undefined past the last */
  at(index: number): number | undefined
  drop(count: number): void
  /** Returns the first ones, which are valid until `add`, and drops them. */
  take(count: number): Buffer
}

function createBytes(): Bytes {
  let memory = Buffer.allocUnsafeSlow(HELD_BYTES)
  let start = 0
  let end = 0
  const makeRoom = (count: number) => {
    const waiting = end - start
    const isSmall = waiting + count <= HELD_BYTES
    const old = memory
    if (waiting + count > memory.length) memory = Buffer.allocUnsafeSlow(2 * (waiting + count))
    else if (isSmall && memory.length > HELD_BYTES) memory = Buffer.allocUnsafeSlow(HELD_BYTES)
    else if (end + count <= memory.length) return
    old.copy(memory, 0, start, end)
    start = 0
    end = waiting
  }
  const drop = (count: number) => {
    start += count
  }
  return {
    add(chunk) {
      makeRoom(chunk.length)
      memory.set(chunk, end)
      end += chunk.length
    },
    count: () => end - start,
    at: (index) => (start + index < end ? memory[start + index] : undefined),
    drop,
    take(count) {
      const taken = memory.subarray(start, start + count)
      drop(count)
      return taken
    },
  }
}

/** Reads the fixed header. @returns undefined while its bytes are not all there */
function readLength(bytes: Bytes): { bodyBytes: number; headerBytes: number } | undefined {
  let bodyBytes = 0
  for (let at = 1; at <= 4; at++) {
    const byte = bytes.at(at)
    if (byte === undefined) return undefined
    bodyBytes += (byte & 0x7f) * 128 ** (at - 1)
    if (byte < 0x80) return { bodyBytes, headerBytes: at + 1 }
  }
  throw new Error('found a packet length of more than 4 bytes')
}
