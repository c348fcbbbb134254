import t from 'tap'
import type { Backlog, TransferRecord } from '../../src/storage/models/transfers.js'
import type { UpstreamRecord } from '../../src/storage/models/upstreams.js'
import { readSyncStatus } from '../../src/sync/status.js'

const SECOND_US = 1_000_000
const COUNTS = { queued: 3, sending: 1, delivered: 5, failed: 2 }

function statusOf(backlog: Backlog[], options: { rate?: number; isPaused?: boolean; nowUs?: number } = {}) {
  const upstream = { endpoint: 'https://up.example', storeName: 'rain' } as UpstreamRecord
  const limits: number[] = []
  const status = readSyncStatus({
    transfers: {
      backlog: async () => backlog,
      counts: async () => COUNTS,
      async waiting({ kind }, limit) {
        limits.push(limit)
        return kind === 'feedback' ? [{ lastError: 'refused' } as TransferRecord] : []
      },
    },
    upstreams: { find: async (id) => (id === 1 ? upstream : undefined) },
    control: { isPaused: async () => options.isPaused ?? false, rate: async () => options.rate ?? 0 },
    nowUs: options.nowUs ?? 100 * SECOND_US,
  })
  return { status, limits }
}

const lane = (change: Partial<Backlog> = {}): Backlog => ({
  upstreamId: 1,
  kind: 'feedback',
  count: 2,
  bytes: 1001,
  oldestUs: 40 * SECOND_US,
  ...change,
})

t.test('sync status: nothing waits', async (t) => {
  for (const rate of [0, 500]) {
    t.same(await statusOf([], { rate }).status, {
      isPaused: false,
      counts: COUNTS,
      atRisk: {
        models: 0,
        bytes: 0,
        oldestS: null,
        bytesPerSecond: rate === 0 ? null : rate,
        timeLeftS: null,
      },
      upstreams: [],
    })
  }
})

t.test('sync status: feedbacks of all lanes are at risk, fetches are not', async (t) => {
  const lanes = [
    lane(),
    lane({ upstreamId: 2, count: 3, bytes: 1000, oldestUs: 30 * SECOND_US }),
    lane({ kind: 'fetch', count: 7, bytes: 9999, oldestUs: 0 }),
  ]
  const { status, limits } = statusOf(lanes, { rate: 1000, isPaused: true })
  const { isPaused, atRisk, upstreams } = await status
  t.equal(isPaused, true)
  t.same(atRisk, { models: 5, bytes: 2001, oldestS: 70, bytesPerSecond: 1000, timeLeftS: 3 })
  t.same(upstreams, [
    {
      upstreamId: 1,
      endpoint: 'https://up.example',
      store: 'rain',
      kind: 'feedback',
      waiting: 2,
      bytes: 1001,
      oldestS: 60,
      lastError: 'refused',
    },
    {
      upstreamId: 2,
      endpoint: '',
      store: '',
      kind: 'feedback',
      waiting: 3,
      bytes: 1000,
      oldestS: 70,
      lastError: 'refused',
    },
    {
      upstreamId: 1,
      endpoint: 'https://up.example',
      store: 'rain',
      kind: 'fetch',
      waiting: 7,
      bytes: 9999,
      oldestS: 100,
      lastError: null,
    },
  ])
  t.same(limits, [1, 1, 1], 'one row of each lane is read')
})

t.test('sync status: without a measured rate, or without bytes, the time left is not known', async (t) => {
  t.match((await statusOf([lane()]).status).atRisk, { bytes: 1001, bytesPerSecond: null, timeLeftS: null })
  t.match((await statusOf([lane({ bytes: 0 })], { rate: 10 }).status).atRisk, { models: 2, timeLeftS: null })
  t.match((await statusOf([lane({ kind: 'fetch' })], { rate: 10 }).status).atRisk, { oldestS: null })
})

t.test('sync status: an age is in whole seconds, and 0 after the clock was set back', async (t) => {
  const ageAt = async (nowUs: number) => (await statusOf([lane()], { nowUs }).status).upstreams[0]?.oldestS
  t.equal(await ageAt(41.4 * SECOND_US), 1)
  t.equal(await ageAt(41.6 * SECOND_US), 2)
  t.equal(await ageAt(10 * SECOND_US), 0)
})
