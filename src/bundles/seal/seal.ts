import { createCipheriv, createHash } from 'node:crypto'
import { createEphemeralKey, type NodeKeys } from '../../node-keys/keys.js'
import { CHUNK_BYTES, CIPHER, deriveSecrets, nonceOf, PURPOSE, signedBytes, TAG_BYTES } from './format.js'

/**
 * Signs and encrypts a text for one node.
 *
 * @param receiverKey raw X25519 key of the node
 * @returns the envelope in pieces; memory: two chunks and a piece of the text
 * @throws what `text` throws
 */
export async function* sealEnvelope(
  text: AsyncIterable<Uint8Array>,
  keys: Pick<NodeKeys, 'sign'>,
  receiverKey: Uint8Array,
): AsyncGenerator<Uint8Array> {
  const ephemeral = createEphemeralKey()
  const { key, mark } = deriveSecrets(ephemeral.agree(receiverKey), ephemeral.publicKey, receiverKey)
  yield Buffer.concat([ephemeral.publicKey, mark])
  const encrypt = (chunk: Uint8Array, number: number, isLast: boolean) => {
    const cipher = createCipheriv(CIPHER, key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
  }
  let number = 0
  let held: Buffer | undefined // it may be the last one
  for await (const chunk of chunksOf(signed(text, keys, ephemeral.publicKey, receiverKey))) {
    if (held !== undefined) yield encrypt(held, number++, false)
    held = chunk
  }
  if (held !== undefined) yield encrypt(held, number, true)
}

/** Yields a text and then its signature. */
async function* signed(
  text: AsyncIterable<Uint8Array>,
  { sign }: Pick<NodeKeys, 'sign'>,
  ephemeralKey: Uint8Array,
  receiverKey: Uint8Array,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const piece of text) {
    hash.update(piece)
    yield piece
  }
  yield sign(PURPOSE, signedBytes(hash.digest(), ephemeralKey, receiverKey))
}

/** Yields a text in chunks of `CHUNK_BYTES`; the last one may be shorter. */
async function* chunksOf(text: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let filled = 0
  for await (const piece of text) {
    for (let at = 0; at < piece.byteLength; ) {
      const part = piece.subarray(at, at + CHUNK_BYTES - filled)
      chunk.set(part, filled)
      filled += part.byteLength
      at += part.byteLength
      if (filled < CHUNK_BYTES) continue
      yield chunk
      chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}
