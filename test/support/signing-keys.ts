import { generateKeyPairSync } from 'node:crypto'

/** Makes a pair of keys in PEM. @param namedCurve such as P-256 */
export function newKeyPair(namedCurve = 'P-256'): { privatePem: string; publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}
