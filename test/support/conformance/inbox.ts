import type { Test } from 'tap'
import { AppError } from '../../../src/errors.js'
import type { Stored } from '../../../src/storage/columns/column-type.js'
import type { FeedIdentity, FeedInbox, ReceivedRow } from '../../../src/storage/exchange/feeds.js'
import { addDigest, createRowDigest, noRows, sumHex } from '../../../src/storage/exchange/row-digest.js'
import type { TableDigests } from '../../../src/storage/exchange/table-digests.js'
import type { ChangedRow, Column, LoaderTable } from '../../../src/storage/tables.js'
import { rejectsWith } from '../rejects-with.js'

/** Tables that receive feeds. */
export interface InboxWorld {
  readonly inbox: FeedInbox
  readonly digests: TableDigests
  readonly identity: FeedIdentity
  register(dataName: string, columns: Partial<Column>[], uniqueColumns: string[]): Promise<LoaderTable>
  /** rows of a table in the order of their last changes */
  rows(table: LoaderTable): Promise<Omit<ChangedRow, 'rowId'>[]>
}

type Open = (t: Test) => Promise<InboxWorld>

export const VAN = '22222222-2222-4222-8222-222222222222'
const BASE = '33333333-3333-4333-8333-333333333333'
export const STATE = { sender: VAN, feed: 'feed', senderTable: 'their table', epoch: 1, digest: 'd' }

/** A row of a table with the columns `k` and `v`. */
export function sentRow(k: number, more: Partial<ReceivedRow> & { v?: string } = {}): ReceivedRow {
  const { v = null, ...facts } = more
  const values: Stored[] = [null, null, null, BigInt(k), v]
  return { origin: VAN, day: 20_000, version: 0, values, ...facts }
}

/** Registers the table of `sentRow`. */
export function registerItems({ register }: Pick<InboxWorld, 'register'>): Promise<LoaderTable> {
  return register('x', [{ name: 'k', udtName: 'int4' }, { name: 'v' }], ['k'])
}

/** The inbox of feeds, and the sums of what it has received. @param open without tables */
export async function conformInbox(t: Test, open: Open): Promise<void> {
  await conformCursors(t, open)
  await conformNews(t, open)
  await conformManySenders(t, open)
  await conformSums(t, open)

  await t.test('identity: tables have ids, and the epoch grows', async (t) => {
    const world = await open(t)
    const { identity } = world
    const table = await registerItems(world)
    t.match(await identity.tableUuid(table), /^[0-9a-f-]{36}$/)
    t.equal(await identity.tableUuid({ ...table, tableId: table.tableId + 1 }), undefined)
    t.equal(await identity.epoch(), 1)
    t.equal(await identity.beginEpoch(1000), 1000)
    t.equal(await identity.beginEpoch(5), 1001)
    t.equal(await identity.epoch(), 1001)
  })
}

async function setUp(t: Test, open: Open) {
  const world = await open(t)
  const table = await registerItems(world)
  const take = (more: object = {}) =>
    world.inbox.take({ ...STATE, after: 0, last: 2, rows: [sentRow(1), sentRow(2)], ...more }, 'key')
  const keys = async () => (await world.rows(table)).map(({ values }) => Number(values[3]))
  return { ...world, table, take, keys }
}

async function conformCursors(t: Test, open: Open): Promise<void> {
  await t.test('inbox: a batch of a feed that was not opened is refused, and stores nothing', async (t) => {
    const { take, keys, inbox } = await setUp(t, open)
    await rejectsWith(t, take(), 'UNKNOWN_FEED')
    t.same(await keys(), [])
    t.equal(await inbox.find(VAN, 'feed'), undefined)
    t.same(await inbox.ofSender(VAN), [])
  })

  await t.test('inbox: a batch is taken at the cursor alone, and of the opened state alone', async (t) => {
    const { table, inbox, take, keys } = await setUp(t, open)
    t.equal(await inbox.open(STATE, table, { start: 0 }), 0)
    t.equal(await take(), 2)
    await rejectsWith(t, take(), 'CURSOR_MISMATCH', { data: { cursor: 2, feed: 'feed' } })
    const next = { after: 2, last: 3, rows: [sentRow(3)] }
    await rejectsWith(t, take({ ...next, digest: 'another' }), 'UNKNOWN_FEED')
    await rejectsWith(t, take({ ...next, epoch: 2 }), 'UNKNOWN_FEED')
    await rejectsWith(t, take({ ...next, senderTable: 'another' }), 'UNKNOWN_FEED')
    t.equal(await take(next), 1)
    t.equal(await take({ after: 3, last: 9, rows: [] }), 0, 'no row of the range is for this node')
    t.same(await keys(), [1, 2, 3])
    const found = await inbox.find(VAN, 'feed')
    t.match(found, { ...STATE, cursor: 9 })
    t.equal(found?.table.tableId, table.tableId)
    t.match(await inbox.ofSender(VAN), [{ feed: 'feed', cursor: 9 }])
  })

  await t.test('inbox: a feed goes on, or begins again', async (t) => {
    const { table, inbox, take, register } = await setUp(t, open)
    await inbox.open(STATE, table, { start: 0 })
    await take()
    t.equal(await inbox.open(STATE, table, { start: 0, last: 2 }), 2)
    t.equal(await inbox.open(STATE, table, { start: 1 }), 2)
    t.equal(await inbox.open(STATE, table, { start: 0, last: 1 }), 0, 'a cursor beyond what the sender has')
    await take()
    await inbox.check(STATE)
    t.equal(await inbox.open({ ...STATE, epoch: 3 }, table, { start: 1 }), 1, 'a greater epoch')
    await rejectsWith(t, inbox.check(STATE), 'STALE_EPOCH', { data: { epoch: 1, known: 3 } })
    await rejectsWith(t, inbox.open(STATE, table, { start: 0 }), 'STALE_EPOCH')
    const now = { ...STATE, epoch: 3, senderTable: 'made anew' }
    t.equal(await inbox.open(now, table, { start: 5 }), 5)
    const other = await register('y', [{ name: 'k', udtName: 'int4' }], ['k'])
    t.equal(await inbox.open(now, other, { start: 7 }), 7, 'another table here')
    const batch = { ...now, after: 7, last: 8, rows: [{ ...sentRow(1), values: [null, null, null, 1n] }] }
    t.equal(await inbox.take(batch, 'key'), 1)
    t.match(await inbox.find(VAN, 'feed'), { cursor: 8, table: { dataName: 'y' } })
  })

  await t.test('inbox: a table that was dropped since it was found opens no feed', async (t) => {
    const { table, inbox } = await setUp(t, open)
    const gone = [
      { ...table, tableId: table.tableId + 1 },
      { ...table, dataName: 'nothing' },
    ]
    for (const one of gone) await rejectsWith(t, inbox.open(STATE, one, { start: 0 }), 'UNKNOWN_FEED')
  })
}

async function conformNews(t: Test, open: Open): Promise<void> {
  await t.test('inbox: rows are stored while they are read; a fault among them stores none', async (t) => {
    const { table, inbox, take, rows, keys } = await setUp(t, open)
    await inbox.open(STATE, table, { start: 0 })
    function* sent(isFaulty: boolean) {
      yield sentRow(1, { origin: BASE })
      if (isFaulty) throw new AppError('BAD_RECORD', { index: 1 })
      yield sentRow(2, { origin: BASE })
    }
    await rejectsWith(t, take({ rows: sent(true), origin: BASE }), 'BAD_RECORD', { data: { index: 1 } })
    t.same(await keys(), [])
    t.match(await inbox.find(VAN, 'feed'), { cursor: 0 })
    t.equal(await take({ rows: sent(false), origin: BASE }), 2)
    t.same(
      (await rows(table)).map(({ origin, sender }) => [origin, sender]),
      [
        [BASE, VAN],
        [BASE, VAN],
      ],
    )
  })

  await t.test('inbox: rows of several origins have keys of their own', async (t) => {
    const { table, inbox, take, rows } = await setUp(t, open)
    await inbox.open(STATE, table, { start: 0 })
    const mixed = [sentRow(1), sentRow(1, { origin: BASE }), sentRow(2), sentRow(1, { day: 20_001 })]
    t.equal(await take({ rows: mixed }), 4)
    t.same((await rows(table)).map(({ origin, day, values }) => [origin, day, Number(values[3])]).sort(), [
      [VAN, 20_000, 2],
      [VAN, 20_001, 1],
      [BASE, 20_000, 1],
    ])
  })

  await t.test('inbox: an older version of a row is no news, a newer one is', async (t) => {
    const { table, inbox, rows } = await setUp(t, open)
    await inbox.open(STATE, table, { start: 0 })
    let after = 0
    const taken = async (version: number, day: number) => {
      const batch = { ...STATE, after: after++, last: after, rows: [sentRow(1, { version, day })] }
      return await inbox.take(batch, 'key')
    }
    t.equal(await taken(5, 1), 1)
    t.equal(await taken(4, 2), 0, 'older')
    t.equal(await taken(0, 3), 0, 'not known')
    t.equal(await taken(5, 1), 0, 'the same')
    t.equal(await taken(5, 4), 1, 'the same version with other values mends a row')
    t.equal(await taken(6, 4), 1, 'newer')
    const [stored] = await rows(table)
    t.match(stored, { version: 6, day: 4, origin: VAN, sender: VAN })
  })
}

const SENDERS = 24

/** UUID of one of many nodes. */
function nodeId(at: number): string {
  return `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
}

async function conformManySenders(t: Test, open: Open): Promise<void> {
  await t.test(
    'inbox: batches of many nodes at once; what is wrong with one is not the fault of others',
    async (t) => {
      const { table, inbox, rows } = await setUp(t, open)
      const state = (at: number) => ({ ...STATE, sender: nodeId(at) })
      const all = Array.from({ length: SENDERS }, (_, at) => at)
      await Promise.all(all.map((at) => inbox.open(state(at), table, { start: 0 })))
      const send = async (at: number, round: number) => {
        const one = { ...state(at), after: round * 2, last: round * 2 + 2, origin: nodeId(at) }
        const sent = [0, 1].map((k) => sentRow(round * 2 + k, { origin: nodeId(at), version: round + 1 }))
        return await inbox.take({ ...one, rows: sent }, `key ${at}`)
      }
      for (let round = 0; round < 3; round++) {
        const [taken, ...bad] = await Promise.all([
          Promise.all(all.map((at) => send(at, round))),
          inbox
            .take({ ...state(0), after: 77, last: 78, rows: [] }, 'key 0')
            .catch((error: unknown) => error),
          inbox
            .take({ ...state(99), after: 0, last: 1, rows: [] }, 'key 99')
            .catch((error: unknown) => error),
        ])
        t.same(
          taken,
          all.map(() => 2),
        )
        t.match(bad, [{ errorName: 'CURSOR_MISMATCH' }, { errorName: 'UNKNOWN_FEED' }])
      }
      const stored = await rows(table)
      t.equal(stored.length, SENDERS * 6)
      t.same(
        stored.map(({ change }) => change),
        stored.map((_, at) => at + 1),
        'numbers of changes have no gaps',
      )
      for (const at of all) t.match(await inbox.find(nodeId(at), 'feed'), { cursor: 6 })
    },
  )
}

async function conformSums(t: Test, open: Open): Promise<void> {
  await t.test('sums: of what a feed has brought, by origin and day, as of its cursor', async (t) => {
    const { table, inbox, take, digests } = await setUp(t, open)
    t.equal(await digests.received(VAN, 'feed', [VAN]), undefined)
    t.equal(await digests.read(table, null), undefined, 'not counted')
    await inbox.open(STATE, table, { start: 0 })
    t.same(await digests.read(table, null), { last: 0, isWhole: true, days: [] })
    const old = sentRow(2, { v: 'old' })
    await take({ rows: [sentRow(1, { v: 'ä"' }), old] })
    const batch = [sentRow(2, { v: 'new', day: 20_001, version: 2 }), sentRow(3, { origin: BASE })]
    await take({ after: 2, last: 4, rows: batch })
    const sumOf = (...rows: ReceivedRow[]) => {
      const digest = createRowDigest(table.columns)
      const sum = noRows()
      for (const { values } of rows) addDigest(sum, digest(values))
      return sumHex(sum)
    }
    const [newer, other] = batch as [ReceivedRow, ReceivedRow]
    const found = await digests.received(VAN, 'feed', [VAN, BASE])
    t.match(found, { ...STATE, cursor: 4, last: 4, isWhole: true })
    t.equal(found?.table.tableId, table.tableId)
    t.same(
      found?.days.map(({ origin, day, sum, removed }) => [origin, day, sum.rows, sumHex(sum), removed]),
      [
        [VAN, 20_000, 1, sumOf(sentRow(1, { v: 'ä"' })), 0],
        [VAN, 20_001, 1, sumOf(newer), 0],
        [BASE, 20_000, 1, sumOf(other), 0],
      ],
    )
    t.same((await digests.received(VAN, 'feed', []))?.days, [])
    t.equal((await digests.read(table, [BASE]))?.days.length, 1)
    t.same(await digests.removed(table), [])
    t.same(await digests.uncounted(), [])
    await digests.restart(table)
    t.match(await digests.read(table, null), { isWhole: false, days: [] })
    t.match(await digests.uncounted(), [{ table: { dataName: 'x' }, share: 0, isStale: false }])
    t.equal(await digests.count(table, 1), false)
    t.equal(await digests.count(table, 10), true)
    t.same((await digests.received(VAN, 'feed', [VAN, BASE]))?.days, found?.days)
    await digests.begin(table)
    t.match(await digests.read(table, null), { isWhole: true })
    const gone = { ...table, tableId: table.tableId + 1 }
    t.equal(await digests.count(gone, 1), true)
  })
}
