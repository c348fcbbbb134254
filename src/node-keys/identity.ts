import { createHash } from 'node:crypto'
import { describeFound } from '../messages/fault-text.js'
import {
  createEphemeralKey,
  isSigned,
  KEY_BYTES,
  type NodeIdentity,
  type NodeKeys,
  SIGNATURE_BYTES,
} from './keys.js'

/*
 * Public identity of a node as text: a JSON object, signed by the key that is in it. The signature shows that nothing was
 * lost or mixed up on the way; that the file is of the node that it names, people compare by the fingerprint.
 */

const VERSION = 1
const PURPOSE = 'identity 1'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns the public identity of this node as JSON text, which another node reads with `readIdentity`. */
export function identityText({ identity, sign }: Pick<NodeKeys, 'identity' | 'sign'>): string {
  const { nodeId, signingKey, exchangeKey } = identity
  const signature = sign(PURPOSE, signedBytes(identity))
  const json = {
    fieldgate_identity: VERSION,
    node: nodeId,
    signing_key: textOf(signingKey),
    exchange_key: textOf(exchangeKey),
    signature: textOf(signature),
  }
  return `${JSON.stringify(json)}\n`
}

/**
 * Reads the public identity of a node.
 *
 * @throws Error that says what was found and what was expected
 */
export function readIdentity(text: string): NodeIdentity {
  const json = parseObject(text)
  if (json.fieldgate_identity !== VERSION)
    throw bad('fieldgate_identity', json.fieldgate_identity, String(VERSION))
  const { node } = json
  if (typeof node !== 'string' || !UUID.test(node)) throw bad('node', node, 'a UUID')
  const identity = {
    nodeId: node,
    signingKey: readBytes(json, 'signing_key', KEY_BYTES),
    exchangeKey: readBytes(json, 'exchange_key', KEY_BYTES),
  }
  const signature = readBytes(json, 'signature', SIGNATURE_BYTES)
  if (!isSigned(identity.signingKey, PURPOSE, signedBytes(identity), signature))
    throw new Error(
      'signature: found one that does not fit, expected that of signing_key: the text was changed',
    )
  requireUsable(identity.exchangeKey)
  return identity
}

/** Returns 32 hex digits in groups of four, by which people compare identities. */
export function fingerprintOf(identity: NodeIdentity): string {
  const hex = createHash('sha256').update(signedBytes(identity)).digest('hex').slice(0, 32)
  return (hex.match(/.{4}/g) ?? []).join(' ')
}

function signedBytes({ nodeId, signingKey, exchangeKey }: NodeIdentity): Buffer {
  return Buffer.concat([Buffer.from(nodeId, 'utf8'), signingKey, exchangeKey])
}

function parseObject(text: string): Record<string, unknown> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error('found no JSON, expected what `fieldgate bundle identity` prints')
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as Record<string, unknown>
  throw new Error(`found ${describeFound(json)}, expected what \`fieldgate bundle identity\` prints`)
}

/** Base64url has one form for each sequence of bytes here: others are refused. */
function readBytes(json: Record<string, unknown>, name: string, length: number): Uint8Array {
  const value = json[name]
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64url') : undefined
  if (bytes?.byteLength === length && textOf(bytes) === value) return bytes
  throw bad(name, value, `${length} bytes in base64url`)
}

/** @throws Error for a key with which everybody would know the secret */
function requireUsable(exchangeKey: Uint8Array): void {
  try {
    createEphemeralKey().agree(exchangeKey)
  } catch {
    throw new Error('exchange_key: found a key of small order, expected an X25519 key')
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

function bad(name: string, found: unknown, expected: string): Error {
  return new Error(`${name}: found ${describeFound(found)}, expected ${expected}`)
}
