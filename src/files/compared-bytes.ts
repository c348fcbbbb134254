import { createHash } from 'node:crypto'

/**
 * Passes the chunks of a whole file on, one behind, and the last one only when all of them have the digest.
 *
 * @param fail makes the error for other bytes
 */
export async function* comparedBytes(
  bytes: AsyncIterableIterator<Uint8Array>,
  sha256: string,
  fail: (reason: string) => Promise<Error>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let last: Uint8Array | undefined
  for await (const chunk of bytes) {
    hash.update(chunk)
    if (last !== undefined) yield last
    last = chunk
  }
  const found = hash.digest('hex')
  if (found !== sha256) throw await fail(`found bytes of the SHA-256 ${found}`)
  if (last !== undefined) yield last
}
