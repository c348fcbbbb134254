import t from 'tap'
import { conformFeedRows, conformManyFeedRows } from '../../../support/conformance/feed-rows.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('feeds and bundles on SQLite in memory', async (t) => {
  await conformFeedRows(t, memoryState)
  await conformManyFeedRows(t, memoryState)
})
