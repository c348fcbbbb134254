import { sign, verify } from 'node:crypto'
import { messageOf } from '../../errors.js'
import type { SigningKey, TrustedKeys } from './keys.js'
import { member, refusal, shown } from './refusal.js'

/** Media type of a Sigstore bundle; also the content type of a signature that is sent. */
export const BUNDLE_MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json'
const PAYLOAD_TYPE = 'application/vnd.in-toto+json'

/** Largest bundle of one model, bytes of UTF-8. One with a single file and a P-521 key has 1.2 kB. */
export const MAX_BUNDLE_BYTES = 256 * 1024

const HINT = /^[0-9a-f]{64}$/

/** Payload of a bundle whose signature is right. */
export interface SignedPayload {
  readonly payload: Buffer
  /** key that made the signature */
  readonly key: SigningKey
}

/** Returns the key that a bundle names; null where it names none, or cannot be read. Nothing is checked. */
export function hintIn(text: string): string | null {
  try {
    const hint = member(member(member(JSON.parse(text), 'verificationMaterial'), 'publicKey'), 'hint')
    return typeof hint === 'string' && HINT.test(hint) ? hint : null
  } catch {
    return null // `openBundle` reports the fault
  }
}

/**
 * Checks the envelope of a bundle: media type, key, then the signature. Keys that came along in the bundle
 * (`rawBytes`, certificates) are never used: a bundle without a hint is tried with the trusted keys.
 *
 * @param maxBytes largest bundle, bytes of UTF-8
 * @throws AppError SIGNATURE_REFUSED with its reason. About 0.3 ms
 * @see OpenSSF Model Signing 1.0; DSSE 1.0, protocol.md
 */
export function openBundle(text: string, keys: TrustedKeys, maxBytes = MAX_BUNDLE_BYTES): SignedPayload {
  const found = Buffer.byteLength(text)
  if (found > maxBytes) throw refusal('too_large', `found ${found} bytes, expected at most ${maxBytes}`)
  const bundle = parseBundle(text)
  const mediaType = member(bundle, 'mediaType')
  if (mediaType !== BUNDLE_MEDIA_TYPE)
    throw refusal('media_type', `mediaType: found ${shown(mediaType)}, expected "${BUNDLE_MEDIA_TYPE}"`)
  const candidates = namedKeys(member(bundle, 'verificationMaterial'), keys)
  const { payload, signature } = readEnvelope(member(bundle, 'dsseEnvelope'))
  const signed = signedBytes(payload)
  const key = candidates.keys.find((one) => verify(one.hash, signed, one.key, signature))
  if (key !== undefined) return { payload, key }
  if (!candidates.isNamed)
    throw refusal('unknown_key', 'the bundle names no key, and no trusted key made the signature')
  throw refusal('bad_signature', 'the trusted key that the bundle names did not make the signature')
}

/** Signs a payload. @returns the text of the bundle */
export function makeBundle(payload: Buffer, { key, hash, hint }: SigningKey): string {
  const signature = sign(hash, signedBytes(payload), key)
  return JSON.stringify({
    mediaType: BUNDLE_MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint }, tlogEntries: [] },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: PAYLOAD_TYPE,
      signatures: [{ sig: signature.toString('base64'), keyid: '' }],
    },
  })
}

/** Pre-authentication encoding of DSSE: the bytes that are signed. */
function signedBytes(payload: Buffer): Buffer {
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.byteLength} `
  return Buffer.concat([Buffer.from(head), payload])
}

function parseBundle(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refusal('bad_json', `found invalid JSON: ${messageOf(error).slice(0, 200)}`)
  }
}

/** Returns the key that the bundle names, or all trusted keys where it names none. */
function namedKeys(material: unknown, keys: TrustedKeys): { keys: readonly SigningKey[]; isNamed: boolean } {
  const publicKey = member(material, 'publicKey')
  if (typeof publicKey !== 'object' || publicKey === null || Array.isArray(publicKey)) {
    const found = shown(publicKey)
    throw refusal(
      'key_material',
      `verificationMaterial.publicKey: found ${found}, expected an object with the hint of a key`,
    )
  }
  const hint = member(publicKey, 'hint')
  if (hint === undefined || hint === null || hint === '') return { keys: [...keys.values()], isNamed: false }
  if (typeof hint !== 'string' || !HINT.test(hint)) {
    const expected = 'expected 64 lower-case hex digits, the SHA-256 of the public key in PEM'
    throw refusal('key_material', `verificationMaterial.publicKey.hint: found ${shown(hint)}, ${expected}`)
  }
  const key = keys.get(hint)
  if (key === undefined) throw refusal('unknown_key', `the key ${hint} is not trusted`)
  return { keys: [key], isNamed: true }
}

function readEnvelope(envelope: unknown): { payload: Buffer; signature: Buffer } {
  const payloadType = member(envelope, 'payloadType')
  if (payloadType !== PAYLOAD_TYPE) {
    const found = shown(payloadType)
    throw refusal('payload_type', `dsseEnvelope.payloadType: found ${found}, expected "${PAYLOAD_TYPE}"`)
  }
  const signatures = member(envelope, 'signatures')
  if (!Array.isArray(signatures) || signatures.length !== 1) {
    const found = Array.isArray(signatures) ? `${signatures.length} signatures` : shown(signatures)
    throw refusal('signature_count', `dsseEnvelope.signatures: found ${found}, expected one signature`)
  }
  return {
    payload: decode(member(envelope, 'payload'), 'payload'),
    signature: decode(member(signatures[0], 'sig'), 'signatures[0].sig'),
  }
}

/** Decodes base64 with the standard alphabet and its padding; `Buffer.from` accepts almost any text. */
function decode(text: unknown, name: string): Buffer {
  const bytes = Buffer.from(typeof text === 'string' ? text : '', 'base64')
  if (typeof text === 'string' && text !== '' && bytes.toString('base64') === text) return bytes
  throw refusal('base64', `dsseEnvelope.${name}: found ${shown(text)}, expected padded standard base64`)
}
