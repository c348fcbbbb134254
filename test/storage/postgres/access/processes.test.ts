import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { hashSecret } from '../../../../src/auth/secret.js'
import { isAppError } from '../../../../src/errors.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { createNodeKeyRows } from '../../../../src/storage/postgres/access/node-keys.js'
import { createSessionStore } from '../../../../src/storage/postgres/access/sessions.js'
import { DAY_S, openSession, sessionKey } from '../../../support/conformance/keys-and-sessions.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

t.test('two processes of a hub', { skip: noPostgres() }, async (t) => {
  const open = await postgresStates(t)
  const both = async (t: Test, sessionIdleS = 0) => {
    const one = await open(t, sessionIdleS)
    return [one, await one.another()] as const
  }

  await t.test('the first key is made by one of them', async (t) => {
    const states = await both(t)
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) => {
        const keyId = randomUUID()
        const key = {
          keyId,
          name: 'admin',
          scopes: ['admin'],
          secretHash: hashSecret(keyId),
          expiresAtUs: null,
        }
        return (states[i % 2] ?? states[0]).keys.createFirst(key)
      }),
    )
    t.equal(made.filter((key) => key !== undefined).length, 1)
    t.equal((await states[1].keys.list()).length, 1)
  })

  await t.test('together they open as many sessions of a key as it may have', async (t) => {
    const states = await both(t)
    const keyId = await sessionKey(states[0])
    const opened = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        (states[i % 2] ?? states[0]).sessions.open({
          ...{ sessionId: randomUUID(), tokenHash: hashSecret(randomUUID()), keyId },
          ...{ lifeS: 60, notAfterUs: null, mostOpen: 5 },
        }),
      ),
    )
    const refused = opened.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    t.equal(refused.length, 15)
    for (const error of refused)
      t.ok(isAppError(error) && error.errorName === 'TOO_MANY_SESSIONS', String(error))
    t.equal(await states[0].sessions.countOpen(keyId, 100), 5)
  })

  await t.test('sessions that are opened at once for a key share transactions', async (t) => {
    const [one] = await both(t)
    const keyId = await sessionKey(one)
    let writes = 0
    const counted: typeof one.db = {
      ...one.db,
      write(...call) {
        writes++
        return one.db.write(...call)
      },
    }
    const sessions = createSessionStore(counted, one.clock)
    const session = { keyId, lifeS: 60, notAfterUs: null, mostOpen: 150 }
    const opened = await Promise.allSettled(
      Array.from({ length: 200 }, () =>
        sessions.open({ ...session, sessionId: randomUUID(), tokenHash: hashSecret(randomUUID()) }),
      ),
    )
    t.equal(opened.filter(({ status }) => status === 'fulfilled').length, 150)
    t.equal(await sessions.countOpen(keyId, 1000), 150)
    t.equal(writes, 2, 'a hundred each: callers of other keys find connections')
  })

  await t.test('rotations at once leave one secret without an overlap', async (t) => {
    const [a, b] = await both(t)
    const keyId = await sessionKey(a)
    const session = await openSession(b, keyId)
    const secrets = Array.from({ length: 8 }, () => hashSecret(randomUUID()))
    await Promise.all(secrets.map((secret, i) => (i % 2 === 0 ? a : b).keys.rotate(keyId, secret, 0)))
    const valid = await a.keys.findActive(keyId)
    t.equal(valid?.secrets.length, 1)
    t.ok(secrets.some((secret) => secret.equals(valid?.secrets[0]?.digest ?? Buffer.alloc(0))))
    t.equal(await b.sessions.findOpen(session.tokenHash), undefined, 'the session of the other process ended')
  })

  await t.test('what one ends has ended for the other', async (t) => {
    const [a, b] = await both(t)
    const keyId = await sessionKey(a)
    const [first, second] = [await openSession(a, keyId), await openSession(a, keyId)]
    t.ok(await b.sessions.findOpen(first.tokenHash))
    await a.sessions.close(first.tokenHash)
    t.equal(await b.sessions.findOpen(first.tokenHash), undefined)
    const ended = await Promise.all([a, b].map((state) => state.sessions.end(second.sessionId, null)))
    t.equal(ended.filter((session) => session !== undefined).length, 1, 'one of them ended it')
    await b.keys.revoke(keyId)
    t.equal(await a.keys.findActive(keyId), undefined)
    t.equal(await a.sessions.endAll(keyId), 0)
  })

  await t.test('uses of both are kept, and a session goes on at the other', async (t) => {
    const [a, b] = await both(t, DAY_S)
    const keyId = await sessionKey(a)
    const { sessionId, tokenHash } = await openSession(a, keyId, { lifeS: 30 * DAY_S })
    for (let hours = 0; hours < 40; hours++) {
      a.advance(3_600_000)
      const state = hours % 2 === 0 ? a : b
      state.sessions.noteUse(sessionId)
      state.keys.noteUse(keyId)
      await state.housekeep()
    }
    t.ok(await a.sessions.findOpen(tokenHash))
    t.ok(await b.sessions.findOpen(tokenHash))
    const used = (await a.keys.find(keyId))?.lastUsedAtUs
    t.ok(Number(used) >= a.clock.nowUs() - 1_000_000)
    a.sessions.noteUse(sessionId)
    await b.sessions.remove([sessionId])
    await a.sessions.flushUses(true)
    t.equal(await a.sessions.findOpen(tokenHash), undefined)
  })

  await t.test('each act reaches the log of one of them, once', async (t) => {
    const [a, b] = await both(t)
    const names = Array.from({ length: 40 }, (_, i) => `key ${i}`)
    await Promise.all(names.map((name, i) => (i % 2 === 0 ? a : b).audit.note({ act: 'key created', name })))
    const seen: string[] = []
    const takeAll = async () => {
      await Promise.all([a, b].map(({ audit }) => audit.handOver(({ name }) => void seen.push(String(name)))))
    }
    await takeAll()
    await takeAll()
    t.same(seen.sort(), names.sort())
  })

  await t.test('what both remove at once is removed by one of them', async (t) => {
    const [a, b] = await both(t)
    const key = new Uint8Array(32).fill(1)
    await a.nodePeers.add({ nodeId: randomUUID(), name: 'van', signingKey: key, exchangeKey: key })
    const removed = await Promise.all([a, b, a, b].map(({ nodePeers }) => nodePeers.remove('van')))
    t.equal(removed.filter((peer) => peer !== undefined).length, 1)
  })

  await t.test('a rotation removes the digests of secrets whose overlap has ended', async (t) => {
    const [a, b] = await both(t)
    const keyId = await sessionKey(a)
    await a.keys.rotate(keyId, hashSecret('second'), 60)
    a.advance(61_000)
    await b.keys.rotate(keyId, hashSecret('third'), 60)
    t.match(await a.db.read.get('SELECT count(*) AS n FROM api_key_secret'), { n: 2 })
  })

  await t.test('private keys of another key file are null', async (t) => {
    const state = await open(t)
    const key = new Uint8Array(32).fill(7)
    const pair = { publicKey: key, privateKey: key }
    await state.nodeKeys.claim({ signing: pair, exchange: pair })
    const other = createNodeKeyRows(state.db, state.clock, createKeyring(new Uint8Array(32).fill(1)))
    t.match(await other.find(), { signing: { privateKey: null }, exchange: { privateKey: null } })
  })

  await t.test('identity and profiles are one', async (t) => {
    const [a, b] = await both(t)
    const ids = await Promise.all([a, b, a, b].map(({ meta }) => meta.claimNodeId(randomUUID())))
    t.equal(new Set(ids).size, 1)
    const add = (state: typeof a, digest: string) =>
      state.fleetProfiles.add({ name: 'field', digest, body: { digest }, createdBy: null }, 0)
    const added = await Promise.all(['a', 'b', 'c', 'd'].map((digest, i) => add(i % 2 === 0 ? a : b, digest)))
    t.equal(added.filter((version) => version !== undefined).length, 1)
    t.equal((await b.fleetProfiles.versions('field')).length, 1)
  })

  await t.test('closing writes what one noted; a recorded time of before is kept', async (t) => {
    const [a, b] = await both(t)
    const keyId = await sessionKey(a)
    const { sessionId } = await openSession(a, keyId, { lifeS: DAY_S })
    await a.check()
    await a.probeWrite()
    a.advance(700_000)
    a.sessions.noteUse(sessionId)
    await a.housekeep()
    const recorded = await b.meta.lastSeenUs()
    t.ok(recorded > 0)
    a.advance(5000)
    a.sessions.noteUse(sessionId)
    await a.close()
    await a.close()
    t.ok((await b.storedUse(sessionId)) > recorded)
    t.ok((await b.meta.lastSeenUs()) > recorded)
  })
})
