import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { decodeBatch } from '../../../src/feeds/batch/decode.js'
import { definitionDigest, sentDefinition } from '../../../src/feeds/batch/definition.js'
import { runLane } from '../../../src/feeds/send/lane.js'
import type { FeedLink } from '../../../src/feeds/send/link.js'
import { startFeedSender } from '../../../src/feeds/send/sender.js'
import type { FeedState, Lane, SenderDeps } from '../../../src/feeds/send/sender-deps.js'
import { createTableChanges } from '../../../src/storage/sqlite/tables/changed-rows.js'
import { until } from '../../support/feeds.js'
import { openTables } from '../../support/tables.js'

const HERE = '11111111-1111-4111-8111-111111111111'
const FEED = '22222222-2222-4222-8222-222222222222'
const WAIT_MS = 1000
/** Longer than any test: what happens is no work of a timer. */
const NEVER_MS = 1_000_000

/** The feed as it is stored. */
function recordOf(start: object = {}) {
  const progress = { tableUuid: '', cursor: 0, scanned: 0, rowsSent: 0, bytesSent: 0, bytesPerSecond: 0 }
  return {
    ...{ feedId: FEED, dataName: 'x', upstream: 'up', direction: 'up', conds: null, columns: null },
    ...{ isEnabled: true, windows: [], priority: 5, maxBytesPerSecond: 0 },
    start: { tableUuid: '', afterChange: 0, fromUs: null, untilChange: 0, ...start },
    progress: { ...progress, behindSinceUs: null, lastError: null, stopped: null },
  }
}

/** The parts of a sender that hold nothing, with one upstream and one feed. */
const PLAIN = {
  feeds: {
    list: async () => [recordOf()],
    changesSetAside: async () => [],
    noteProgress: async () => undefined,
  },
  resends: { find: async () => undefined },
  upstreams: {
    list: async () => [{ name: 'up', endpoint: 'http://up' }],
    find: async () => ({ name: 'up', endpoint: 'http://up' }),
  },
  ...{ env: () => ({ timeZoneMin: 0, nowUs: 0n }), random: () => 0.5, giveWay: async () => undefined },
  ...{ waits: { baseMs: 1, capMs: 1 }, checkMs: NEVER_MS, closedReason: async () => null },
  ...{ isInWindow: () => true, stateChanges: async () => 0, wakeCount: async () => 0 },
  log: { info: () => undefined, warn: () => undefined },
}

/** The lane of a feed of a table whose rows are put by `put`, and a clock that stands still at a beat. */
async function setUp(maxRows: number, batchWaitMs = WAIT_MS) {
  const tables = openTables()
  const table = tables.register('x', [{ name: 'k', udtName: 'int4' }], ['k'])
  let puts = 0
  const put = async (...keys: number[]) => {
    const records = keys.map((k) => ({ type: 'Feature', geometry: null, properties: { k } }))
    await tables.put(table, records, 'override')
    puts++
  }
  const sent: string[] = []
  const clock = { ms: 5000 }
  const during = { send: async () => undefined as unknown }
  const link = {
    offer: async () => ({ node: FEED, cursor: 0 }),
    close: async () => undefined,
    async send(_table: string, body: Uint8Array) {
      const { header, columns } = await decodeBatch(body)
      sent.push(`${columns[3]?.slice(0, header.rows).join()}`)
      await during.send()
      return { kind: 'taken', cursor: header.last }
    },
  } as unknown as FeedLink
  const deps = {
    ...{ ...PLAIN, nodeId: HERE, changes: createTableChanges(tables.data.reader), batchWaitMs },
    ...{ nowMs: () => clock.ms, nowUs: () => clock.ms * 1000 },
    ...{ findTable: async () => table, connect: () => link },
    identity: { changeCount: () => puts, tableUuid: async () => HERE, epoch: async () => 1 },
  } as unknown as SenderDeps // the parts that feeds up use
  const digest = definitionDigest(sentDefinition(table, null))
  const state = {
    record: recordOf(),
    ...{ aside: new Set(), rate: { bytes: 0, ms: 0 }, rowsSent: 0, bytesSent: 0, detours: 0, maxRows },
    ...{ stopped: null, lastError: null, behindSinceUs: 1, waitUntilMs: 0, collectUntilMs: 0, notedAtMs: 0 },
    failures: 0,
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
  const start = (t: Test, more: object = {}) => {
    const sender = startFeedSender({ ...deps, ...more } as SenderDeps)
    t.teardown(() => sender.stop())
    return sender
  }
  return { put, run, start, sent, state, lane, clock, during }
}

t.test(
  'collected: rows that come while a batch is on its way wait for the others of their time',
  async (t) => {
    const { put, run, state, clock, during } = await setUp(10)
    await put(1, 2)
    during.send = () => put(3)
    t.same(await run(), ['1,2'])
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
  t.equal(state.behindSinceUs, 5_000_000, 'and after the batch was read')
  clock.ms += WAIT_MS
  t.same(await run(), [])
  t.match(state, { hasMore: false, behindSinceUs: null })
})

t.test('collected: rows wait for the next beat at most, whenever the batch before them began', async (t) => {
  const { put, run, clock, during } = await setUp(10)
  clock.ms += WAIT_MS / 2
  await put(1)
  during.send = () => put(2)
  t.same(await run(), ['1'])
  during.send = async () => undefined
  clock.ms += WAIT_MS / 4
  t.same(await run(), [], 'not yet')
  clock.ms += WAIT_MS / 4
  t.same(await run(), ['2'])
})

t.test(
  'collected: a failure ends the wait, and the rows that came meanwhile go with the others',
  async (t) => {
    const { put, run, state, clock, during } = await setUp(10)
    await put(1)
    during.send = async () => {
      await put(2)
      throw new Error('no answer')
    }
    t.same(await run(), ['1'])
    t.equal(state.lastError, 'no answer')
    during.send = async () => undefined
    clock.ms += WAIT_MS / 100
    t.same(await run(), ['1,2'])
  },
)

t.test('collected: a try that is asked for while a batch is on its way ends the wait', async (t) => {
  const { put, start, sent, during } = await setUp(10, NEVER_MS)
  await put(1)
  let woken: Promise<void> | undefined
  during.send = async () => {
    during.send = async () => undefined
    await put(2)
    woken = sender.wake()
    await woken
  }
  const sender = start(t)
  await until(
    async () => sent.length,
    (batches) => batches === 2,
  )
  t.same(sent, ['1', '2'])
  t.ok(woken)
})

t.test('collected: the state of a feed tells when its rows go', async (t) => {
  const { put, start, sent, during } = await setUp(10, NEVER_MS)
  await put(1)
  during.send = () => put(2)
  const sender = start(t)
  const live = await until(
    () => sender.live(FEED),
    (found) => found?.activity === 'waiting' && found.progress.cursor === 1,
  )
  t.match(live, { nextTryS: 895, progress: { behindSinceUs: 5_000_000 } })
  t.same(sent, ['1'])
})

t.test('collected: a citation whose checksum is not computed yet is looked at once a beat', async (t) => {
  const { start } = await setUp(10, NEVER_MS)
  let looks = 0
  const citation = { info: { longForm: 'seen@1', checksum: null }, columns: [], rowCount: null }
  start(t, {
    feeds: { ...PLAIN.feeds, list: async () => [recordOf({ citation: 'seen@1' })] },
    async findCitation() {
      looks++
      return citation
    },
  })
  await sleep(50) // a sender that begins again and again does so in each turn of the event loop
  t.equal(looks, 1)
})
