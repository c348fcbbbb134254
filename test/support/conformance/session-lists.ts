import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { DAY_MS, DAY_S, type Open, openSession, START_US, sessionKey } from './keys-and-sessions.js'

/** Idle limit of sessions, for every implementation of their store. */
export async function conformIdleSessions(t: Test, open: Open): Promise<void> {
  const HOUR_MS = 3_600_000
  await t.test('session: it ends when it is not used for the idle limit', async (t) => {
    const state = await open(t, DAY_S)
    const keyId = await sessionKey(state)
    const unused = await openSession(state, keyId, { lifeS: 30 * DAY_S })
    state.advance(DAY_MS - 1)
    t.ok(await state.sessions.findOpen(unused.tokenHash))
    state.advance(2)
    t.equal(await state.sessions.findOpen(unused.tokenHash), undefined)
    state.advance(2 * HOUR_MS)
    t.equal(await state.sessions.countOpen(keyId, 10), 0, 'and makes room for another')
    t.same(await state.sessions.listEnded(10), [unused.sessionId])
  })

  await t.test('session: uses extend it within its life, and looking at it does not', async (t) => {
    const state = await open(t, DAY_S)
    const { sessions } = state
    const used = await openSession(state, await sessionKey(state), { lifeS: 3 * DAY_S })
    const seen = await openSession(state, await sessionKey(state), { lifeS: 3 * DAY_S })
    for (let hours = 0; hours < 71; hours++) {
      state.advance(HOUR_MS)
      sessions.noteUse(used.sessionId)
      await sessions.findOpen(seen.tokenHash)
      if (hours % 10 === 0) await state.housekeep()
      t.ok(await sessions.findOpen(used.tokenHash), `after ${hours + 1} h`)
    }
    t.equal(await sessions.findOpen(seen.tokenHash), undefined)
    state.advance(HOUR_MS + 1)
    t.equal(await sessions.findOpen(used.tokenHash), undefined, 'its life is over')
  })

  await t.test('session: uses are written seldom, all of them at the end', async (t) => {
    const state = await open(t, DAY_S)
    const { sessions } = state
    const keyId = await sessionKey(state)
    const { sessionId } = await openSession(state, keyId, { lifeS: 30 * DAY_S })
    const stored = async () => await state.storedUse(sessionId)
    const first = await stored()
    const lagMs = state.useLagMs
    state.advance(lagMs / 2)
    sessions.noteUse(sessionId)
    await sessions.flushUses()
    t.equal(await stored(), first, 'within the lag nothing is written')
    t.match(await sessions.list({ keyId, limit: 10, offset: 0 }), [
      { sessionId, lastUsedAtUs: START_US + lagMs * 500 },
    ])
    state.advance(lagMs + 1000)
    sessions.noteUse(sessionId)
    await sessions.flushUses()
    const second = await stored()
    t.ok(second >= first + lagMs * 1500, 'beyond it, it is')
    state.advance(1000)
    sessions.noteUse(sessionId)
    await sessions.flushUses()
    t.equal(await stored(), second)
    await sessions.flushUses(true)
    t.ok((await stored()) > second, 'before the database is closed as well')
  })

  await t.test('session: one that is removed while its use is noted is forgotten', async (t) => {
    const state = await open(t, DAY_S)
    const { sessionId } = await openSession(state, await sessionKey(state), { lifeS: 60 })
    state.sessions.noteUse(sessionId)
    state.sessions.noteUse(randomUUID())
    await state.sessions.remove([sessionId])
    await state.sessions.flushUses(true)
    t.same(await state.sessions.unknownOf([sessionId]), [sessionId])
  })

  await t.test('session: one in use is listed and ended before its use is written', async (t) => {
    const state = await open(t, 3)
    const keyId = await sessionKey(state)
    const used = await openSession(state, keyId, { lifeS: DAY_S })
    const other = await openSession(state, keyId, { lifeS: DAY_S })
    for (let i = 0; i < 4; i++) {
      state.advance(2000)
      state.sessions.noteUse(used.sessionId)
    }
    t.ok(await state.sessions.findOpen(used.tokenHash))
    const listed = await state.sessions.list({ keyId, limit: 10, offset: 0 })
    t.ok(listed.some(({ sessionId }) => sessionId === used.sessionId))
    t.equal(await state.sessions.countOpen(keyId, 10), 2)
    t.match(await state.sessions.end(other.sessionId, null), { keyId }, 'as another process sees one in use')
    t.equal(await state.sessions.endAll(keyId), 1)
    t.equal(await state.sessions.findOpen(used.tokenHash), undefined)
  })

  await t.test('session: an untrusted clock makes none idle', async (t) => {
    const state = await open(t, DAY_S)
    const old = await openSession(state, await sessionKey(state), { lifeS: 3000 * DAY_S })
    state.clock.nowUs()
    state.advance(-DAY_MS)
    state.sessions.noteUse(old.sessionId)
    state.advance(1000 * DAY_MS)
    t.notOk(state.clock.isTrusted())
    t.ok(await state.sessions.findOpen(old.tokenHash))
    t.same(await state.sessions.listEnded(10), [])
  })
}

/** Lists of sessions and their end by id, for every implementation of their store. */
export async function conformSessionLists(t: Test, open: Open): Promise<void> {
  const all = { keyId: null, limit: 100, offset: 0 }
  const idsOf = (listed: readonly { sessionId: string }[]) => listed.map(({ sessionId }) => sessionId)

  await t.test('session: open ones are listed by key, the newest first, in pages', async (t) => {
    const state = await open(t)
    const [mine, other] = [await sessionKey(state), await sessionKey(state)]
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.unshift((await openSession(state, mine)).sessionId)
      state.advance(10)
    }
    const { sessionId, expiresAtUs } = await openSession(state, other)
    const list = (keyId: string | null, limit: number, offset: number) =>
      state.sessions.list({ keyId, limit, offset })
    t.same(idsOf(await list(mine, 100, 0)), ids)
    t.same(idsOf(await list(mine, 2, 1)), ids.slice(1, 3))
    t.same(idsOf(await list(null, 100, 0)), [sessionId, ...ids])
    t.match(await list(other, 1, 0), [{ sessionId, keyId: other, expiresAtUs, idleAtUs: null }])
    t.same(await list(randomUUID(), 10, 0), [])
  })

  await t.test('session: what has ended in any way is not listed', async (t) => {
    const state = await open(t, DAY_S)
    const [keyId, revoked] = [await sessionKey(state), await sessionKey(state)]
    const expiring = await sessionKey(state, START_US + 30_000_000)
    const closed = await openSession(state, keyId)
    await openSession(state, keyId, { lifeS: 1 })
    await openSession(state, revoked)
    await openSession(state, expiring, { lifeS: DAY_S })
    const idle = await openSession(state, keyId, { lifeS: 30 * DAY_S })
    const kept = await openSession(state, keyId, { lifeS: 30 * DAY_S })
    await state.sessions.close(closed.tokenHash)
    await state.keys.revoke(revoked)
    state.advance(60_000)
    t.same(idsOf(await state.sessions.list(all)).sort(), [idle.sessionId, kept.sessionId].sort())
    state.advance(DAY_MS - 120_000)
    state.sessions.noteUse(kept.sessionId)
    state.advance(120_000)
    const times = Object.fromEntries(
      (await state.sessions.list(all)).map(({ sessionId, idleAtUs }) => [sessionId, idleAtUs]),
    )
    t.ok(state.clock.hasPassed(times[idle.sessionId] ?? null))
    t.notOk(state.clock.hasPassed(times[kept.sessionId] ?? null))
    await state.sessions.flushUses(true)
    state.advance(2 * 3_600_000)
    t.same(idsOf(await state.sessions.list(all)), [kept.sessionId])
  })

  await t.test('session: it is ended by its id, by its own key or by whoever may end all', async (t) => {
    const state = await open(t)
    const [mine, other] = [await sessionKey(state), await sessionKey(state)]
    const [a, b] = [await openSession(state, mine), await openSession(state, mine)]
    t.equal(await state.sessions.end(a.sessionId, other), undefined, 'not of this key')
    t.equal(await state.sessions.end(randomUUID(), mine), undefined)
    t.equal(await state.sessions.end('\u0000', null), undefined)
    t.ok(await state.sessions.findOpen(a.tokenHash))
    t.match(await state.sessions.end(a.sessionId, mine), { sessionId: a.sessionId, keyId: mine })
    t.equal(await state.sessions.findOpen(a.tokenHash), undefined)
    t.equal(await state.sessions.end(a.sessionId, mine), undefined, 'it has ended')
    t.ok(await state.sessions.end(b.sessionId, null))
    t.equal(await state.sessions.findOpen(b.tokenHash), undefined)
  })

  await t.test('session: all of a key are ended, and no others', async (t) => {
    const state = await open(t)
    const [mine, other] = [await sessionKey(state), await sessionKey(state)]
    const [a, b] = [await openSession(state, mine), await openSession(state, mine)]
    const theirs = await openSession(state, other)
    await state.sessions.close(b.tokenHash)
    t.equal(await state.sessions.endAll(mine), 1)
    t.equal(await state.sessions.endAll(mine), 0)
    t.equal(await state.sessions.findOpen(a.tokenHash), undefined)
    t.ok(await state.sessions.findOpen(theirs.tokenHash))
  })
}
