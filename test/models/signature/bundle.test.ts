import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { hintIn, MAX_BUNDLE_BYTES, makeBundle, openBundle } from '../../../src/models/signature/bundle.js'
import { compareBytes } from '../../../src/models/signature/compare-files.js'
import { readPrivateKey, readPublicKey, trustedKeys } from '../../../src/models/signature/keys.js'
import { reasonOf } from '../../../src/models/signature/refusal.js'
import { makeStatement, readStatement } from '../../../src/models/signature/statement.js'
import { newKeyPair } from '../../support/signing-keys.js'

const { privatePem, publicPem } = newKeyPair()
const secret = readPrivateKey(privatePem)
const trusted = trustedKeys([readPublicKey(publicPem)])
const DIGEST = 'ab'.repeat(32)
const good = makeBundle(makeStatement('m', [{ name: '.', digest: DIGEST }], []), secret)

/** Why a bundle is refused; `valid` for one that is not. */
function verdict(text: string): string {
  try {
    compareBytes(readStatement(openBundle(text, trusted).payload), DIGEST)
    return 'valid'
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return reason
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests change any part of a bundle
const changed = (change: (bundle: any) => unknown): string => {
  const bundle = JSON.parse(good)
  change(bundle)
  return JSON.stringify(bundle)
}

t.test('bundle: hostile texts are refused, each with a reason', async (t) => {
  const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000)
  const rows: [name: string, text: string, expected: string][] = [
    ['itself', good, 'valid'],
    ['nothing', '', 'bad_json'],
    ['cut off', good.slice(0, -20), 'bad_json'],
    ['bytes after it', `${good}{}`, 'bad_json'],
    ['too large', good + ' '.repeat(MAX_BUNDLE_BYTES), 'too_large'],
    ['deep arrays', deep('[', ']'), 'media_type'],
    ['deep objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`, 'media_type'],
    ['a number', '1', 'media_type'],
    ['null', 'null', 'media_type'],
    ['an array', `[${good}]`, 'media_type'],
    ['the media type inherited', good.replace('{"mediaType"', '{"__proto__":{"x":1},"media"'), 'media_type'],
    [
      'a media type that is no text',
      changed((b) => Object.assign(b, { mediaType: [b.mediaType] })),
      'media_type',
    ],
    ['no material', changed((b) => void delete b.verificationMaterial), 'key_material'],
    [
      'a key that is a list',
      changed((b) => Object.assign(b.verificationMaterial, { publicKey: [] })),
      'key_material',
    ],
    [
      'a hint that is a number',
      changed((b) => Object.assign(b.verificationMaterial.publicKey, { hint: 1 })),
      'key_material',
    ],
    [
      'a hint in upper case',
      changed((b) => Object.assign(b.verificationMaterial.publicKey, { hint: secret.hint.toUpperCase() })),
      'key_material',
    ],
    [
      'another hint',
      changed((b) => Object.assign(b.verificationMaterial.publicKey, { hint: DIGEST })),
      'unknown_key',
    ],
    ['no envelope', changed((b) => void delete b.dsseEnvelope), 'payload_type'],
    ['an envelope that is a text', changed((b) => Object.assign(b, { dsseEnvelope: 'x' })), 'payload_type'],
    [
      'signatures that are an object',
      changed((b) => Object.assign(b.dsseEnvelope, { signatures: {} })),
      'signature_count',
    ],
    [
      'two signatures, the first one right',
      changed((b) => void b.dsseEnvelope.signatures.push(b.dsseEnvelope.signatures[0])),
      'signature_count',
    ],
    [
      'a signature that is null',
      changed((b) => Object.assign(b.dsseEnvelope, { signatures: [null] })),
      'base64',
    ],
    ['a payload that is a number', changed((b) => Object.assign(b.dsseEnvelope, { payload: 1 })), 'base64'],
    ['an empty payload', changed((b) => Object.assign(b.dsseEnvelope, { payload: '' })), 'base64'],
    [
      'an empty signature',
      changed((b) => Object.assign(b.dsseEnvelope.signatures[0], { sig: '' })),
      'base64',
    ],
    [
      'a signature of zeros',
      changed((b) => Object.assign(b.dsseEnvelope.signatures[0], { sig: 'AAAA' })),
      'bad_signature',
    ],
  ]
  for (const [name, text, expected] of rows) t.equal(verdict(text), expected, name)
})

t.test('bundle: base64 has one form', async (t) => {
  const { payload } = JSON.parse(good).dsseEnvelope
  const variants = {
    'without padding': payload.replace(/=+$/, ''),
    'with a line break': `${payload.slice(0, 76)}\n${payload.slice(76)}`,
    'with a space before': ` ${payload}`,
    'more padding': `${payload}=`,
    'a character of no alphabet': payload.replace(/^./, '*'),
  }
  const bare = payload.replace(/=+$/, '')
  for (const [name, text] of Object.entries(variants))
    if (text !== payload)
      t.equal(verdict(changed((b) => Object.assign(b.dsseEnvelope, { payload: text }))), 'base64', name)
  // the last character of "AB==" has four bits that are not used
  t.not(bare, '')
  t.equal(
    verdict(changed((b) => Object.assign(b.dsseEnvelope.signatures[0], { sig: 'AB==' }))),
    'base64',
    'unused bits',
  )
  t.equal(
    verdict(changed((b) => Object.assign(b.dsseEnvelope.signatures[0], { sig: '-_-_' }))),
    'base64',
    'for URLs',
  )
})

t.test('property: no changed character of a bundle makes another valid one', async (t) => {
  const accepted = new Set<string>()
  for (let at = 0; at < good.length; at++) {
    const code = good.charCodeAt(at) ^ (1 + (at % 3))
    const text = good.slice(0, at) + String.fromCharCode(code) + good.slice(at + 1)
    if (verdict(text) !== 'valid') continue
    const quote = good.lastIndexOf('"', at)
    accepted.add(good.slice(quote + 1, good.indexOf('"', at)))
  }
  t.same([...accepted], ['hint', 'tlogEntries', 'keyid'], 'names that may be absent')
})

t.test('bundle: the key that it names', async (t) => {
  t.equal(hintIn(good), secret.hint)
  for (const text of [
    '',
    '1',
    '{}',
    changed((b) => Object.assign(b.verificationMaterial.publicKey, { hint: 'x' })),
  ])
    t.equal(hintIn(text), null)
})

t.test('keys: what is no key of a curve of the format', async (t) => {
  const pem = (type: 'ed25519' | 'rsa' | 'ec') => {
    const options =
      type === 'rsa' ? { modulusLength: 1024 } : type === 'ec' ? { namedCurve: 'secp256k1' } : {}
    const { publicKey, privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
    return {
      publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }
  const expected = /expected an elliptic-curve key P-256, P-384 or P-521/
  for (const type of ['ed25519', 'rsa', 'ec'] as const) {
    t.throws(() => readPublicKey(pem(type).publicPem), expected, type)
    t.throws(() => readPrivateKey(pem(type).privatePem), expected, type)
  }
  t.throws(() => readPublicKey(privatePem), /found a private key, expected the public key/)
  t.throws(() => readPrivateKey(publicPem), /found no PEM private key/)
  t.throws(() => readPublicKey('ssh-ed25519 AAAA'), /found no PEM public key/)
  t.throws(() => readPublicKey(publicPem.replace(/M[A-Z]/, '')), /cannot be read/)
  t.throws(
    () =>
      readPrivateKey('-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n'),
    /found an encrypted private key/,
  )
})
