import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { messageOf } from '../../errors.js'

/** Hash functions of the signature by curve. @see OpenSSF Model Signing 1.0, ECDSA of the key's own size */
const HASHES: Readonly<Record<string, 'sha256' | 'sha384' | 'sha512'>> = {
  prime256v1: 'sha256',
  secp384r1: 'sha384',
  secp521r1: 'sha512',
}

/** Key pair, or its public half, that signs models. */
export interface SigningKey {
  readonly key: KeyObject
  readonly hash: 'sha256' | 'sha384' | 'sha512'
  /** SHA-256 of the PEM text of the public key, hex: by it a bundle names its key */
  readonly hint: string
}

/** Trusted public keys by hint. */
export type TrustedKeys = ReadonlyMap<string, SigningKey>

/** Reads a public key from PEM text. @throws Error that says what was found and expected */
export function readPublicKey(pem: string): SigningKey {
  if (pem.includes('PRIVATE KEY'))
    throw new Error('found a private key, expected the public key (openssl pkey -pubout)')
  if (!/-----BEGIN (EC )?PUBLIC KEY-----/.test(pem)) throw new Error('found no PEM public key')
  return signingKey(() => createPublicKey(pem))
}

/** Reads a private key from PEM text. @throws Error that says what was found and expected */
export function readPrivateKey(pem: string): SigningKey {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
    throw new Error('found no PEM private key (openssl genpkey makes one)')
  if (pem.includes('ENCRYPTED'))
    throw new Error('found an encrypted private key, expected one without a password')
  return signingKey(() => createPrivateKey(pem))
}

/** Makes the set of trusted keys. */
export function trustedKeys(keys: readonly SigningKey[]): TrustedKeys {
  return new Map(keys.map((key) => [key.hint, key]))
}

function signingKey(read: () => KeyObject): SigningKey {
  const key = readable(read)
  const curve = key.asymmetricKeyDetails?.namedCurve ?? ''
  const hash = HASHES[curve]
  if (key.asymmetricKeyType !== 'ec' || hash === undefined) {
    const found = curve === '' ? key.asymmetricKeyType : `the curve ${curve}`
    throw new Error(`found ${found}, expected an elliptic-curve key P-256, P-384 or P-521`)
  }
  return { key, hash, hint: hintOf(key) }
}

function readable(read: () => KeyObject): KeyObject {
  try {
    return read()
  } catch (error) {
    throw new Error(`found a PEM key that cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** The hint is the digest of the PEM text with lines of 64 characters and a final newline. */
function hintOf(key: KeyObject): string {
  const half = key.type === 'private' ? createPublicKey(key) : key
  const pem = half.export({ type: 'spki', format: 'pem' })
  return createHash('sha256').update(pem).digest('hex')
}
