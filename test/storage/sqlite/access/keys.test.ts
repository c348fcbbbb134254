import { randomUUID } from 'node:crypto'
import t from 'tap'
import { hashSecret } from '../../../../src/auth/secret.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { conformKeys } from '../../../support/conformance/keys-and-sessions.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('keys on SQLite in memory', async (t) => {
  await conformKeys(t, memoryState)
})

t.test('key: a new key is active and listed, and its secret is nowhere', async (t) => {
  const dir = t.testdir()
  const state = await openState(`${dir}/state.db`)
  const keyId = randomUUID()
  const key = {
    keyId,
    name: 'n',
    scopes: ['admin', 'map:read'],
    secretHash: hashSecret('hush'),
    expiresAtUs: null,
  }
  const made = await state.keys.create(key)
  t.match(made, { keyId, name: 'n', scopes: ['admin', 'map:read'], lastUsedAtUs: null, revokedAtUs: null })
  t.match(await state.keys.findActive(keyId), { keyId, keyName: 'n', scopes: ['admin', 'map:read'] })
  t.strictSame(await state.keys.list(), [made])
  t.strictSame(await state.keys.find(keyId), made)
  await state.close()
  const again = await openState(`${dir}/state.db`)
  t.strictSame(await again.keys.list(), [made], 'it outlives a restart')
  await again.close()
})

t.test('key: a rotation removes the digests of secrets whose overlap has ended', async (t) => {
  const state = await memoryState(t)
  const keyId = randomUUID()
  const secretHash = hashSecret('first')
  await state.keys.create({ keyId, name: 'n', scopes: [], secretHash, expiresAtUs: null })
  await state.keys.rotate(keyId, hashSecret('second'), 60)
  state.advance(61_000)
  await state.keys.rotate(keyId, hashSecret('third'), 60)
  const stored = state.stateDb.db.prepare('SELECT digest FROM api_key_secret').pluck().all() as Buffer[]
  t.same(
    stored.map((digest) => digest.toString('hex')).sort(),
    ['second', 'third'].map((secret) => Buffer.from(hashSecret(secret)).toString('hex')).sort(),
  )
})
