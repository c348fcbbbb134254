import t from 'tap'
import { createFeedIdentity } from '../../../../src/storage/sqlite/feeds/identity.js'
import { createFeedInbox } from '../../../../src/storage/sqlite/feeds/inbox.js'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { conformInbox } from '../../../support/conformance/inbox.js'
import { openTables } from '../../../support/tables.js'

t.test('inbox on SQLite in memory', async (t) => {
  await conformInbox(t, async () => {
    const { data, register } = openTables()
    return {
      inbox: createFeedInbox(data),
      digests: createTableDigests(data),
      identity: createFeedIdentity(data),
      register: async (...given) => register(...given),
      rows: (table) => createTableChanges(data.reader).after(table, 0, 10_000),
    }
  })
})
