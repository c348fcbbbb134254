import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { hashSecret } from '../../src/auth/secret.js'
import { openState } from '../../src/storage/state.js'
import { type MemoryState, memoryState, START_MS } from '../support/memory-state.js'

const DAY_S = 86_400
const START_US = START_MS * 1000

async function keyIn({ keys }: MemoryState, given: { secret?: string; expiresAtUs?: number } = {}) {
  const keyId = randomUUID()
  const secretHash = hashSecret(given.secret ?? 'first')
  await keys.create({
    keyId,
    name: 'k',
    scopes: ['map:read'],
    secretHash,
    expiresAtUs: given.expiresAtUs ?? null,
  })
  return keyId
}

async function hashesOf({ keys }: MemoryState, keyId: string): Promise<string[]> {
  const active = await keys.findActive(keyId)
  return (active?.secretHashes ?? []).map((hash) => Buffer.from(hash).toString('hex')).sort()
}

const hex = (...secrets: string[]) => secrets.map((secret) => hashSecret(secret).toString('hex')).sort()

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

t.test('key: an unknown one is not there', async (t) => {
  const { keys } = await memoryState(t)
  const keyId = randomUUID()
  t.equal(await keys.findActive(keyId), undefined)
  t.equal(await keys.find(keyId), undefined)
  t.equal(await keys.revoke(keyId), undefined)
  t.equal(await keys.rotate(keyId, hashSecret('x'), 0), undefined)
  t.same(await keys.list(), [])
  for (const odd of ['', "' OR 1=1 --", '\u0000', 'x'.repeat(100_000)]) {
    t.equal(await keys.findActive(odd), undefined, JSON.stringify(odd.slice(0, 20)))
  }
})

t.test('key: the first one is made once, also by two at a time', async (t) => {
  const { keys } = await memoryState(t)
  const first = () => ({ keyId: randomUUID(), name: 'admin', scopes: ['admin'], expiresAtUs: null })
  const [a, b] = await Promise.all([
    keys.createFirst({ ...first(), secretHash: hashSecret('a') }),
    keys.createFirst({ ...first(), secretHash: hashSecret('b') }),
  ])
  t.equal([a, b].filter((key) => key !== undefined).length, 1)
  t.equal((await keys.list()).length, 1)
})

t.test('key: two keys cannot share a secret', async (t) => {
  const state = await memoryState(t)
  await keyIn(state)
  await t.rejects(keyIn(state), /UNIQUE/)
  t.equal((await state.keys.list()).length, 1, 'nothing of the second stays')
})

t.test('key: rotation with an overlap leaves both secrets valid until its end', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  await state.keys.rotate(keyId, hashSecret('second'), DAY_S)
  t.same(await hashesOf(state, keyId), hex('first', 'second'))
  state.advance(DAY_S * 1000 - 1)
  t.same(await hashesOf(state, keyId), hex('first', 'second'), 'just before the end')
  state.advance(2)
  t.same(await hashesOf(state, keyId), hex('second'), 'after it')
})

t.test('key: rotation without an overlap ends the old secret at once', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  await state.keys.rotate(keyId, hashSecret('second'), 0)
  t.same(await hashesOf(state, keyId), hex('second'))
})

t.test('key: a later rotation never lengthens an overlap', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  await state.keys.rotate(keyId, hashSecret('second'), 60)
  await state.keys.rotate(keyId, hashSecret('third'), DAY_S)
  t.same(await hashesOf(state, keyId), hex('first', 'second', 'third'))
  state.advance(61_000)
  t.same(await hashesOf(state, keyId), hex('second', 'third'), 'the first ended with its own overlap')
})

t.test('key: a revoked one stays revoked, since the first time', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  const revoked = await state.keys.revoke(keyId)
  t.equal(revoked?.revokedAtUs, (await state.keys.find(keyId))?.revokedAtUs)
  state.advance(1000)
  t.equal((await state.keys.revoke(keyId))?.revokedAtUs, revoked?.revokedAtUs)
  t.equal(await state.keys.findActive(keyId), undefined)
  t.equal(await state.keys.rotate(keyId, hashSecret('second'), 0), undefined)
})

t.test('key: an expired one is refused, at its microsecond', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state, { expiresAtUs: START_US + 1_000_000 })
  state.advance(999)
  t.ok(await state.keys.findActive(keyId))
  state.advance(1)
  t.equal(await state.keys.findActive(keyId), undefined)
})

t.test('key: a wall clock that fell back expires nothing', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state, { expiresAtUs: START_US - 400 * DAY_S * 1_000_000 })
  t.equal(await state.keys.findActive(keyId), undefined, 'the clock is believed')
  state.advance(-10 * DAY_S * 1000)
  t.notOk(state.clock.isTrusted())
  t.ok(await state.keys.findActive(keyId), 'the clock is not believed')
})

t.test('key: uses are written together, later ones over earlier ones', async (t: Test) => {
  const state = await memoryState(t)
  const [a, b] = [await keyIn(state, { secret: 'a' }), await keyIn(state, { secret: 'b' })]
  const lastUsed = async (keyId: string) => (await state.keys.find(keyId))?.lastUsedAtUs
  state.keys.noteUse(a)
  t.equal(await lastUsed(a), null, 'nothing is written yet')
  state.advance(5000)
  state.keys.noteUse(a)
  await state.housekeep()
  t.ok(Number(await lastUsed(a)) >= START_US + 5_000_000)
  t.equal(await lastUsed(b), null)
  const written = await lastUsed(a)
  state.advance(-2000)
  state.keys.noteUse(a)
  await state.keys.flushUses()
  t.equal(await lastUsed(a), written, 'an earlier time changes nothing')
})
