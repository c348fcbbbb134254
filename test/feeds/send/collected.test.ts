import t from 'tap'
import { decodeBatch } from '../../../src/feeds/batch/decode.js'
import { definitionDigest, sentDefinition } from '../../../src/feeds/batch/definition.js'
import { runLane } from '../../../src/feeds/send/lane.js'
import type { FeedLink } from '../../../src/feeds/send/link.js'
import type { FeedState, Lane, SenderDeps } from '../../../src/feeds/send/sender-deps.js'
import { createTableChanges } from '../../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../support/tables.js'

const HERE = '11111111-1111-4111-8111-111111111111'
const FEED = '22222222-2222-4222-8222-222222222222'
const WAIT_MS = 1000

/** The lane of a feed of a table whose rows are put by `put`, and a clock that stands still. */
async function setUp(maxRows: number) {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  const put = (...keys: number[]) =>
    tables.put(
      table,
      keys.map((k) => ({ type: 'Feature', geometry: null, properties: { k } })),
      'override',
    )
  const sent: string[] = []
  const clock = { ms: 5000 }
  const during = { send: async () => undefined as unknown }
  const link = {
    async send(_table: string, body: Uint8Array) {
      const { header, columns } = await decodeBatch(body)
      sent.push(`${columns[3]?.slice(0, header.rows).join()}`)
      await during.send()
      return { kind: 'taken', cursor: header.last }
    },
  } as unknown as FeedLink
  const deps = {
    ...{ nodeId: HERE, changes: createTableChanges(tables.data.reader), batchWaitMs: WAIT_MS },
    ...{ env: () => ({ timeZoneMin: 0, nowUs: 0n }), nowMs: () => clock.ms, nowUs: () => 0 },
    ...{ findTable: async () => table, closedReason: async () => null, isInWindow: () => true },
    giveWay: async () => undefined,
    feeds: { noteProgress: async () => undefined },
  } as unknown as SenderDeps // the parts that a lane with an agreement uses
  const digest = definitionDigest(sentDefinition(table, null))
  const state = {
    record: {
      ...{ feedId: FEED, dataName: 'x', upstream: 'up', direction: 'up', conds: null, columns: null },
      ...{ isEnabled: true, windows: [], priority: 5, start: { fromUs: null }, progress: {} },
    },
    ...{ aside: new Set(), rate: { bytes: 0, ms: 0 }, rowsSent: 0, bytesSent: 0, detours: 0, maxRows },
    ...{ stopped: null, lastError: null, behindSinceUs: 1, waitUntilMs: 0, collectUntilMs: 0, notedAtMs: 0 },
    session: { peer: FEED, tableUuid: HERE, tableId: table.tableId, epoch: 1, digest, cursor: 0, scanned: 0 },
  } as unknown as FeedState // the parts that a lane reads
  const lane: Lane = {
    ...{ upstream: 'up', link, isRunning: true, failures: 0, waitUntilMs: 0, looks: 0 },
    idle: new Set<string>(),
  }
  const states = { feeds: new Map([[FEED, state]]), lanes: new Map([['up', lane]]) }
  const run = async () => {
    await runLane(deps, states, lane, new AbortController().signal)
    return sent.splice(0)
  }
  return { put, run, state, lane, clock, during }
}

t.test(
  'collected: rows that come while a batch is on its way wait for the others of their time',
  async (t) => {
    const { put, run, state, clock, during } = await setUp(10)
    await put(1, 2)
    during.send = () => put(3)
    t.same(await run(), ['1,2'])
    t.match(state, { hasMore: true, behindSinceUs: 1 }, 'the feed has rows to send')
    during.send = async () => undefined
    clock.ms += WAIT_MS / 2
    await put(4)
    t.same(await run(), [], 'not yet')
    clock.ms += WAIT_MS / 2
    t.same(await run(), ['3,4'])
    t.match(state, { hasMore: false, behindSinceUs: null })
  },
)

t.test('collected: a feed that has sent all its rows is at their end at once', async (t) => {
  const { put, run, state, lane } = await setUp(10)
  await put(1)
  t.same(await run(), ['1'])
  t.match(state, { hasMore: false, behindSinceUs: null })
  t.same([...lane.idle], [FEED])
})

t.test('collected: a backlog of several batches goes without a wait', async (t) => {
  const { put, run, state } = await setUp(2)
  await put(1, 2, 3, 4, 5)
  t.same(await run(), ['1,2', '3,4', '5'])
  t.match(state, { hasMore: false, behindSinceUs: null })
})

t.test('collected: a look for rows that came during the turn finds those after it', async (t) => {
  const { put, run, state, lane, clock, during } = await setUp(10)
  await put(1)
  during.send = async () => void lane.looks++
  t.same(await run(), ['1'])
  t.match(state, { hasMore: true }, 'a row may have come after the last look at the table')
  clock.ms += WAIT_MS
  t.same(await run(), [])
  t.match(state, { hasMore: false, behindSinceUs: null })
})
