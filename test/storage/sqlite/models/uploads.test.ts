import t from 'tap'
import { conformUploads } from '../../../support/conformance/uploads.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('uploads on SQLite in memory', async (t) => {
  await conformUploads(t, memoryState)
})
