import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { isSigned, KEY_BYTES, type NodeKeys, SIGNATURE_BYTES } from '../../node-keys/keys.js'
import {
  CHUNK_BYTES,
  CIPHER,
  deriveSecrets,
  ENVELOPE_HEAD_BYTES,
  HEAD_BYTES,
  LENGTH_BYTES,
  MAGIC,
  MAX_ENVELOPES,
  nonceOf,
  PURPOSE,
  signedBytes,
  TAG_BYTES,
} from './format.js'

/** Place of an envelope in a file. */
export interface EnvelopeSpan {
  readonly start: number
  readonly bytes: number
}

/** An envelope for this node. */
export interface Envelope {
  /** Reads the text again from its beginning. Each piece is authentic; whether it is signed, `verify` says. */
  text(): AsyncGenerator<Buffer>
  /** Returns whether a node signed the text. @param digest SHA-256 of the whole text */
  isSignedBy(signingKey: Uint8Array, digest: Uint8Array): boolean
}

/**
 * Reads where the envelopes of a file are.
 *
 * @throws Error for another file, or one that was torn
 */
export async function findEnvelopes(file: FileHandle): Promise<EnvelopeSpan[]> {
  const { size } = await file.stat()
  const head = await readAt(file, 0, HEAD_BYTES, size)
  if (!head.subarray(0, MAGIC.length).equals(MAGIC))
    throw bad('found other bytes at its beginning, expected a file that `fieldgate bundle write` wrote')
  const count = head.readUInt32BE(MAGIC.length)
  if (count < 1 || count > MAX_ENVELOPES)
    throw bad(`found ${count} envelopes, expected 1 to ${MAX_ENVELOPES}`)
  const lengths = await readAt(file, HEAD_BYTES, count * LENGTH_BYTES, size)
  const spans: EnvelopeSpan[] = []
  let start = HEAD_BYTES + count * LENGTH_BYTES
  for (let at = 0; at < count; at++) {
    const bytes = Number(lengths.readBigUInt64BE(at * LENGTH_BYTES))
    spans.push({ start, bytes })
    start += bytes
  }
  if (start !== size)
    throw bad(
      `found ${size} bytes, expected ${start}: ${size < start ? 'it was torn' : 'it goes on after its end'}`,
    )
  return spans
}

/**
 * Opens an envelope.
 *
 * @returns undefined for one that is for another node
 * @throws Error
 */
export async function openEnvelope(
  file: FileHandle,
  span: EnvelopeSpan,
  { identity, agree }: NodeKeys,
): Promise<Envelope | undefined> {
  const end = span.start + span.bytes
  const head = await readAt(file, span.start, ENVELOPE_HEAD_BYTES, end)
  const ephemeralKey = head.subarray(0, KEY_BYTES)
  const { key, mark } = deriveSecrets(sharedOf(agree, ephemeralKey), ephemeralKey, identity.exchangeKey)
  if (!timingSafeEqual(mark, head.subarray(KEY_BYTES))) return undefined
  const sealed = { start: span.start + ENVELOPE_HEAD_BYTES, bytes: span.bytes - ENVELOPE_HEAD_BYTES }
  const chunks = countChunks(sealed.bytes)
  const textBytes = sealed.bytes - chunks * TAG_BYTES - SIGNATURE_BYTES
  if (textBytes < 1) throw bad(`found an envelope of ${span.bytes} bytes, which holds no text`)
  let signature: Buffer = Buffer.alloc(0)
  return {
    async *text() {
      const ends: Buffer[] = []
      let left = textBytes
      for (let number = 0; number < chunks; number++) {
        const chunk = await readChunk(file, sealed, number, { key, chunks })
        const piece = chunk.subarray(0, left)
        left -= piece.length
        if (piece.length < chunk.length) ends.push(chunk.subarray(piece.length))
        if (piece.length > 0) yield piece
      }
      signature = Buffer.concat(ends)
    },
    isSignedBy: (signingKey, digest) =>
      isSigned(signingKey, PURPOSE, signedBytes(digest, ephemeralKey, identity.exchangeKey), signature),
  }
}

/** Reads a text to its end. @returns its SHA-256 */
export async function digestText(text: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const piece of text) hash.update(piece)
  return hash.digest()
}

/** @throws Error for a key with which everybody would know the secret */
function sharedOf(agree: NodeKeys['agree'], ephemeralKey: Uint8Array): Uint8Array {
  try {
    return agree(ephemeralKey)
  } catch {
    throw bad('found a key of small order at the beginning of an envelope')
  }
}

/** @throws Error for an empty last chunk, or none */
function countChunks(bytes: number): number {
  const rest = bytes % (CHUNK_BYTES + TAG_BYTES)
  if (bytes <= TAG_BYTES || (rest > 0 && rest <= TAG_BYTES))
    throw bad(`found ${bytes} bytes of chunks, expected a last chunk that is not empty`)
  return Math.ceil(bytes / (CHUNK_BYTES + TAG_BYTES))
}

async function readChunk(
  file: FileHandle,
  { start, bytes }: EnvelopeSpan,
  number: number,
  { key, chunks }: { key: Uint8Array; chunks: number },
): Promise<Buffer> {
  const at = number * (CHUNK_BYTES + TAG_BYTES)
  const size = Math.min(CHUNK_BYTES + TAG_BYTES, bytes - at)
  const sealed = await readAt(file, start + at, size, start + bytes)
  const isLast = number === chunks - 1
  const decipher = createDecipheriv(CIPHER, key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(size - TAG_BYTES))
  const text = decipher.update(sealed.subarray(0, size - TAG_BYTES))
  try {
    decipher.final()
  } catch {
    throw bad(`the chunk ${number + 1} of ${chunks} was changed or torn`)
  }
  return text
}

/** @param end offset behind the last byte that may be read */
async function readAt(file: FileHandle, start: number, bytes: number, end: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(bytes, end - start)))
  let done = 0
  while (done < buffer.length) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, start + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  if (done < bytes)
    throw bad(`found its end after ${start + done} bytes, expected ${start + bytes}: it was torn`)
  return buffer
}

/** Returns the refusal of a bundle. */
export function bad(reason: string): Error {
  return new Error(`the bundle cannot be taken: ${reason}; nothing was changed`)
}
