import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { hashSecret } from '../../../src/auth/secret.js'
import type { State } from '../../../src/storage/state.js'
import { START_MS } from '../memory-state.js'

/**
 * The stores of keys and sessions, as a hub may keep them in another database, on a clock that stands still.
 */
export interface KeysAndSessions extends Pick<State, 'keys' | 'sessions' | 'clock' | 'housekeep'> {
  /** moves the wall clock, ms; negative for back */
  advance(ms: number): void
  /** last use of a session as it is stored, µs */
  storedUse(sessionId: string): Promise<number>
  /** longest time by which that may be behind, ms, for an idle limit of a day */
  readonly useLagMs: number
}

export type Open = (t: Test, sessionIdleS?: number) => Promise<KeysAndSessions>

export const DAY_S = 86_400
export const DAY_MS = DAY_S * 1000
export const START_US = START_MS * 1000

/** What every implementation of the store of keys must do. @param open fresh and empty, at `START_MS` */
export async function conformKeys(t: Test, open: Open): Promise<void> {
  await t.test('key: an unknown one is not found', async (t) => {
    const { keys } = await open(t)
    const keyId = randomUUID()
    t.equal(await keys.findActive(keyId), undefined)
    t.equal(await keys.find(keyId), undefined)
    t.equal(await keys.revoke(keyId), undefined)
    t.equal(await keys.rotate(keyId, hashSecret('x'), 0), undefined)
    t.same(await keys.list(), [])
    t.equal(await keys.setScopes(keyId, []), undefined)
    for (const odd of ['\u0000', `${keyId.slice(1)}\u0000`]) {
      t.equal(await keys.find(odd), undefined)
      t.equal(await keys.revoke(odd), undefined)
      t.equal(await keys.setScopes(odd, []), undefined)
      t.equal(await keys.rotate(odd, hashSecret('x'), 0), undefined)
    }
    for (const odd of ['', "' OR 1=1 --", '\u0000', 'x'.repeat(100_000)]) {
      t.equal(await keys.findActive(odd), undefined, JSON.stringify(odd.slice(0, 20)))
    }
  })

  await t.test('key: the first one is made once, also by two at a time', async (t) => {
    const { keys } = await open(t)
    const first = () => ({ keyId: randomUUID(), name: 'admin', scopes: ['admin'], expiresAtUs: null })
    const [a, b] = await Promise.all([
      keys.createFirst({ ...first(), secretHash: hashSecret('a') }),
      keys.createFirst({ ...first(), secretHash: hashSecret('b') }),
    ])
    t.equal([a, b].filter((key) => key !== undefined).length, 1)
    t.equal((await keys.list()).length, 1)
  })

  await t.test('key: two keys cannot share a secret', async (t) => {
    const state = await open(t)
    await keyIn(state)
    await t.rejects(keyIn(state))
    t.equal((await state.keys.list()).length, 1, 'nothing of the second stays')
  })

  await t.test('key: rotation with an overlap leaves both secrets valid until its end', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state)
    await state.keys.rotate(keyId, hashSecret('second'), DAY_S)
    t.same(await hashesOf(state, keyId), hex('first', 'second'))
    state.advance(DAY_S * 1000 - 1)
    t.same(await hashesOf(state, keyId), hex('first', 'second'), 'just before the end')
    state.advance(2)
    t.same(await hashesOf(state, keyId), hex('second'), 'after it')
  })

  await t.test('key: rotation without an overlap ends the old secret at once', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state)
    await state.keys.rotate(keyId, hashSecret('second'), 0)
    t.same(await hashesOf(state, keyId), hex('second'))
  })

  await t.test('key: a later rotation never lengthens an overlap', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state)
    await state.keys.rotate(keyId, hashSecret('second'), 60)
    await state.keys.rotate(keyId, hashSecret('third'), DAY_S)
    t.same(await hashesOf(state, keyId), hex('first', 'second', 'third'))
    state.advance(61_000)
    t.same(await hashesOf(state, keyId), hex('second', 'third'), 'the first ended with its own overlap')
  })

  await t.test('key: a revoked one stays revoked, since the first time', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state)
    const revoked = await state.keys.revoke(keyId)
    t.equal(revoked?.revokedAtUs, (await state.keys.find(keyId))?.revokedAtUs)
    state.advance(1000)
    t.equal((await state.keys.revoke(keyId))?.revokedAtUs, revoked?.revokedAtUs)
    t.equal(await state.keys.findActive(keyId), undefined)
    t.equal(await state.keys.rotate(keyId, hashSecret('second'), 0), undefined)
  })

  await t.test('key: an expired one is refused, at its microsecond', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state, { expiresAtUs: START_US + 1_000_000 })
    state.advance(999)
    t.ok(await state.keys.findActive(keyId))
    state.advance(1)
    t.equal(await state.keys.findActive(keyId), undefined)
  })

  await t.test('key: a wall clock that fell back expires nothing', async (t) => {
    const state = await open(t)
    const keyId = await keyIn(state, { expiresAtUs: START_US - 400 * DAY_S * 1_000_000 })
    t.equal(await state.keys.findActive(keyId), undefined, 'the clock is believed')
    state.advance(-10 * DAY_S * 1000)
    t.notOk(state.clock.isTrusted())
    t.ok(await state.keys.findActive(keyId), 'the clock is not believed')
  })

  await t.test('key: uses are written together, later ones over earlier ones', async (t) => {
    const state = await open(t)
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
}

/** What every implementation of the store of sessions must do. @param open fresh and empty, at `START_MS` */
export async function conformSessions(t: Test, open: Open): Promise<void> {
  await t.test('session: an open one is found by the hash of its token', async (t) => {
    const state = await open(t)
    const keyId = await sessionKey(state)
    const { tokenHash, sessionId, expiresAtUs, lifeS } = await openSession(state, keyId)
    t.equal(lifeS, 60)
    t.same(await state.sessions.findOpen(tokenHash), { sessionId, keyId, expiresAtUs })
    t.equal(await state.sessions.findOpen(hashSecret('another')), undefined)
    t.equal(await state.sessions.findOpen(new Uint8Array(0)), undefined)
  })

  await t.test('session: it ends when its life is over', async (t) => {
    const state = await open(t)
    const { tokenHash, expiresAtUs } = await openSession(state, await sessionKey(state), { lifeS: 1 })
    t.ok(expiresAtUs >= START_US + 1_000_000)
    state.advance(999)
    t.ok(await state.sessions.findOpen(tokenHash))
    state.advance(2)
    t.equal(await state.sessions.findOpen(tokenHash), undefined)
  })

  await t.test('session: it ends no later than the one it was opened through', async (t) => {
    const state = await open(t)
    const notAfterUs = START_US + 30_500_000
    const { expiresAtUs, lifeS } = await openSession(state, await sessionKey(state), {
      lifeS: 60,
      notAfterUs,
    })
    t.equal(expiresAtUs, notAfterUs)
    t.equal(lifeS, 30, 'whole seconds, never more than there are')
    const shorter = await openSession(state, await sessionKey(state), { lifeS: 10, notAfterUs })
    t.equal(shorter.lifeS, 10)
  })

  await t.test('session: closing ends it; closing again, or what never was, changes nothing', async (t) => {
    const state = await open(t)
    const keyId = await sessionKey(state)
    const [closed, other] = [await openSession(state, keyId), await openSession(state, keyId)]
    await state.sessions.close(closed.tokenHash)
    await state.sessions.close(closed.tokenHash)
    await state.sessions.close(hashSecret('never was'))
    t.equal(await state.sessions.findOpen(closed.tokenHash), undefined)
    t.ok(await state.sessions.findOpen(other.tokenHash))
  })

  await t.test('session: it ends with its key, revoked or expired', async (t) => {
    const state = await open(t)
    const [revoked, expiring] = [await sessionKey(state), await sessionKey(state, START_US + 1_000_000)]
    const [a, b] = [await openSession(state, revoked), await openSession(state, expiring)]
    await state.keys.revoke(revoked)
    t.equal(await state.sessions.findOpen(a.tokenHash), undefined)
    t.ok(await state.sessions.findOpen(b.tokenHash))
    state.advance(1001)
    t.equal(await state.sessions.findOpen(b.tokenHash), undefined)
  })

  await t.test(
    'session: rotation without an overlap ends the sessions of the key, and no others',
    async (t) => {
      const state = await open(t)
      const keyId = await sessionKey(state)
      const { tokenHash } = await openSession(state, keyId)
      const other = await openSession(state, await sessionKey(state))
      await state.keys.rotate(keyId, hashSecret('new'), 0)
      t.equal(await state.sessions.findOpen(tokenHash), undefined)
      t.ok(await state.sessions.findOpen(other.tokenHash))
      const later = await openSession(state, keyId)
      t.ok(await state.sessions.findOpen(later.tokenHash), 'the new secret opens another')
    },
  )

  await t.test(
    'session: rotation with an overlap ends the sessions of the key with the old secret',
    async (t) => {
      const state = await open(t)
      const keyId = await sessionKey(state)
      const old = await openSession(state, keyId, { lifeS: 2 * DAY_S })
      const short = await openSession(state, keyId, { lifeS: 60 })
      await state.keys.rotate(keyId, hashSecret('new'), DAY_S)
      const later = await openSession(state, keyId, { lifeS: 2 * DAY_S })
      t.ok(await state.sessions.findOpen(old.tokenHash), 'the overlap goes on')
      t.equal(
        (await state.sessions.findOpen(short.tokenHash))?.expiresAtUs,
        short.expiresAtUs,
        'none lives longer',
      )
      state.advance(DAY_MS + 1)
      t.equal(await state.sessions.findOpen(old.tokenHash), undefined)
      t.ok(await state.sessions.findOpen(later.tokenHash))
    },
  )

  await t.test('session: none without a key', async (t) => {
    const state = await open(t)
    await t.rejects(openSession(state, randomUUID()))
  })

  await t.test(
    'session: a wall clock that fell back ends none, and one that is set right does not end a new one',
    async (t) => {
      const state = await open(t)
      const keyId = await sessionKey(state)
      const old = await openSession(state, keyId, { lifeS: 60 })
      state.advance(-365 * DAY_MS)
      t.ok(await state.sessions.findOpen(old.tokenHash))
      const opened = await openSession(state, keyId, { lifeS: 60 })
      t.ok(opened.expiresAtUs > START_US, 'its term begins at the latest time known')
      state.advance(365 * DAY_MS)
      t.ok(await state.sessions.findOpen(opened.tokenHash))
    },
  )

  await t.test('session: housekeeping removes what ended, after what belongs to it', async (t) => {
    const state = await open(t)
    const [keyId, revoked] = [await sessionKey(state), await sessionKey(state)]
    const open60 = await openSession(state, keyId)
    const closed = await openSession(state, keyId)
    const expired = await openSession(state, keyId, { lifeS: 1 })
    const ofRevoked = await openSession(state, revoked)
    await state.sessions.close(closed.tokenHash)
    await state.keys.revoke(revoked)
    state.advance(2000)
    const told: string[] = []
    await state.housekeep(async (sessionId) => {
      told.push(sessionId)
      return true
    })
    t.same(told.sort(), [closed.sessionId, expired.sessionId, ofRevoked.sessionId].sort())
    t.same(await state.sessions.listEnded(10), [])
    t.ok(await state.sessions.findOpen(open60.tokenHash))
  })

  await t.test('session: its row stays while what belongs to it is in use', async (t) => {
    const state = await open(t)
    const { tokenHash, sessionId } = await openSession(state, await sessionKey(state))
    const other = '00000000-0000-4000-8000-000000000000'
    await state.sessions.close(tokenHash)
    await state.housekeep(async () => false)
    t.same(await state.sessions.listEnded(10), [sessionId])
    t.same(await state.sessions.unknownOf([sessionId, other]), [other])
    await state.housekeep(async () => true)
    t.same(await state.sessions.unknownOf([sessionId, other]), [sessionId, other])
  })

  await t.test('session: what could not be cleaned up stays for the next round', async (t) => {
    const state = await open(t)
    const { tokenHash, sessionId } = await openSession(state, await sessionKey(state))
    await state.sessions.close(tokenHash)
    await t.rejects(
      state.housekeep(() => Promise.reject(new Error('directory busy'))),
      /directory busy/,
    )
    t.same(await state.sessions.listEnded(10), [sessionId])
  })

  await t.test('session: an untrusted clock sweeps only what was ended by hand', async (t) => {
    const state = await open(t)
    const keyId = await sessionKey(state)
    const [closed, _expired] = [
      await openSession(state, keyId),
      await openSession(state, keyId, { lifeS: 1 }),
    ]
    await state.sessions.close(closed.tokenHash)
    state.advance(10_000)
    state.clock.nowUs()
    state.advance(-DAY_MS)
    t.same(await state.sessions.listEnded(10), [closed.sessionId])
  })
}

async function keyIn(
  { keys }: Pick<KeysAndSessions, 'keys'>,
  given: { secret?: string; expiresAtUs?: number } = {},
) {
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

export async function sessionKey(state: Pick<KeysAndSessions, 'keys'>, expiresAtUs?: number) {
  return await keyIn(state, { secret: randomUUID(), ...(expiresAtUs === undefined ? {} : { expiresAtUs }) })
}

async function hashesOf({ keys }: KeysAndSessions, keyId: string): Promise<string[]> {
  const active = await keys.findActive(keyId)
  return (active?.secrets ?? []).map(({ digest }) => Buffer.from(digest).toString('hex')).sort()
}

const hex = (...secrets: string[]) => secrets.map((secret) => hashSecret(secret).toString('hex')).sort()

export async function openSession(
  { sessions }: Pick<KeysAndSessions, 'sessions'>,
  keyId: string,
  given: { lifeS?: number; notAfterUs?: number } = {},
) {
  const tokenHash = hashSecret(randomUUID())
  const sessionId = randomUUID()
  const { lifeS = 60, notAfterUs = null } = given
  const opened = await sessions.open({ sessionId, tokenHash, keyId, lifeS, notAfterUs })
  return { ...opened, tokenHash, sessionId }
}
