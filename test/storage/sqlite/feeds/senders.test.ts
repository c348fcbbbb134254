import t from 'tap'
import { conformSenders } from '../../../support/conformance/senders.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('senders of feeds on SQLite in memory', async (t) => {
  await conformSenders(t, memoryState)
})
