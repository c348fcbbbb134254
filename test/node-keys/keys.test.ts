import path from 'node:path'
import t from 'tap'
import { fingerprintOf, identityText, readIdentity } from '../../src/node-keys/identity.js'
import { createEphemeralKey, isSigned, openNodeKeys } from '../../src/node-keys/keys.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { hasEncryptedValues } from '../../src/storage/sqlite/maintenance/encrypted-values.js'
import { createStoredFacts } from '../../src/storage/sqlite/maintenance/stored-facts.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { memoryState } from '../support/memory-state.js'

const NODE = '11111111-1111-4111-8111-111111111111'
const BYTES = Buffer.from('some bytes')

t.test('node keys: made once, also by two programs at the same time', async (t) => {
  const { nodeKeys } = await memoryState(t)
  t.equal(await nodeKeys.find(), undefined)
  const [one, two] = await Promise.all([openNodeKeys(nodeKeys, NODE), openNodeKeys(nodeKeys, NODE)])
  t.same(one.identity, two.identity)
  t.same((await openNodeKeys(nodeKeys, NODE)).identity, one.identity)
  t.ok(isSigned(two.identity.signingKey, 'x', BYTES, one.sign('x', BYTES)))
})

t.test('node keys: a signature holds for its bytes, purpose and key alone', async (t) => {
  const keys = await openNodeKeys((await memoryState(t)).nodeKeys, NODE)
  const { signingKey } = keys.identity
  const signature = keys.sign('bundle', BYTES)
  t.ok(isSigned(signingKey, 'bundle', BYTES, signature))
  t.notOk(isSigned(signingKey, 'bundl', Buffer.concat([Buffer.from('e'), BYTES]), signature))
  t.notOk(isSigned(signingKey, 'bundle', Buffer.from('other bytes'), signature))
  t.notOk(isSigned(signingKey, 'bundle', BYTES, signature.subarray(1)), 'a signature of 63 bytes')
  const other = await openNodeKeys((await memoryState(t)).nodeKeys, NODE)
  t.notOk(isSigned(other.identity.signingKey, 'bundle', BYTES, signature))
})

t.test('node keys: both ends of an exchange have one secret', async (t) => {
  const keys = await openNodeKeys((await memoryState(t)).nodeKeys, NODE)
  const ephemeral = createEphemeralKey()
  t.same(ephemeral.agree(keys.identity.exchangeKey), keys.agree(ephemeral.publicKey))
  t.not(keys.agree(ephemeral.publicKey).toString(), keys.agree(createEphemeralKey().publicKey).toString())
  t.throws(() => keys.agree(new Uint8Array(32)), 'a key of small order')
})

t.test('node keys: encrypted at rest; another key file is told', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'state.db')
  const keyring = createKeyring(new Uint8Array(32))
  const open = async (key: typeof keyring) => await openState(file, { keyring: key })
  const state = await open(keyring)
  t.notOk(hasEncryptedValues(dir))
  await openNodeKeys(state.nodeKeys, NODE)
  const pairs = await state.nodeKeys.find()
  t.notOk(hasEncryptedValues(dir), 'no other node knows them')
  const peer = { nodeId: NODE, signingKey: new Uint8Array(32), exchangeKey: new Uint8Array(32) }
  await state.nodePeers.add({ ...peer, name: 'base' })
  t.ok(hasEncryptedValues(dir), 'a lost key file is not replaced')
  const stored = state.stateDb.db.prepare('SELECT * FROM node_key').all()
  const secrets = [pairs?.signing.privateKey, pairs?.exchange.privateKey].map((key) => Buffer.from(key ?? []))
  for (const secret of secrets) {
    t.equal(secret.length, 32)
    t.notOk(JSON.stringify(stored).includes(JSON.stringify([...secret]).slice(1, -1)))
  }
  await state.close()
  const { texts, bytes } = await createStoredFacts().secrets(dir, keyring)
  t.same(
    texts.sort(),
    secrets.map((secret) => secret.toString('base64url')).sort(),
    'they are masked in support bundles',
  )
  t.equal(bytes.length, 4)
  const other = await open(createKeyring(new Uint8Array(32).fill(1)))
  await t.rejects(openNodeKeys(other.nodeKeys, NODE), /encrypted with another key file/)
  await other.close()
})

t.test('node keys: secrets of a state.db from before them', async (t) => {
  const dir = t.testdir()
  const state = await openState(path.join(dir, 'state.db'))
  state.stateDb.db.exec('DROP TABLE node_key')
  await state.close()
  t.same(await createStoredFacts().secrets(dir, undefined), { bytes: [], texts: [] })
  t.notOk(hasEncryptedValues(dir))
})

t.test('identity: read as it was written; each change is refused', async (t) => {
  const keys = await openNodeKeys((await memoryState(t)).nodeKeys, NODE)
  const text = identityText(keys)
  t.same(readIdentity(text), keys.identity)
  t.match(fingerprintOf(keys.identity), /^([0-9a-f]{4} ){7}[0-9a-f]{4}$/)
  const json = JSON.parse(text) as Record<string, unknown>
  const refuses = (change: object, reason: RegExp) =>
    t.throws(() => readIdentity(JSON.stringify({ ...json, ...change })), reason, JSON.stringify(change))
  refuses({ fieldgate_identity: 2 }, /^fieldgate_identity: found 2, expected 1/)
  refuses({ node: 'x' }, /^node: found .*, expected a UUID/)
  refuses({ node: '22222222-2222-4222-8222-222222222222' }, /^signature: /)
  refuses({ signing_key: undefined }, /^signing_key: found nothing, expected 32 bytes in base64url/)
  refuses({ exchange_key: 'AAAA' }, /^exchange_key: found .*, expected 32 bytes/)
  refuses({ exchange_key: `${String(json.exchange_key)}=` }, /^exchange_key: found/)
  refuses({ signature: json.exchange_key }, /^signature: found .*, expected 64 bytes/)
  t.throws(() => readIdentity('{'), /found no JSON/)
  t.throws(() => readIdentity('[]'), /found .*expected what `fieldgate bundle identity` prints/)
  const { identity, sign } = keys
  const weak = identityText({ identity: { ...identity, exchangeKey: new Uint8Array(32) }, sign })
  t.throws(() => readIdentity(weak), /exchange_key: found a key of small order/)
})
