import { randomUUID } from 'node:crypto'
import Database from 'better-sqlite3'
import t from 'tap'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { STATE_MIGRATIONS } from '../../../../src/storage/sqlite/connection/state-migrations.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { conformSessions, openSession, sessionKey } from '../../../support/conformance/keys-and-sessions.js'
import { conformIdleSessions, conformSessionLists } from '../../../support/conformance/session-lists.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('sessions on SQLite in memory', async (t) => {
  await conformSessions(t, memoryState)
  await conformIdleSessions(t, memoryState)
  await conformSessionLists(t, memoryState)
})

t.test('session: it outlives a restart', async (t) => {
  const file = `${t.testdir()}/state.db`
  const before = await openState(file)
  const { tokenHash, sessionId } = await openSession(before, await sessionKey(before))
  await before.close()
  const after = await openState(file)
  t.match(await after.sessions.findOpen(tokenHash), { sessionId })
  await after.close()
})

t.test(
  'session: after a crash its last use is that which was written, after a stop the real one',
  async (t) => {
    const file = `${t.testdir()}/state.db`
    let wallMs = Date.UTC(2027, 0, 1)
    const options = { sessionIdleS: 86_400, wallMs: () => wallMs }
    const crashed = await openState(file, options)
    const { tokenHash, sessionId } = await openSession(crashed, await sessionKey(crashed), { lifeS: 864_000 })
    wallMs += 3_000_000
    crashed.sessions.noteUse(sessionId)
    await crashed.sessions.flushUses()
    crashed.stateDb.db.close() // as after a kill: nothing is flushed
    const openAfter = async (ms: number) => {
      wallMs += ms
      const state = await openState(file, options)
      const found = await state.sessions.findOpen(tokenHash)
      if (found !== undefined) state.sessions.noteUse(sessionId)
      await state.close()
      return found !== undefined
    }
    t.ok(await openAfter(86_400_000 - 3_000_001), 'a day after it was opened')
    t.ok(await openAfter(86_400_000), 'a day after the use that the stop wrote')
    t.notOk(await openAfter(86_400_001))
  },
)

t.test('session: one from before the idle limit counts as used when the gateway last ran', async (t) => {
  const file = `${t.testdir()}/state.db`
  const [keyId, sessionId] = [randomUUID(), randomUUID()]
  openDatabase(file, STATE_MIGRATIONS.slice(0, 3)).close()
  const old = new Database(file)
  const startUs = Date.UTC(2027, 0, 1) * 1000
  old.prepare('INSERT INTO api_key VALUES (?, ?, ?, ?, NULL, NULL, NULL)').run(keyId, 'k', '[]', startUs)
  const session = [sessionId, Buffer.alloc(32), keyId, startUs, startUs + 86_400_000_000 * 30]
  old.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?, NULL)').run(...session)
  const lastUs = startUs + 86_400_000_000 * 20
  old.prepare("INSERT INTO meta VALUES ('last_seen_us', ?)").run(String(lastUs))
  old.close()
  const wallMs = () => lastUs / 1000 + 1000
  const state = await openState(file, { sessionIdleS: 86_400, wallMs })
  t.match(await state.sessions.findOpen(Buffer.alloc(32)), { sessionId })
  t.match(await state.sessions.list({ keyId: null, limit: 10, offset: 0 }), [{ lastUsedAtUs: lastUs }])
  await state.close()
})
