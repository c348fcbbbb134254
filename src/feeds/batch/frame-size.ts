import { MAX_BATCH_BYTES } from './format.js'

/** Bytes of the dictionary's id by the two bits that tell its form. */
const DICTIONARY_BYTES = [0, 1, 2, 4]
/** Bytes of the content's size by the two bits that tell its form. */
const SIZE_BYTES = [0, 2, 4, 8]

/**
 * Returns the size of a batch's text as its zstd frame tells it; the largest that is allowed when the frame does
 * not tell, or tells more. Decoding refuses what is longer.
 *
 * @see RFC 8878 section 3.1.1.1
 */
export function textBytesOf(body: Uint8Array): number {
  const view = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const head = view[4] ?? 0
  const isSingle = (head & 0x20) !== 0
  const form = head >> 6
  const sizeBytes = form === 0 && isSingle ? 1 : (SIZE_BYTES[form] ?? 0)
  const at = 5 + (isSingle ? 0 : 1) + (DICTIONARY_BYTES[head & 3] ?? 0)
  if (sizeBytes === 0 || view.byteLength < at + sizeBytes) return MAX_BATCH_BYTES
  const size =
    sizeBytes === 8
      ? Number(view.readBigUInt64LE(at))
      : view.readUIntLE(at, sizeBytes) + (sizeBytes === 2 ? 256 : 0)
  return Math.min(size, MAX_BATCH_BYTES)
}
