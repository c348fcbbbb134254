import t from 'tap'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { openSession, sessionKey, testSessions } from '../../../support/key-session-conformance.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('sessions on SQLite in memory', async (t) => {
  await testSessions(t, memoryState)
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
