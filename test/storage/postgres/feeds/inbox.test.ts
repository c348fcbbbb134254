import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createFeedIdentity } from '../../../../src/storage/postgres/feeds/identity.js'
import { createFeedInbox } from '../../../../src/storage/postgres/feeds/inbox.js'
import { createTableDigests } from '../../../../src/storage/postgres/feeds/table-digests.js'
import { changedAfterSql, ORIGIN_SQL } from '../../../../src/storage/postgres/tables/changed-sql.js'
import { sqlTypeOf } from '../../../../src/storage/postgres/tables/ddl.js'
import { createOrigins } from '../../../../src/storage/postgres/tables/origins.js'
import { createTableStore, createTablesContext } from '../../../../src/storage/postgres/tables/store.js'
import { readValues } from '../../../../src/storage/postgres/tables/stored-values.js'
import {
  conformInbox,
  type InboxWorld,
  registerItems,
  STATE,
  sentRow,
  VAN,
} from '../../../support/conformance/inbox.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates, type TestPostgresState } from '../../../support/postgres-state.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { columnOf } from '../../../support/tables.js'

const skip = noPostgres()

/** The inbox of one process. */
function worldOf({ db }: Pick<TestPostgresState, 'db'>): InboxWorld {
  const context = createTablesContext(db, { writer: randomUUID() })
  const store = createTableStore(context)
  return {
    inbox: createFeedInbox(context),
    digests: createTableDigests(context),
    identity: createFeedIdentity(db, (error) => {
      throw error
    }),
    register: (dataName, columns, uniqueColumns) =>
      store.register({ dataName, schema: 'event', columns: columns.map(columnOf), uniqueColumns }, 1),
    async rows(table) {
      const found = await db.read.lists(changedAfterSql(table, ORIGIN_SQL), [0, 10_000], 'kept')
      return found.map((row) => {
        const [change, origin, day, version, sender] = row
        const values = readValues(table.columns.map(sqlTypeOf), row, 5)
        return {
          ...{ change: Number(change), origin: origin ?? '', day: Number(day), version: Number(version) },
          ...{ sender: sender ?? '', values },
        }
      })
    },
  }
}

t.test('inbox on PostgreSQL', { skip }, async (t) => {
  const states = await postgresStates(t)
  await conformInbox(t, async (t) => worldOf(await states(t)))

  await t.test('a batch that arrives at two processes at once is stored once', async (t) => {
    const state = await states(t)
    const [a, b] = [worldOf(state), worldOf(await state.another())]
    const table = await registerItems(a)
    await a.inbox.open(STATE, table, { start: 0 })
    const batch = { ...STATE, after: 0, last: 2, rows: [sentRow(1), sentRow(2)], origin: VAN }
    const taken = await Promise.allSettled([a, b, a, b].map(({ inbox }) => inbox.take(batch, 'key')))
    t.equal(taken.filter(({ status }) => status === 'fulfilled').length, 1)
    t.equal((await b.rows(table)).length, 2)
    t.match(await b.inbox.find(VAN, 'feed'), { cursor: 2 })
  })

  await t.test('feeds that are opened at once share transactions, and each has its answer', async (t) => {
    const state = await states(t)
    const [a, b] = [worldOf(state), worldOf(await state.another())]
    const table = await registerItems(a)
    await a.inbox.open({ ...STATE, feed: 'old', epoch: 5 }, table, { start: 3 })
    const xid = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS "xid"'
    const before = await state.db.read.get<{ xid: number }>(xid)
    const opened = Array.from({ length: 200 }, (_, n) =>
      (n % 2 === 0 ? a : b).inbox.open({ ...STATE, feed: `feed-${n}` }, table, { start: n }),
    )
    const stale = rejectsWith(t, a.inbox.open({ ...STATE, feed: 'old' }, table, { start: 0 }), 'STALE_EPOCH')
    const twice = [1, 2].map(() => b.inbox.open({ ...STATE, feed: 'twice' }, table, { start: 7 }))
    t.same(
      await Promise.all(opened),
      opened.map((_, n) => n),
    )
    await stale
    t.same(await Promise.all(twice), [7, 7])
    const after = await state.db.read.get<{ xid: number }>(xid)
    t.ok((after?.xid ?? 0) - (before?.xid ?? 0) < 20)
    t.match(await b.inbox.find(VAN, 'old'), { cursor: 3, epoch: 5 }, 'the refused one is as it was')
    t.match(await a.inbox.find(VAN, 'feed-150'), { cursor: 150 })
  })

  await t.test('nodes that a rolled back transaction has named are named again', async (t) => {
    const { db } = await states(t)
    const origins = createOrigins(db)
    const node = randomUUID()
    const ids: number[] = []
    const failed = db.write(async (rows) => {
      ids.push(await origins.keep(rows, node), await origins.keep(rows, node))
      throw new Error('rolled back')
    })
    await t.rejects(failed, /rolled back/)
    t.equal(ids[0], ids[1])
    const stored = async () =>
      (await db.read.get<{ id: number }>('SELECT origin_id AS id FROM row_origin WHERE node_id = $1', node))
        ?.id
    t.equal(await stored(), undefined)
    await origins.prepare([node, node, ''])
    const id = await stored()
    t.type(id, 'number')
    t.equal(await db.write((rows) => origins.keep(rows, node)), id)
    t.equal(await db.write((rows) => createOrigins(db).keep(rows, node)), id)
  })

  await t.test('a feed that another process opened for another table goes there', async (t) => {
    const state = await states(t)
    const [a, b] = [worldOf(state), worldOf(await state.another())]
    const table = await registerItems(a)
    await a.inbox.open(STATE, table, { start: 0 })
    t.equal(await a.inbox.take({ ...STATE, after: 0, last: 1, rows: [sentRow(1)] }, 'key'), 1)
    const other = await b.register('y', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
    await b.inbox.open(STATE, other, { start: 0 })
    t.equal(await a.inbox.take({ ...STATE, after: 0, last: 1, rows: [sentRow(7)] }, 'key'), 1)
    t.equal((await a.rows(table)).length, 1)
    t.equal((await a.rows(other)).length, 1)
  })

  await t.test('text that PostgreSQL cannot hold is the fault of its batch alone', async (t) => {
    const world = worldOf(await states(t))
    const { inbox } = world
    const table = await registerItems(world)
    const other = { ...STATE, feed: 'other' }
    await inbox.open(STATE, table, { start: 0 })
    await inbox.open(other, table, { start: 0 })
    const good = inbox.take({ ...other, after: 0, last: 1, rows: [sentRow(5)] }, 'other key')
    const bad = inbox.take({ ...STATE, after: 0, last: 1, rows: [sentRow(6, { v: '\u0000' })] }, 'key')
    await rejectsWith(t, bad, 'BAD_RECORD', { data: { index: 0, column: 'v' } })
    t.equal(await good, 1)
    t.match(await inbox.find(VAN, 'feed'), { cursor: 0 })
  })

  await t.test('a table that is dropped takes its feeds along', async (t) => {
    const state = await states(t)
    const world = worldOf(state)
    const store = createTableStore(createTablesContext(state.db, { writer: 'w' }))
    const table = await registerItems(world)
    await world.inbox.open(STATE, table, { start: 0 })
    await world.inbox.take({ ...STATE, after: 0, last: 1, rows: [sentRow(1)] }, 'key')
    await store.drop(table)
    const batch = { ...STATE, after: 1, last: 2, rows: [sentRow(2)] }
    await rejectsWith(t, world.inbox.take(batch, 'key'), 'UNKNOWN_FEED')
    t.equal(await world.inbox.find(VAN, 'feed'), undefined)
  })

  await t.test('a change of another process is noticed', async (t) => {
    const state = await states(t)
    const [a, b] = [worldOf(state), worldOf(await state.another())]
    const { identity } = a
    while (identity.changeCount() === 0) await delay(5) // the answer comes in passing
    const before = identity.changeCount()
    await registerItems(b)
    while (identity.changeCount() === before) await delay(5)
    t.not(identity.changeCount(), before)
  })
})

t.test('the same where the answers of commits are lost', { skip }, async (t) => {
  const states = await postgresStates(t, (commits) => commits % 2 === 1)
  await conformInbox(t, async (t: Test) => worldOf(await states(t)))
})
