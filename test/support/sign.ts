import { createHash } from 'node:crypto'
import { makeBundle } from '../../src/models/signature/bundle.js'
import { readPrivateKey } from '../../src/models/signature/keys.js'
import { makeStatement } from '../../src/models/signature/statement.js'

/** Signs bytes as a model that is one file. @returns the text of the bundle */
export function signBytes(bytes: Uint8Array, privatePem: string): string {
  const digest = createHash('sha256').update(bytes).digest('hex')
  return makeBundle(makeStatement('m', [{ name: '.', digest }], []), readPrivateKey(privatePem))
}
