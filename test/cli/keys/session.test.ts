import { randomUUID } from 'node:crypto'
import path from 'node:path'
import t, { type Test } from 'tap'
import { hashSecret } from '../../../src/auth/secret.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { cli } from '../../support/run-cli.js'

/** A data directory with the keys `a` and `b`, and two sessions of each. */
async function prepared(t: Test) {
  const cwd = t.testdir()
  await cli(cwd, ['init'])
  const state = await openState(path.join(cwd, 'data/state.db'))
  t.teardown(() => state.close())
  const ids: Record<string, string[]> = {}
  for (const name of ['a', 'b']) {
    const keyId = randomUUID()
    const secretHash = hashSecret(name)
    await state.keys.create({ keyId, name, scopes: ['session:write'], secretHash, expiresAtUs: null })
    for (let i = 0; i < 2; i++) {
      const sessionId = randomUUID()
      const tokenHash = hashSecret(sessionId)
      await state.sessions.open({ sessionId, tokenHash, keyId, lifeS: 60, notAfterUs: null })
      ids[name] = [sessionId, ...(ids[name] ?? [])]
    }
  }
  const session = (...argv: string[]) => cli(cwd, ['session', ...argv])
  return {
    ids: ids as { a: [string, string]; b: [string, string] },
    session,
    acts: async () => {
      const acts: { act: string }[] = []
      await state.audit.handOver((act) => acts.push(act))
      return acts.filter(({ act }) => act === 'session-end')
    },
    isOpen: async (sessionId: string) => (await state.sessions.findOpen(hashSecret(sessionId))) !== undefined,
    list: async (...argv: string[]) =>
      JSON.parse((await session('list', '--json', ...argv)).stdout) as Record<string, string>[],
  }
}

t.test('session list: open sessions of all keys or of one, without tokens', async (t) => {
  const { ids, session, list } = await prepared(t)
  const rows = await list()
  t.same(rows.map(({ sessionId }) => sessionId).sort(), [...ids.a, ...ids.b].sort())
  const fields = ['sessionId', 'apiKey', 'keyName', 'createdAt', 'lastUsedAt', 'expiresAt', 'idleAt']
  t.same(Object.keys(rows[0] ?? {}), fields)
  t.same((await list('--key', 'b')).map(({ sessionId }) => sessionId).sort(), [...ids.b].sort())
  t.equal((await list('--limit', '3')).length, 3)
  const { stdout } = await session('list', '--key', 'a')
  t.match(stdout, new RegExp(`^${ids.a[0]} {2}a {2}opened 20.*, last used 20.*, expires 20`, 'm'))
  t.match(await session('list', '--key', 'nobody'), { code: 1, stderr: /no key has the id or name nobody/ })
  t.match(await session('list', '--limit', '0'), { code: 2, stderr: /whole number/ })
})

t.test('session end: by ids, and what is not there is told', async (t) => {
  const { ids, session, isOpen, acts } = await prepared(t)
  const unknown = randomUUID()
  const some = await session('end', ids.a[0], unknown, ids.b[1])
  t.match(some, { code: 1, stdout: '2 sessions have ended\n', stderr: new RegExp(unknown) })
  t.same(await Promise.all([...ids.a, ...ids.b].map(isOpen)), [false, true, true, false])
  t.match(await session('end', ids.a[0], '--json'), { code: 1, stdout: /"ended":0,"missing":\["/ })
  t.match(await acts(), [
    { keyName: 'a', sessionId: ids.a[0] },
    { keyName: 'b', sessionId: ids.b[1] },
  ])
})

t.test('session end --key: all of a key and no other', async (t) => {
  const { ids, session, isOpen, acts } = await prepared(t)
  t.match(await session('end', '--key', 'a'), { code: 0, stdout: '2 sessions have ended\n' })
  t.match(await session('end', '--key', 'a'), { code: 0, stdout: '0 sessions have ended\n' })
  t.same(await Promise.all([...ids.a, ...ids.b].map(isOpen)), [false, false, true, true])
  t.match(await acts(), [{ keyName: 'a', sessions: 2 }])
  t.match(await session('list', '--key', 'a'), { code: 0, stdout: 'no session is open\n' })
})

t.test('session end: one of ids and --key', async (t) => {
  const { ids, session } = await prepared(t)
  for (const argv of [[], [ids.a[0], '--key', 'a']])
    t.match(await session('end', ...argv), { code: 2, stderr: /expected ids of sessions, or --key/ })
})
