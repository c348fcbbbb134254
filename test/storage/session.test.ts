import { randomUUID } from 'node:crypto'
import t from 'tap'
import { hashSecret } from '../../src/auth/secret.js'
import { openState } from '../../src/storage/state.js'
import { type MemoryState, memoryState, START_MS } from '../support/memory-state.js'

const DAY_MS = 86_400_000
const START_US = START_MS * 1000

async function keyIn({ keys }: Pick<MemoryState, 'keys'>, expiresAtUs: number | null = null) {
  const keyId = randomUUID()
  const secretHash = hashSecret(keyId)
  await keys.create({ keyId, name: 'k', scopes: ['session:write'], secretHash, expiresAtUs })
  return keyId
}

async function open(
  { sessions }: Pick<MemoryState, 'sessions'>,
  keyId: string,
  given: { lifeS?: number; notAfterUs?: number } = {},
) {
  const tokenHash = hashSecret(randomUUID())
  const sessionId = randomUUID()
  const { lifeS = 60, notAfterUs = null } = given
  const opened = await sessions.open({ sessionId, tokenHash, keyId, lifeS, notAfterUs })
  return { ...opened, tokenHash, sessionId }
}

t.test('session: an open one is found by the hash of its token', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  const { tokenHash, sessionId, expiresAtUs, lifeS } = await open(state, keyId)
  t.equal(lifeS, 60)
  t.same(await state.sessions.findOpen(tokenHash), { sessionId, keyId, expiresAtUs })
  t.equal(await state.sessions.findOpen(hashSecret('another')), undefined)
  t.equal(await state.sessions.findOpen(new Uint8Array(0)), undefined)
})

t.test('session: it outlives a restart', async (t) => {
  const file = `${t.testdir()}/state.db`
  const before = await openState(file)
  const { tokenHash, sessionId } = await open(before, await keyIn(before))
  await before.close()
  const after = await openState(file)
  t.match(await after.sessions.findOpen(tokenHash), { sessionId })
  await after.close()
})

t.test('session: it ends when its life is over', async (t) => {
  const state = await memoryState(t)
  const { tokenHash, expiresAtUs } = await open(state, await keyIn(state), { lifeS: 1 })
  t.ok(expiresAtUs >= START_US + 1_000_000)
  state.advance(999)
  t.ok(await state.sessions.findOpen(tokenHash))
  state.advance(2)
  t.equal(await state.sessions.findOpen(tokenHash), undefined)
})

t.test('session: it ends no later than the one it was opened through', async (t) => {
  const state = await memoryState(t)
  const notAfterUs = START_US + 30_500_000
  const { expiresAtUs, lifeS } = await open(state, await keyIn(state), { lifeS: 60, notAfterUs })
  t.equal(expiresAtUs, notAfterUs)
  t.equal(lifeS, 30, 'whole seconds, never more than there are')
  const shorter = await open(state, await keyIn(state), { lifeS: 10, notAfterUs })
  t.equal(shorter.lifeS, 10)
})

t.test('session: closing ends it; closing again, or what never was, changes nothing', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  const [closed, other] = [await open(state, keyId), await open(state, keyId)]
  await state.sessions.close(closed.tokenHash)
  await state.sessions.close(closed.tokenHash)
  await state.sessions.close(hashSecret('never was'))
  t.equal(await state.sessions.findOpen(closed.tokenHash), undefined)
  t.ok(await state.sessions.findOpen(other.tokenHash))
})

t.test('session: it ends with its key, revoked or expired', async (t) => {
  const state = await memoryState(t)
  const [revoked, expiring] = [await keyIn(state), await keyIn(state, START_US + 1_000_000)]
  const [a, b] = [await open(state, revoked), await open(state, expiring)]
  await state.keys.revoke(revoked)
  t.equal(await state.sessions.findOpen(a.tokenHash), undefined)
  t.ok(await state.sessions.findOpen(b.tokenHash))
  state.advance(1001)
  t.equal(await state.sessions.findOpen(b.tokenHash), undefined)
})

t.test('session: a rotated secret leaves the sessions of its key alone', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  const { tokenHash } = await open(state, keyId)
  await state.keys.rotate(keyId, hashSecret('new'), 0)
  t.ok(await state.sessions.findOpen(tokenHash))
})

t.test('session: none without a key', async (t) => {
  const state = await memoryState(t)
  await t.rejects(open(state, randomUUID()), /FOREIGN KEY/)
})

t.test(
  'session: a wall clock that fell back ends none, and one that is set right does not end a new one',
  async (t) => {
    const state = await memoryState(t)
    const keyId = await keyIn(state)
    const old = await open(state, keyId, { lifeS: 60 })
    state.advance(-365 * DAY_MS)
    t.ok(await state.sessions.findOpen(old.tokenHash))
    const opened = await open(state, keyId, { lifeS: 60 })
    t.ok(opened.expiresAtUs > START_US, 'its term begins at the latest time known')
    state.advance(365 * DAY_MS)
    t.ok(await state.sessions.findOpen(opened.tokenHash))
  },
)

t.test('session: housekeeping removes what ended, after what belongs to it', async (t) => {
  const state = await memoryState(t)
  const [keyId, revoked] = [await keyIn(state), await keyIn(state)]
  const open60 = await open(state, keyId)
  const closed = await open(state, keyId)
  const expired = await open(state, keyId, { lifeS: 1 })
  const ofRevoked = await open(state, revoked)
  await state.sessions.close(closed.tokenHash)
  await state.keys.revoke(revoked)
  state.advance(2000)
  const told: string[] = []
  await state.housekeep(async (sessionId) => {
    told.push(sessionId)
  })
  t.same(told.sort(), [closed.sessionId, expired.sessionId, ofRevoked.sessionId].sort())
  t.same(await state.sessions.listEnded(10), [])
  t.ok(await state.sessions.findOpen(open60.tokenHash))
})

t.test('session: what could not be cleaned up stays for the next round', async (t) => {
  const state = await memoryState(t)
  const { tokenHash, sessionId } = await open(state, await keyIn(state))
  await state.sessions.close(tokenHash)
  await t.rejects(
    state.housekeep(() => Promise.reject(new Error('directory busy'))),
    /directory busy/,
  )
  t.same(await state.sessions.listEnded(10), [sessionId])
})

t.test('session: an untrusted clock sweeps only what was ended by hand', async (t) => {
  const state = await memoryState(t)
  const keyId = await keyIn(state)
  const [closed, _expired] = [await open(state, keyId), await open(state, keyId, { lifeS: 1 })]
  await state.sessions.close(closed.tokenHash)
  state.advance(10_000)
  state.clock.nowUs()
  state.advance(-DAY_MS)
  t.same(await state.sessions.listEnded(10), [closed.sessionId])
})
