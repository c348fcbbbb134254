import { hkdfSync } from 'node:crypto'

/*
 * File of bundles, version 1:
 *
 *     "FGBUNDL1"                          8 bytes
 *     number of envelopes                 u32, big endian, 1 to 1,000
 *     length of each envelope             u64 each
 *     envelopes
 *
 * Envelope, encrypted for one node:
 *
 *     ephemeral X25519 key                32 bytes, new for each envelope
 *     mark                                16 bytes, by which the receiver knows that it is the receiver
 *     chunks                              AES-256-GCM: at most 64 KiB of text and a tag of 16 bytes each
 *
 * Key and mark come from the secret of the ephemeral key and the receiver's key by HKDF-SHA-256, with the first 8 bytes of
 * the file as salt, and both public keys as info. The nonce is the number of the chunk and a byte that is 1 for the last one.
 * All chunks but the last are full, and none is empty. The text ends with an Ed25519 signature of the sender over the
 * SHA-256 of the text before it and both public keys, so that it holds for this envelope alone.
 */

/** First bytes of a file. */
export const MAGIC = Buffer.from('FGBUNDL1', 'ascii')
/** Size of the beginning of a file, without the lengths of its envelopes. */
export const HEAD_BYTES = MAGIC.length + 4
export const LENGTH_BYTES = 8
export const MAX_ENVELOPES = 1000
/** Size of the text of a chunk. */
export const CHUNK_BYTES = 64 * 1024
export const TAG_BYTES = 16
export const MARK_BYTES = 16
/** Size of the beginning of an envelope. */
export const ENVELOPE_HEAD_BYTES = 32 + MARK_BYTES
export const CIPHER = 'aes-256-gcm'
/** Purpose of the signature. */
export const PURPOSE = 'bundle 1'

/** Key of the chunks, and the mark of the receiver. */
export interface EnvelopeSecrets {
  readonly key: Buffer
  readonly mark: Buffer
}

/** Derives the secrets of an envelope. @param shared secret of the ephemeral key and the receiver's */
export function deriveSecrets(
  shared: Uint8Array,
  ephemeralKey: Uint8Array,
  receiverKey: Uint8Array,
): EnvelopeSecrets {
  const info = Buffer.concat([Buffer.from('fieldgate bundle\0', 'ascii'), ephemeralKey, receiverKey])
  const bytes = Buffer.from(hkdfSync('sha256', shared, MAGIC, info, 32 + MARK_BYTES))
  return { key: bytes.subarray(0, 32), mark: bytes.subarray(32) }
}

/** Returns the nonce of a chunk, 12 bytes: no two chunks of one key have the same. */
export function nonceOf(chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(BigInt(chunk), 3)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Returns the bytes that the sender signs. @param digest SHA-256 of the text before the signature */
export function signedBytes(digest: Uint8Array, ephemeralKey: Uint8Array, receiverKey: Uint8Array): Buffer {
  return Buffer.concat([digest, ephemeralKey, receiverKey])
}
