import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeBundle } from '../../../src/models/signature/bundle.js'
import { readPrivateKey, readPublicKey, trustedKeys } from '../../../src/models/signature/keys.js'
import { createSignaturePolicy } from '../../../src/models/signature/policy.js'
import { makeStatement } from '../../../src/models/signature/statement.js'
import { readTrustedKeys } from '../../../src/models/signature/trusted-keys.js'
import { NO_DEMAND } from '../../support/attempts.js'
import { newKeyPair } from '../../support/signing-keys.js'
import { throwsWith } from '../../support/throws.js'

const pair = newKeyPair()
const key = readPrivateKey(pair.privatePem)
const known = trustedKeys([readPublicKey(pair.publicPem)])
const SHA = 'ab'.repeat(32)
const bundle = makeBundle(makeStatement('m', [{ name: 'x', digest: SHA }], []), key)

t.test('policy: state of a signature by the keys that are trusted now', async (t) => {
  const policy = createSignaturePolicy(NO_DEMAND, known)
  const stranger = createSignaturePolicy(NO_DEMAND, new Map())
  t.equal(policy.judge(undefined, SHA), null)
  t.equal(policy.stateOf(null), 'none')
  const valid = policy.judge(bundle, SHA)
  t.same(valid, { bundle, keyHint: key.hint, verdict: 'valid' })
  t.same(
    [policy.stateOf(valid), stranger.stateOf(valid)],
    ['valid', 'unknown_key'],
    'a key that was withdrawn',
  )
  const open = stranger.judge(bundle, SHA)
  t.same(open, { bundle, keyHint: key.hint, verdict: null })
  t.same([policy.stateOf(open), stranger.stateOf(open)], ['unknown_key', 'unknown_key'], 'not verified yet')
  const wrong = policy.judge(bundle, 'cd'.repeat(32))
  t.same([policy.stateOf(wrong), stranger.stateOf(wrong)], ['invalid', 'invalid'])
  t.same(policy.judge('{', SHA), { bundle: '{', keyHint: null, verdict: 'invalid' })
})

t.test('policy: a model that is a directory elsewhere is no stored model', async (t) => {
  const two = ['x', 'y'].map((name) => ({ name, digest: SHA }))
  const policy = createSignaturePolicy({ ...NO_DEMAND, requireSignature: true }, known)
  const model = {
    storeNames: ['rain'],
    kind: 'k',
    sha256: SHA,
    bundle: makeBundle(makeStatement('m', two, []), key),
  }
  t.match(throwsWith(t, () => policy.require(model), 'SIGNATURE_REFUSED').data, { reason: 'missing_file' })
})

t.test('policy: all models, those of a store, those of a kind', async (t) => {
  const model = { storeNames: ['rain', 'rain_1.5'], kind: 'tree', bundle: undefined, sha256: SHA }
  for (const [demand, isDemanded] of [
    [{}, false],
    [{ requireSignature: true }, true],
    [{ signedStores: ['rain'] }, true],
    [{ signedStores: ['rain_1.5'] }, true],
    [{ signedStores: ['snow'] }, false],
    [{ signedKinds: ['tree'] }, true],
    [{ signedKinds: ['t'] }, false],
  ] as const) {
    const policy = createSignaturePolicy({ ...NO_DEMAND, ...demand }, known)
    const name = Object.keys(demand)[0] ?? ''
    if (!isDemanded) t.doesNotThrow(() => policy.require(model))
    else {
      t.match(
        throwsWith(t, () => policy.require(model), 'SIGNATURE_REFUSED'),
        {
          data: { reason: 'no_signature' },
          message: new RegExp(`modelStore\\.${name} demands`),
        },
      )
      const broken = { ...model, bundle: '{' }
      t.match(throwsWith(t, () => policy.require(broken), 'SIGNATURE_REFUSED').data, { reason: 'bad_json' })
    }
    t.doesNotThrow(() => policy.require({ ...model, bundle }))
    t.equal(policy.hasDemand, name !== '')
  }
})

t.test('trusted keys: PEM texts and files; a fault names the setting', async (t) => {
  const file = path.join(t.testdir(), 'k.pem')
  writeFileSync(file, pair.publicPem)
  t.same([...readTrustedKeys([file, newKeyPair('P-384').publicPem]).keys()].slice(0, 1), [key.hint])
  t.throws(
    () => readTrustedKeys([file, '/nowhere/k.pem']),
    /^modelStore\.trustedKeys\.1: \/nowhere\/k\.pem: ENOENT/,
  )
  t.throws(() => readTrustedKeys([pair.privatePem]), /modelStore\.trustedKeys\.0: found a private key/)
})
