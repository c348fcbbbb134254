import { randomUUID } from 'node:crypto'
import t from 'tap'
import { hashSecret } from '../../../../src/auth/secret.js'
import { rowCaches } from '../../../../src/storage/sqlite/access/row-cache.js'
import { openState } from '../../../../src/storage/sqlite/state.js'

async function twoProcesses(t: { testdir(): string; teardown(work: () => unknown): unknown }) {
  const file = `${t.testdir()}/state.db`
  // two connections, as of a gateway and its command line
  const [gateway, other] = [await openState(file), await openState(file)]
  t.teardown(() => Promise.all([gateway.close(), other.close()]))
  const keyId = randomUUID()
  const tokenHash = hashSecret('token')
  await gateway.keys.create({
    ...{ keyId, name: 'k', scopes: ['map:read'], secretHash: hashSecret('s'), expiresAtUs: null },
  })
  const session = { sessionId: randomUUID(), tokenHash, keyId, lifeS: 3600, notAfterUs: null }
  await gateway.sessions.open(session)
  const seen = async () => ({
    key: await gateway.keys.findActive(keyId),
    session: await gateway.sessions.findOpen(tokenHash),
  })
  return { gateway, other, keyId, tokenHash, session, seen }
}

t.test(
  'row cache: what another process writes counts at once, in the same turn of the event loop',
  async (t) => {
    const { other, keyId, seen } = await twoProcesses(t)
    t.match(await seen(), { key: { scopes: ['map:read'] }, session: { keyId } })
    t.match(await seen(), { key: { scopes: ['map:read'] }, session: { keyId } }, 'from memory')
    await other.keys.setScopes(keyId, ['admin'])
    t.match((await seen()).key, { scopes: ['admin'] })
    const { db } = other.stateDb
    db.prepare('UPDATE api_key SET revoked_at_us = 1 WHERE key_id = ?').run(keyId)
    t.strictSame(await seen(), { key: undefined, session: undefined }, 'no turn lies in between')
  },
)

t.test('row cache: a session that another process closes ends at once', async (t) => {
  const { other, tokenHash, session, seen, gateway } = await twoProcesses(t)
  t.ok((await seen()).session)
  t.ok(await gateway.sessions.findOpen(tokenHash, true))
  await other.sessions.end(session.sessionId, null)
  t.equal((await seen()).session, undefined)
  t.equal(await gateway.sessions.findOpen(tokenHash, true), undefined)
})

t.test('row cache: a key and a session that were unknown are found once they exist', async (t) => {
  const { gateway, other, keyId } = await twoProcesses(t)
  const tokenHash = hashSecret('later')
  const later = randomUUID()
  t.equal(await gateway.sessions.findOpen(tokenHash), undefined)
  t.equal(await gateway.keys.findActive(later), undefined)
  await other.sessions.open({ sessionId: later, tokenHash, keyId, lifeS: 60, notAfterUs: null })
  await other.keys.create({
    ...{ keyId: later, name: 'l', scopes: [], secretHash: hashSecret('l'), expiresAtUs: null },
  })
  t.match(await gateway.sessions.findOpen(tokenHash), { sessionId: later })
  t.match(await gateway.keys.findActive(later), { keyId: later })
})

t.test('row cache: own writes count at once; rows are read once while nothing is written', async (t) => {
  const { gateway } = await twoProcesses(t)
  const { db } = gateway.stateDb
  const cache = rowCaches(db)<number>()
  let reads = 0
  const read = () => ++reads
  t.equal(cache.get('a', read), 1)
  t.equal(cache.get('a', read), 1)
  t.equal(cache.get('a', read, true), 1)
  t.equal(cache.get('b', read), 2)
  db.exec("UPDATE api_key SET name = 'x'")
  t.equal(cache.get('a', read, true), 3)
  t.equal(cache.get('b', read), 4)
  for (let i = 0; i < 5000; i++) cache.get(`${i}`, () => 0)
  t.equal(cache.get('a', read), 5, 'it is bounded')
})
