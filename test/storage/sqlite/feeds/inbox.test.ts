import t from 'tap'
import { AppError } from '../../../../src/errors.js'
import { createFeedInbox } from '../../../../src/storage/sqlite/feeds/inbox.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { openTables } from '../../../support/tables.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const STATE = { sender: VAN, feed: 'feed', senderTable: 'their table', epoch: 1, digest: 'd' }

function setUp() {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const inbox = createFeedInbox(tables.data)
  const row = (k: bigint) => ({ origin: VAN, day: 20_000, version: 0, values: [null, null, null, k] })
  const take = (more: object) =>
    inbox.take({ ...STATE, after: 0, last: 2, rows: [row(1n), row(2n)], ...more }, 'key')
  return { tables, table, inbox, take, row }
}

t.test('inbox: a batch of a feed that was not opened is refused, and stores nothing', async (t) => {
  const { tables, table, take } = setUp()
  await rejectsWith(t, take({}), 'UNKNOWN_FEED')
  t.same(await tables.read(table), [])
})

t.test('inbox: a batch is taken at the cursor alone, and of the opened state alone', async (t) => {
  const { tables, table, inbox, take, row } = setUp()
  t.equal(await inbox.open(STATE, table, { start: 0 }), 0)
  t.equal(await take({}), 2)
  await rejectsWith(t, take({}), 'CURSOR_MISMATCH', { data: { cursor: 2 } })
  const next = { after: 2, last: 3, rows: [row(3n)] }
  await rejectsWith(t, take({ ...next, digest: 'another' }), 'UNKNOWN_FEED')
  await rejectsWith(t, take({ ...next, epoch: 2 }), 'UNKNOWN_FEED')
  await rejectsWith(t, take({ ...next, senderTable: 'another' }), 'UNKNOWN_FEED')
  t.equal(await take(next), 1)
  t.same(
    (await tables.read(table)).map(({ properties }) => properties.k),
    [1, 2, 3],
  )
})

t.test(
  'inbox: rows of one origin are stored while they are read; a fault among them stores none',
  async (t) => {
    const { tables, table, inbox, take, row } = setUp()
    await inbox.open(STATE, table, { start: 0 })
    const base = '33333333-3333-4333-8333-333333333333'
    function* rows(isFaulty: boolean) {
      yield { ...row(1n), origin: base }
      if (isFaulty) throw new AppError('BAD_RECORD', { index: 1 })
      yield { ...row(2n), origin: base }
    }
    await rejectsWith(t, take({ rows: rows(true), origin: base }), 'BAD_RECORD', { data: { index: 1 } })
    t.same(await tables.read(table), [])
    t.match(await inbox.find(VAN, 'feed'), { cursor: 0 })
    t.equal(await take({ rows: rows(false), origin: base }), 2)
    const stored = await createTableChanges(tables.data.reader).after(table, 0, 10)
    t.same(
      stored.map(({ origin, sender }) => [origin, sender]),
      [
        [base, VAN],
        [base, VAN],
      ],
    )
  },
)

t.test('inbox: a row that arrives once more is written only if its day is another one', async (t) => {
  const { tables, table, inbox, take, row } = setUp()
  await inbox.open(STATE, table, { start: 0 })
  await take({})
  t.equal(await take({ after: 2, last: 3, rows: [row(1n)] }), 0)
  t.equal(await take({ after: 3, last: 4, rows: [{ ...row(1n), day: 20_001 }] }), 1)
  const rows = await createTableChanges(tables.data.reader).after(table, 0, 10)
  t.same(
    rows.map(({ day, values }) => [Number(values[3]), day]),
    [
      [2, 20_000],
      [1, 20_001],
    ],
  )
})

t.test(
  'inbox: an older version of a row is no news, a newer one is, also with the same values',
  async (t) => {
    const { tables, table, inbox, row } = setUp()
    await inbox.open(STATE, table, { start: 0 })
    let after = 0
    const taken = async (version: number, day: number) => {
      const rows = [{ ...row(1n), version, day }]
      return await inbox.take({ ...STATE, after: after++, last: after, rows }, 'key')
    }
    t.equal(await taken(5, 1), 1)
    t.equal(await taken(4, 2), 0, 'older')
    t.equal(await taken(0, 3), 0, 'not known')
    t.equal(await taken(5, 1), 0, 'the same')
    t.equal(await taken(5, 4), 1, 'the same version with other values mends a row')
    t.equal(await taken(6, 4), 1, 'newer')
    const [stored] = await createTableChanges(tables.data.reader).after(table, 0, 10)
    t.match(stored, { version: 6, day: 4, origin: VAN, sender: VAN })
  },
)

t.test('inbox: a cursor beyond what the sender has begins again', async (t) => {
  const { table, inbox, take } = setUp()
  await inbox.open(STATE, table, { start: 0 })
  await take({})
  t.equal(await inbox.open(STATE, table, { start: 0, last: 2 }), 2)
  t.equal(await inbox.open(STATE, table, { start: 0, last: 1 }), 0)
})

t.test('inbox: a table that was dropped since it was found opens no feed', async (t) => {
  const { table, inbox } = setUp()
  await rejectsWith(
    t,
    inbox.open(STATE, { ...table, tableId: table.tableId + 1 }, { start: 0 }),
    'UNKNOWN_FEED',
  )
  await rejectsWith(t, inbox.open(STATE, { ...table, dataName: 'nothing' }, { start: 0 }), 'UNKNOWN_FEED')
})
