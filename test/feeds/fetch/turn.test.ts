import t from 'tap'
import { encodeBatch } from '../../../src/feeds/batch/encode.js'
import { type FetchDeps, fetchNext } from '../../../src/feeds/fetch/turn.js'
import { slotsOf } from '../../../src/feeds/send/collect.js'
import type { AskedBatch, FeedLink } from '../../../src/feeds/send/link.js'
import type { FeedState } from '../../../src/feeds/send/sender-deps.js'
import type { ReceivedBatch } from '../../../src/storage/exchange/feeds.js'
import { createTableChanges } from '../../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../support/tables.js'

const HERE = '11111111-1111-4111-8111-111111111111'
const PEER = '22222222-2222-4222-8222-222222222222'
const SIGNAL = new AbortController().signal
const LAST = 3

/** A feed down of a table of three rows, one in each batch. */
async function setUp() {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  await tables.put(
    table,
    [1, 2, 3].map((k) => ({ type: 'Feature', geometry: null, properties: { k } })),
  )
  const changes = createTableChanges(tables.data.reader)
  const session = {
    ...{ peer: PEER, tableUuid: PEER, tableId: table.tableId, epoch: 1, digest: 'a'.repeat(64) },
    ...{ cursor: 0, scanned: 0 },
  }
  const asked: number[] = []
  const stored: unknown[] = []
  const faults = { fetch: false, store: false }
  const link = {
    async fetch({ after }: { after: number }): Promise<AskedBatch> {
      asked.push(after)
      if (faults.fetch && after > 0) throw new Error('cut')
      const { epoch, digest, tableUuid } = session
      const header = { node: PEER, feed: HERE, table: tableUuid, epoch, digest, after, last: after + 1 }
      const body = await encodeBatch(header, slotsOf(table, null), await changes.after(table, after, 1))
      return { kind: 'batch', body: body as Uint8Array, last: LAST }
    },
  } as unknown as FeedLink // the part that a turn uses
  const deps = {
    ...{ nodeId: HERE, valueBytes: 1000, nowMs: () => 0, requireSpace: async () => undefined },
    findTable: async () => table,
    oneAtATime: <T>(work: () => Promise<T>) => work(),
    inbox: {
      async take({ rows, after }: ReceivedBatch) {
        t.equal(
          asked.at(-1),
          Math.min(after + 1, LAST - 1),
          'the next batch is asked for while one is stored',
        )
        if (faults.store) throw new Error('full')
        stored.push(...[...rows].map(({ values }) => Number(values[3])))
        return 1
      },
    },
  } as unknown as FetchDeps // the parts that a turn uses
  const state = {
    ...{ record: { feedId: HERE, dataName: 'x' }, session, upstreamLast: LAST, detours: 0 },
    ...{ rate: { bytes: 0, ms: 0 }, rowsSent: 0, bytesSent: 0 },
  } as unknown as FeedState // the parts that a turn reads
  return { asked, stored, faults, state, turn: () => fetchNext(deps, link, state, 0, SIGNAL) }
}

t.test('fetch: the next batch is asked for once, while the one before it is stored', async (t) => {
  const { asked, stored, turn } = await setUp()
  for (let at = 0; at < 3; at++) t.equal(await turn(), 'went on')
  t.equal(await turn(), 'nothing to send')
  t.same(asked, [0, 1, 2])
  t.same(stored, [1, 2, 3])
})

t.test('fetch: what was asked for ahead is dropped when the batch before it was not stored', async (t) => {
  const { asked, stored, faults, turn } = await setUp()
  faults.store = true
  await t.rejects(turn(), { message: 'full' })
  faults.store = false
  await turn()
  t.same(asked, [0, 1, 0, 1])
  t.same(stored, [1])
})

t.test(
  'fetch: a failure to ask ahead is met in the turn after it, when the batch before it counts',
  async (t) => {
    const { asked, stored, faults, state, turn } = await setUp()
    faults.fetch = true
    t.equal(await turn(), 'went on')
    t.match(state, { rowsSent: 1, session: { cursor: 1 } })
    await t.rejects(turn(), { message: 'cut' })
    faults.fetch = false
    await turn()
    t.same(asked, [0, 1, 1, 1, 2])
    t.same(stored, [1, 2])
  },
)
