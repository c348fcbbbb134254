import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import type { NodeKeyRows, NodeKeyUse } from '../storage/exchange/node-keys.js'

/** Public half of the keys of a node. */
export interface NodeIdentity {
  /** UUID */
  readonly nodeId: string
  /** raw Ed25519 key, 32 bytes: signs bundles and joining */
  readonly signingKey: Uint8Array
  /** raw X25519 key, 32 bytes: bundles are encrypted for it */
  readonly exchangeKey: Uint8Array
}

/** Keys of this node. Private halves do not leave it. */
export interface NodeKeys {
  readonly identity: NodeIdentity
  /**
   * Signs bytes for one purpose: a signature never holds for another one.
   *
   * @returns Ed25519 signature of 64 bytes
   */
  sign(purpose: string, bytes: Uint8Array): Uint8Array
  /**
   * Agrees on a secret with the holder of an X25519 key.
   *
   * @param publicKey raw, 32 bytes
   * @returns secret of 32 bytes, from which keys are derived
   * @throws Error for a key of small order, with which everybody would know the secret
   */
  agree(publicKey: Uint8Array): Uint8Array
}

/** Size of a raw key. */
export const KEY_BYTES = 32
/** Size of a signature. */
export const SIGNATURE_BYTES = 64

const CURVES: Record<NodeKeyUse, 'Ed25519' | 'X25519'> = { signing: 'Ed25519', exchange: 'X25519' }

/**
 * Makes the keys of this node unless it has some, so that every backup holds them.
 *
 * @param areUnknown true when no other node knows the keys: ones that are lost with their key file are replaced then
 * @returns true when lost ones were replaced
 */
export async function makeNodeKeys(rows: NodeKeyRows, areUnknown: () => boolean): Promise<boolean> {
  const known = await rows.find()
  if (known === undefined) {
    await rows.claim(newPairs())
    return false
  }
  const areLost = known.signing.privateKey === null || known.exchange.privateKey === null
  if (!areLost || !areUnknown()) return false
  await rows.replace(newPairs())
  return true
}

/**
 * Opens the keys of this node; makes them if it was never started.
 *
 * @throws Error when they were encrypted with another key file
 */
export async function openNodeKeys(rows: NodeKeyRows, nodeId: string): Promise<NodeKeys> {
  const { signing, exchange } = (await rows.find()) ?? (await rows.claim(newPairs()))
  if (signing.privateKey === null || exchange.privateKey === null)
    throw new Error(
      'the keys of this node were encrypted with another key file: put that one back, or name its place in encryption.keyFile',
    )
  const signer = privateKeyOf('signing', signing.privateKey, signing.publicKey)
  const privateKey = privateKeyOf('exchange', exchange.privateKey, exchange.publicKey)
  return {
    identity: { nodeId, signingKey: signing.publicKey, exchangeKey: exchange.publicKey },
    sign: (purpose, bytes) => sign(null, messageOf(purpose, bytes), signer),
    agree: (publicKey) => diffieHellman({ privateKey, publicKey: publicKeyOf('exchange', publicKey) }),
  }
}

/** A key pair for one exchange, after which its private half is forgotten. */
export interface EphemeralKey {
  readonly publicKey: Uint8Array
  /** @throws Error as `NodeKeys.agree` does */
  agree(publicKey: Uint8Array): Uint8Array
}

/** Makes a key pair for one exchange. */
export function createEphemeralKey(): EphemeralKey {
  const pair = generateKeyPairSync('x25519')
  return {
    publicKey: rawOf(pair.publicKey, 'x'),
    agree: (publicKey) =>
      diffieHellman({ privateKey: pair.privateKey, publicKey: publicKeyOf('exchange', publicKey) }),
  }
}

/** Returns whether the holder of a signing key signed bytes for a purpose. */
export function isSigned(
  signingKey: Uint8Array,
  purpose: string,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.byteLength !== SIGNATURE_BYTES) return false
  return verify(null, messageOf(purpose, bytes), publicKeyOf('signing', signingKey), signature)
}

/** The purpose ends with a zero byte, so that none is the beginning of another. */
function messageOf(purpose: string, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`fieldgate ${purpose}\0`, 'utf8'), bytes])
}

function newPairs() {
  return { signing: newPair('signing'), exchange: newPair('exchange') }
}

function newPair(use: NodeKeyUse): { publicKey: Uint8Array; privateKey: Uint8Array } {
  const { publicKey, privateKey } =
    use === 'signing' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')
  return { publicKey: rawOf(publicKey, 'x'), privateKey: rawOf(privateKey, 'd') }
}

function rawOf(key: KeyObject, member: 'x' | 'd'): Buffer {
  return Buffer.from(String(key.export({ format: 'jwk' })[member]), 'base64url')
}

function publicKeyOf(use: NodeKeyUse, raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString('base64url')
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: CURVES[use], x } })
}

function privateKeyOf(use: NodeKeyUse, secret: Uint8Array, raw: Uint8Array): KeyObject {
  const d = Buffer.from(secret).toString('base64url')
  const x = Buffer.from(raw).toString('base64url')
  return createPrivateKey({ format: 'jwk', key: { kty: 'OKP', crv: CURVES[use], d, x } })
}
