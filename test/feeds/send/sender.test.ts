import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runLane } from '../../../src/feeds/send/lane.js'
import { startFeedSender } from '../../../src/feeds/send/sender.js'
import type { FeedState, Lane, SenderDeps, TurnResult } from '../../../src/feeds/send/sender-deps.js'
import { createFeedNode, type FeedNet } from '../../support/feed-node.js'
import { until } from '../../support/feeds.js'

/** Longer than any test: what happens is no work of a timer. */
const NEVER_MS = 1_000_000

/** A feed down as it is stored. */
function recordOf(feedId: string) {
  const progress = { tableUuid: '', cursor: 0, scanned: 0, rowsSent: 0, bytesSent: 0, bytesPerSecond: 0 }
  return {
    ...{ feedId, dataName: feedId, direction: 'down', upstream: 'up', columns: null, from: 'all' },
    ...{ conds: null, priority: 5, maxBytesPerSecond: 0, windows: [], isEnabled: true },
    start: { tableUuid: '', afterChange: 0, fromUs: null, untilChange: 0 },
    progress: { ...progress, behindSinceUs: null, lastError: null, stopped: null },
  }
}

/** A sender whose feeds are fetched by `fetchNext`, and whose work is counted. */
function setUp(t: Test, more: Partial<SenderDeps> = {}) {
  const records = [recordOf('first')]
  const turns: string[] = []
  const counts = { closed: 0 }
  const state = { closed: null as string | null, beforeEnd: async () => undefined as unknown }
  const deps = {
    feeds: {
      list: async () => [...records],
      changesSetAside: async () => [],
      noteProgress: async () => undefined,
    },
    resends: { find: async () => undefined },
    upstreams: {
      list: async () => [{ name: 'up', endpoint: 'http://up' }],
      find: async () => ({ name: 'up', endpoint: 'http://up' }),
    },
    identity: { changeCount: () => 0 },
    findTable: async () => {
      await state.beforeEnd()
      return undefined
    },
    connect: () => ({ close: async () => undefined }),
    async fetchNext(_link: unknown, feed: FeedState): Promise<TurnResult> {
      turns.push(feed.record.feedId)
      return 'nothing to send'
    },
    ...{ waits: { baseMs: 1, capMs: 1 }, batchWaitMs: NEVER_MS, checkMs: NEVER_MS, waitS: 1 },
    async closedReason() {
      counts.closed++
      return state.closed
    },
    isInWindow: () => true,
    // the process itself has written: a number that other programs change stays
    stateChanges: async () => 0,
    wakeCount: async () => 0,
    ...{ nowMs: () => performance.now(), nowUs: () => 0, random: () => 0.5 },
    log: { info: () => undefined, warn: () => undefined },
    ...more,
  } as unknown as SenderDeps // the parts that feeds down use
  const start = () => {
    const sender = startFeedSender(deps)
    t.teardown(() => sender.stop())
    return sender
  }
  return { records, turns, counts, state, deps, start }
}

/** Lets everything happen that waits for no timer. */
async function settled(): Promise<void> {
  for (let at = 0; at < 50; at++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('sender: a feed that is made while the feeds are looked at is not forgotten', async (t) => {
  const { records, turns, state, start } = setUp(t)
  const sender = start()
  let woken: Promise<void> | undefined
  await settled()
  t.ok(turns.includes('first'))
  // the feeds were listed, and the look at them goes on
  state.beforeEnd = async () => {
    state.beforeEnd = async () => undefined
    records.push(recordOf('second'))
    woken = sender.wake()
  }
  await sender.wake()
  const alive = setInterval(() => undefined, 1000) // the timer of the sender lets a process end
  t.teardown(() => clearInterval(alive))
  await woken
  await settled()
  t.ok(turns.includes('second'))
})

t.test('sender: a feed that is made while the numbers of changes are read is not forgotten', async (t) => {
  let during = (): void => undefined
  const { records, turns, start } = setUp(t, {
    batchWaitMs: 5,
    async stateChanges() {
      during()
      return 0
    },
  })
  const sender = start()
  await settled()
  t.ok(turns.includes('first'))
  const woken = new Promise<void>((resolve) => {
    // in a tick of the timer: nothing else has it look at the feeds again
    during = () => {
      during = () => undefined
      records.push(recordOf('second'))
      resolve(sender.wake())
    }
  })
  await woken
  await settled()
  t.ok(turns.includes('second'))
})

t.test('sender: a feed that may not send costs nothing, and goes on when it may', async (t) => {
  const { turns, counts, state, start } = setUp(t)
  state.closed = 'paused'
  const sender = start()
  await sleep(50) // a sender that begins again and again does so in each turn of the event loop
  t.same(turns, [])
  t.ok(counts.closed <= 2, `${counts.closed} looks`)
  state.closed = null
  await sender.wake()
  await settled()
  t.same(turns.slice(0, 1), ['first'])
})

t.test('sender: a feed down fetches in its windows, with the rate of all and its own', async (t) => {
  const rates: (number | undefined)[] = []
  let isOpen = false
  const throttleOf = (bytes: number) => ({ pieceBytes: bytes, take: async () => undefined })
  const { records, start } = setUp(t, {
    isInWindow: (windows) => windows.length === 0 || isOpen,
    throttleOf,
    async fetchNext(_link, { throttle }): Promise<TurnResult> {
      rates.push(throttle?.pieceBytes)
      return 'nothing to send'
    },
  })
  records[0] = { ...recordOf('first'), windows: ['22:00-06:00'] as never[], maxBytesPerSecond: 4000 }
  const sender = start()
  await settled()
  t.same(rates, [], 'outside of its windows nothing is fetched')
  isOpen = true
  await sender.wake()
  await settled()
  t.same(rates.slice(0, 1), [4000])
})

t.test('sender: a feed that was stopped before the end of its rows goes on where it was', async (t) => {
  const answers: TurnResult[] = ['went on', 'nothing to send']
  const made = setUp(t, {
    async fetchNext(_link, feed) {
      feed.session ??= {
        ...{ peer: '', tableUuid: '', tableId: -1, epoch: 1, digest: '' },
        ...{ cursor: 0, scanned: 0 },
      }
      feed.upstreamLast = 5
      made.turns.push(feed.record.feedId)
      made.state.closed = 'the window ends'
      return answers.shift() ?? 'nothing to send'
    },
    findTable: async () => ({ tableId: -1 }) as never, // what the sender reads of it
  })
  const sender = made.start()
  await settled()
  t.equal(made.turns.length, 1)
  made.state.closed = null
  await sender.wake()
  await settled()
  t.equal(made.turns.length, 2)
})

t.test('lane: rows that are written while the end of the rows is found are looked for', async (t) => {
  const lane: Lane = {
    ...{ upstream: 'up', link: undefined, isRunning: true, failures: 0, waitUntilMs: 0, looks: 0 },
    idle: new Set<string>(),
  }
  let turns = 0
  const { deps } = setUp(t, {
    async fetchNext() {
      if (++turns === 1) lane.looks++
      return 'nothing to send'
    },
  })
  const state = {
    ...{
      record: recordOf('first'),
      waitUntilMs: 0,
      collectUntilMs: 0,
      stopped: null,
      behindSinceUs: 1,
      lastError: null,
    },
    ...{ rowsSent: 0, bytesSent: 0, rate: { bytes: 0, ms: 0 }, upstreamLast: 0, notedAtMs: 0 },
  } as unknown as FeedState // the parts that a lane reads
  const states = { feeds: new Map([['first', state]]), lanes: new Map([['up', lane]]) }
  await runLane(deps, states, lane, new AbortController().signal)
  t.equal(turns, 2)
  t.same([...lane.idle], ['first'])
})

t.test('sender: an idle feed finds that its receiver has lost rows, and sends them', async (t) => {
  const net: FeedNet = { nodes: new Map(), cut: () => 'none' }
  const dir = t.testdir()
  const [van, base] = [createFeedNode(net, dir, 'van'), createFeedNode(net, dir, 'base')]
  for (const node of [van, base]) {
    await node.start()
    await node.registerTable()
    t.teardown(() => node.kill())
  }
  await van.feed(base, 'up')
  await van.put([{ k: 1, note: 'first' }])
  const count = async () => (await base.rows()).length
  await until(count, (rows) => rows === 1)
  base.backup()
  await van.put([{ k: 2, note: 'second' }])
  await until(count, (rows) => rows === 2)
  await base.dropTable()
  await base.registerTable()
  t.equal(await count(), 0)
  await until(count, (rows) => rows === 2)
  await base.restore()
  await until(count, (rows) => rows === 2)
})
