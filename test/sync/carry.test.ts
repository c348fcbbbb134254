import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.js'
import { carry } from '../../src/sync/carry.js'
import type { AttemptFault } from '../../src/sync/faults.js'
import { refused, stopped, unreachable } from '../../src/sync/faults.js'
import { newLane } from '../../src/sync/lanes.js'
import { engineOf, outboxParts, rowOf } from '../support/outbox.js'

const MIB = 1024 * 1024

/** An attempt of the first transfer, and what happens to it. */
async function setUp(t: Test, options: { bytesSent?: number; sizeBytes?: number; kind?: 'fetch' } = {}) {
  const at = await outboxParts(t)
  const engine = await engineOf(at.deps, at.state)
  const upstreamId = await at.upstream()
  const id = await at.queue(upstreamId, options.kind, options.sizeBytes ?? MIB)
  await at.state.transfers.begin(id)
  const transfer = { ...(await rowOf(at.state, id)), bytesSent: options.bytesSent ?? 0 }
  const lane = newLane({ upstreamId, kind: transfer.kind })
  const progress = { doneBytes: transfer.bytesSent, movedBytes: 0, onMoved: () => undefined }
  const abort = new AbortController()
  const seen: [number, AttemptFault | null][] = []
  engine.watchers.add((row, fault) => void seen.push([row.transferId, fault]))
  const done = carry(engine, { lane, transfer, signal: abort.signal, progress })
  const [held] = at.attempts
  if (held === undefined) throw new Error('the attempt has not begun')
  return { ...at, engine, id, lane, progress, abort, seen, done, held, row: () => rowOf(at.state, id) }
}

t.test('carry: a delivery is recorded, counted and reported', async (t) => {
  const at = await setUp(t)
  at.lane.failures = 3
  at.lane.waitUntilMs = 99
  at.held.deliver('{"model_id":"m"}')
  await at.done
  t.match(await at.row(), { state: 'delivered', answer: '{"model_id":"m"}' })
  t.match(at.lane, { failures: 0, waitUntilMs: 0 })
  t.match(at.engine.metrics.snapshot(), { attempts: 1, delivered: 1, failed: 0, bytes_saved_sending: 0 })
  t.same(at.seen, [[at.id, null]])
  t.match(at.lines, [{ level: 'info', message: 'transfer delivered', fields: { transfer: at.id, bytes: 0 } }])
})

t.test('carry: a fetch whose registration has completed the row is not delivered twice', async (t) => {
  const at = await setUp(t, { kind: 'fetch' })
  at.held.deliver(null)
  await at.done
  t.match(await at.row(), { state: 'sending', answer: null }, 'the registration would have changed it')
  t.match(at.engine.metrics.snapshot(), { delivered: 1 })
})

t.test(
  'carry: bytes that a delta saved are counted by direction, once the transfer is delivered',
  async (t) => {
    const savedBy = async (kind?: 'fetch') => {
      const at = await setUp(t, kind === undefined ? {} : { kind })
      await at.state.transfers.note(at.id, { savedBytes: 700 })
      t.match(at.engine.metrics.snapshot(), { bytes_saved_sending: 0, bytes_saved_fetching: 0 })
      at.held.deliver()
      await at.done
      return at.engine.metrics.snapshot()
    }
    t.match(await savedBy(), { bytes_saved_sending: 700, bytes_saved_fetching: 0 })
    t.match(await savedBy('fetch'), { bytes_saved_sending: 0, bytes_saved_fetching: 700 })
  },
)

t.test('carry: the rate counts bytes that were new to the receiver', async (t) => {
  const rateOf = async (options: { bytesSent?: number; kind?: 'fetch' }, movedBytes: number) => {
    const at = await setUp(t, options)
    at.progress.movedBytes = movedBytes
    at.clock.ms += 2000
    at.held.deliver()
    await at.done
    return await at.state.control.rate()
  }
  t.equal(await rateOf({}, MIB), MIB / 2)
  t.equal(await rateOf({}, 3 * MIB), MIB / 2, 'bytes sent twice')
  t.equal(await rateOf({ bytesSent: MIB / 2 }, MIB), MIB / 4, 'half was there before')
  t.equal(await rateOf({}, 1000), 0, 'too few to measure')
  t.equal(await rateOf({ kind: 'fetch' }, MIB), MIB / 2, 'of unknown size')
})

t.test('carry: after a failure of the lane the transfer is queued again, to be tried later', async (t) => {
  const at = await setUp(t)
  at.held.fail(unreachable(new Error('down')))
  await at.done
  t.match(await at.row(), {
    state: 'queued',
    lastErrorName: 'UPSTREAM_UNREACHABLE',
    nextAttemptUs: 7_500_000,
  })
  t.match(at.lane, { failures: 1, waitUntilMs: at.clock.ms + 500 })
  t.match(at.engine.metrics.snapshot(), {
    attempts: 1,
    delivered: 0,
    failed: 0,
    fault_upstream_unreachable: 1,
  })
  t.same(at.forgotten, [], 'without an answer the kind of the upstream is not in doubt')
  t.match(at.seen, [[at.id, { scope: 'lane', name: 'UPSTREAM_UNREACHABLE' }]])
  t.match(at.lines, [
    {
      level: 'info',
      message: 'transfer will be retried',
      fields: { fault: 'UPSTREAM_UNREACHABLE', waitMs: 500 },
    },
  ])
})

t.test('carry: after an answer with a failure the upstream is asked for its kind again', async (t) => {
  const at = await setUp(t)
  at.held.fail(refused(500, 'broken'))
  await at.done
  t.equal(at.forgotten.length, 1)
  t.equal(at.lane.stuck.get(at.id)?.failures, 1)
  t.match(await at.row(), { state: 'queued', lastError: 'The upstream answered 500: broken' })
})

t.test('carry: bytes gained since the beginning of the attempt forgive earlier failures', async (t) => {
  for (const [gained, failures] of [
    [1, 1],
    [0, 6],
  ] as const) {
    const at = await setUp(t, { bytesSent: 100 })
    at.lane.failures = 5
    at.progress.doneBytes = 100 + gained
    at.held.fail(unreachable(new Error('down')))
    await at.done
    t.equal(at.lane.failures, failures)
  }
})

t.test('carry: a final failure ends the transfer and is not retried', async (t) => {
  const at = await setUp(t)
  at.lane.stuck.set(at.id, { failures: 2, notBeforeMs: 0 })
  at.held.fail(refused(422, 'not like this'))
  await at.done
  t.match(await at.row(), { state: 'failed', lastError: 'The upstream answered 422: not like this' })
  t.equal(at.lane.stuck.size, 0)
  t.equal(at.lane.waitUntilMs, 0, 'the lane goes on')
  t.match(at.engine.metrics.snapshot(), { failed: 1, delivered: 0, fault_upstream_refused: 1 })
  t.equal(at.forgotten.length, 1)
  t.match(at.lines, [{ level: 'warn', message: 'transfer failed', fields: { reason: /not like this/ } }])
  t.match(at.seen, [[at.id, { scope: 'final', status: 422 }]])
})

t.test('carry: an attempt that was stopped is queued again without a failure', async (t) => {
  const at = await setUp(t)
  at.abort.abort(stopped('paused'))
  at.held.fail(new Error('undici: aborted'))
  await at.done
  t.match(await at.row(), { state: 'queued', lastError: null, nextAttemptUs: null })
  t.equal(at.lane.failures, 0)
  t.notMatch(at.engine.metrics.snapshot(), { fault_cancelled: 1 })
  t.match(
    at.seen,
    [[at.id, { scope: 'stopped' }]],
    'the reason of the signal counts, not the error that it caused',
  )
  t.same(at.lines, [])
})

t.test('carry: an attempt that was cancelled stays failed', async (t) => {
  const at = await setUp(t)
  await at.state.transfers.cancel(at.id)
  at.held.fail(stopped('cancelled'))
  await at.done
  t.match(await at.row(), { state: 'failed', lastErrorName: 'CANCELLED' })
})

t.test(
  'carry: an outcome that cannot be recorded is noted for the scheduler, and nothing is thrown',
  async (t) => {
    const at = await setUp(t)
    const full = () => Promise.reject(new AppError('DISK_FULL'))
    at.engine.transfers = { ...at.engine.transfers, deliver: full, putBack: full }
    at.held.deliver()
    await at.done
    t.same([...at.engine.unrecorded], [at.id])
    t.match(at.lines, [
      { level: 'warn', message: 'a failed transfer was not recorded', fields: { transfer: at.id } },
    ])
    t.same(at.seen, [])
  },
)
