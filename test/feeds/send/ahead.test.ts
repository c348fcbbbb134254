import t from 'tap'
import { decodeBatch } from '../../../src/feeds/batch/decode.js'
import { definitionDigest, sentDefinition } from '../../../src/feeds/batch/definition.js'
import type { BatchAnswer, FeedLink } from '../../../src/feeds/send/link.js'
import type { FeedState, SenderDeps } from '../../../src/feeds/send/sender-deps.js'
import { sendNext } from '../../../src/feeds/send/turn.js'
import { createTableChanges } from '../../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../support/tables.js'

const HERE = '11111111-1111-4111-8111-111111111111'
const FEED = '22222222-2222-4222-8222-222222222222'
const SIGNAL = new AbortController().signal

/** A feed of a table whose batches have two rows, with an answer for each batch that is sent. */
async function setUp() {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const put = (...keys: number[]) =>
    tables.put(
      table,
      keys.map((k) => ({ type: 'Feature', geometry: null, properties: { k } })),
      'override',
    )
  await put(1, 2, 3, 4, 5, 6)
  const reader = createTableChanges(tables.data.reader)
  const digest = definitionDigest(sentDefinition(table, null))
  const reads: number[] = []
  const sent: string[] = []
  const changes = {
    ...reader,
    async matching(...args: Parameters<typeof reader.matching>) {
      reads.push(args[1])
      return await reader.matching(...args)
    },
  }
  const aside: string[] = []
  const deps = {
    ...{ nodeId: HERE, changes, env: () => ({ timeZoneMin: 0, nowUs: 0n }), nowMs: () => 0, nowUs: () => 0 },
    findTable: async () => table,
    feeds: {
      setAside: async (_id: string, rows: { rowKey: string }[]) =>
        void aside.push(...rows.map(({ rowKey }) => rowKey)),
    },
    log: { warn: () => undefined },
  } as unknown as SenderDeps // the parts that a turn uses
  const record = { feedId: FEED, dataName: 'x', conds: null, columns: null, start: { fromUs: null } }
  const state = {
    ...{
      record,
      aside: new Set(),
      maxRows: 2,
      rate: { bytes: 0, ms: 0 },
      rowsSent: 0,
      bytesSent: 0,
      detours: 0,
    },
    session: {
      ...{ peer: FEED, tableUuid: HERE, tableId: table.tableId, epoch: 1, digest },
      ...{ cursor: 0, scanned: 0 },
    },
  } as unknown as FeedState // the parts that a turn reads
  const turn = async (answer: (last: number) => BatchAnswer | Promise<BatchAnswer>) => {
    state.maxRows = 2
    const link = {
      async send(_table: string, body: Uint8Array) {
        const { header, columns } = await decodeBatch(body)
        sent.push(`${columns[3]?.slice(0, header.rows).join()}`)
        return await answer(header.last)
      },
    } as unknown as FeedLink
    const result = await sendNext(deps, link, state, SIGNAL)
    return { result, reads: reads.splice(0), sent: sent.splice(0) }
  }
  return { put, aside, state, turn, reads }
}

const taken = (cursor: number): BatchAnswer => ({ kind: 'taken', cursor })

t.test('ahead: the next batch is read while one is on its way, and not read again', async (t) => {
  const { turn, reads } = await setUp()
  const first = await turn(async (last) => {
    for (let at = 0; at < 100 && !reads.includes(2); at++)
      await new Promise((resolve) => setImmediate(resolve))
    t.same(reads, [0, 2], 'before the answer')
    return taken(last)
  })
  t.match(first, { reads: [0, 2], sent: ['1,2'] })
  t.match(await turn(taken), { reads: [4], sent: ['3,4'] })
  t.match(await turn(taken), { reads: [6], sent: ['5,6'] })
  t.same(await turn(taken), { result: 'nothing to send', reads: [6], sent: [] })
})

t.test(
  'ahead: a batch is not sent when the receiver goes on elsewhere, or the feed is another',
  async (t) => {
    const { turn, state } = await setUp()
    await turn(() => ({ kind: 'elsewhere', cursor: 1 }))
    t.match(await turn(taken), { reads: [1, 3], sent: ['2,3'] })
    state.record = { ...state.record, columns: ['k'] }
    t.match(await turn(taken), { reads: [3, 5], sent: ['4,5'] }, 'read again for the feed as it is now')
  },
)

t.test('ahead: a failure of the sending is that of the turn; the batch goes once more', async (t) => {
  const { turn } = await setUp()
  const cut = () => {
    throw new Error('cut')
  }
  await t.rejects(turn(cut), { message: 'cut' })
  t.match(await turn(taken), { sent: ['1,2'] })
})

t.test('ahead: a refused row that was overridden meanwhile is not set aside', async (t) => {
  const { turn, put, aside } = await setUp()
  const refused = [0, 1].map((index) => ({ index, reason: 'no' }))
  await turn(async () => {
    await put(2)
    return { kind: 'rows', rows: refused }
  })
  t.same(aside, ['{"k":1}'])
  t.match(await turn(taken), { sent: ['3,4'] }, 'its new state comes later')
  const other = () => ({ kind: 'rows', rows: [{ index: 9, reason: 'no' }] }) as const
  await t.rejects(turn(other), { message: 'rows that were not sent' })
})
