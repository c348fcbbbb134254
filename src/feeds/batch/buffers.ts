/*
 * Memory of batches, used again by the next one. A buffer for each batch would live as long as the batch is on its way, become an
 * old object of V8, and be freed late: of a million rows tens of megabytes at a time.
 */

/** Most bytes that are kept while no batch needs them. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024
const LEAST_BYTES = 4096

const kept: Buffer[] = []
let keptBytes = 0

/** Takes a buffer of at least so many bytes, with any content. */
export function takeBuffer(bytes: number): Buffer {
  const at = kept.findIndex((buffer) => buffer.byteLength >= bytes)
  const [found] = at === -1 ? [] : kept.splice(at, 1)
  if (found === undefined)
    return Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(Math.max(bytes, LEAST_BYTES))))
  keptBytes -= found.byteLength
  return found
}

/** Gives a buffer back, which its user does not touch from now on. */
export function giveBack(buffer: Buffer): void {
  if (keptBytes + buffer.byteLength > MAX_KEPT_BYTES) return
  keptBytes += buffer.byteLength
  kept.push(buffer)
  kept.sort((a, b) => a.byteLength - b.byteLength) // the smallest that fits is taken
}

/** Text that grows, in a buffer that is used again. */
export interface GrowingText {
  /** UTF-8 */
  bytes(): Uint8Array
  add(text: string): void
  release(): void
}

/** Most bytes of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES = 3
/** Characters of a text whose bytes are counted before room is made for them. */
const LONG_CHARS = 16 * 1024

/** Creates an empty text. */
export function createGrowingText(): GrowingText {
  let buffer: Buffer | undefined
  let end = 0
  return {
    bytes: () => (buffer === undefined ? new Uint8Array() : buffer.subarray(0, end)),
    add(text) {
      const bytes = text.length > LONG_CHARS ? Buffer.byteLength(text) : text.length * UNIT_BYTES
      const needed = end + bytes
      if (buffer === undefined || buffer.byteLength < needed) {
        const larger = takeBuffer(Math.max(needed, end * 2))
        if (buffer !== undefined) {
          buffer.copy(larger, 0, 0, end)
          giveBack(buffer)
        }
        buffer = larger
      }
      end += buffer.write(text, end)
    },
    release() {
      if (buffer !== undefined) giveBack(buffer)
      buffer = undefined
      end = 0
    },
  }
}
