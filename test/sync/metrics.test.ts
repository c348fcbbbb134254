import t from 'tap'
import type { Backlog } from '../../src/storage/models/transfers.js'
import { createSyncMetrics, readSyncGauges } from '../../src/sync/metrics.js'

const ZERO = {
  ...{ attempts: 0, delivered: 0, failed: 0, bytes_sent: 0, bytes_fetched: 0 },
  ...{ bytes_saved_sending: 0, bytes_saved_fetching: 0 },
}

t.test('sync metrics: counters begin at 0 and count what they are named for', async (t) => {
  const metrics = createSyncMetrics()
  const before = metrics.snapshot()
  t.same(before, ZERO)
  metrics.count('attempts')
  metrics.count('attempts')
  metrics.count('delivered')
  metrics.count('failed')
  metrics.countFault('UPSTREAM_REFUSED')
  metrics.countFault('UPSTREAM_REFUSED')
  metrics.addBytes('feedback', 10)
  metrics.addBytes('feedback', 5)
  metrics.addBytes('fetch', 7)
  metrics.addSaved('feedback', 30)
  metrics.addSaved('fetch', 4)
  metrics.addSaved('fetch', 5)
  t.same(metrics.snapshot(), {
    attempts: 2,
    delivered: 1,
    failed: 1,
    bytes_sent: 15,
    bytes_fetched: 7,
    bytes_saved_sending: 30,
    bytes_saved_fetching: 9,
    fault_upstream_refused: 2,
  })
  t.same(before, ZERO, 'a snapshot does not change')
})

t.test(
  'sync metrics: the rate is a running mean, of which the newest transfer is three tenths',
  async (t) => {
    const { measure } = createSyncMetrics()
    t.equal(measure(100_000, 1000), 100_000)
    t.equal(measure(200_000, 1000), 130_000)
    t.equal(measure(65_000, 500), undefined, 'too short')
    t.equal(measure(260_000, 2000), 130_000)
  },
)

t.test('sync metrics: transfers below 64 KiB, and those that took no time, are not measured', async (t) => {
  const { measure } = createSyncMetrics()
  t.equal(measure(64 * 1024 - 1, 1000), undefined)
  t.equal(measure(64 * 1024, 0), undefined)
  t.equal(measure(64 * 1024, -1), undefined)
  t.equal(measure(64 * 1024, 1000), 64 * 1024)
})

t.test('sync gauges: counts, backlog and counters', async (t) => {
  const counts = { queued: 3, sending: 1, delivered: 5, failed: 2 }
  const gauges = (backlog: Backlog[], closed: string | null, nowUs = 10_000_000) =>
    readSyncGauges(
      { counts: async () => counts, backlog: async () => backlog },
      { closedReason: () => closed, metrics: { snapshot: () => ({ attempts: 9 }) } },
      nowUs,
    )
  const lanes: Backlog[] = [
    { upstreamId: 1, kind: 'feedback', count: 1, bytes: 100, oldestUs: 7_500_000 },
    { upstreamId: 1, kind: 'fetch', count: 1, bytes: 20, oldestUs: 8_000_000 },
  ]
  t.same(await gauges(lanes, null), {
    transfers_queued: 3,
    transfers_sending: 1,
    transfers_failed: 2,
    transfer_bytes_waiting: 120,
    transfer_oldest_s: 2.5,
    sync_open: 1,
    attempts: 9,
  })
  t.match(await gauges([], 'paused'), { transfer_bytes_waiting: 0, transfer_oldest_s: 0, sync_open: 0 })
  t.match(await gauges(lanes, null, 0), { transfer_oldest_s: 0 }, 'the clock was set back')
})
