import type { BlobStore } from './blob-store.js'

/**
 * Returns all bytes of a stored blob at once.
 *
 * @param sha256 digest that a row names, hex
 * @throws Error when the store has no bytes with this digest
 */
export async function readBlob(files: Pick<BlobStore, 'open'>, sha256: string): Promise<Uint8Array> {
  const pieces = await files.open(sha256)
  if (pieces === undefined) throw new Error(`a row names the bytes ${sha256}, which are not stored`)
  const held = await Array.fromAsync(pieces)
  return held.length === 1 && held[0] !== undefined ? held[0] : Buffer.concat(held)
}
