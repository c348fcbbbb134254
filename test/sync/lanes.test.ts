import t from 'tap'
import type { TransferRecord } from '../../src/storage/models/transfers.js'
import type { AttemptFault } from '../../src/sync/faults.js'
import {
  clearWaits,
  type LaneState,
  laneKey,
  newLane,
  nextOf,
  noteFailure,
  noteSuccess,
} from '../../src/sync/lanes.js'

const settings = { baseMs: 1000, capMs: 60_000 }
const one = () => 1
const transfer = (transferId: number) => ({ transferId }) as TransferRecord
const fault = (scope: AttemptFault['scope'], retryAfterS?: number): AttemptFault => ({
  scope,
  name: 'X',
  message: 'x',
  ...(retryAfterS === undefined ? {} : { retryAfterS }),
})

/** Notes failures of transfer 1 of a lane. */
const failuresOf = (lane: LaneState) => (fault: AttemptFault, hasProgressed: boolean) =>
  noteFailure(lane, { transferId: 1, fault, hasProgressed, nowMs: 0 }, settings, one)

t.test('lanes: first in, first out; after three refusals of its own a transfer is overtaken', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  const fail = failuresOf(lane)
  const waiting = [transfer(1), transfer(2)]
  const next = (nowMs: number) => {
    const found = nextOf(lane, waiting, nowMs)
    return 'transferId' in found ? found.transferId : -found.notBeforeMs
  }
  for (let i = 0; i < 2; i++) fail(fault('transfer'), false)
  t.equal(next(0), 1, 'still in order')
  t.equal(lane.waitUntilMs, 2000)
  fail(fault('transfer'), false)
  t.equal(next(0), 2, 'set aside')
  t.equal(next(4000), 1, 'until its own wait is over')
  noteSuccess(lane, 2)
  t.same([lane.waitUntilMs, next(0)], [0, 1], 'another success: at once')
  waiting.pop()
  for (let i = 0; i < 10; i++) fail(fault('transfer'), false)
  noteSuccess(lane, 2)
  t.equal(next(0), -60_000, 'not for one that failed often')
  clearWaits(lane)
  t.equal(next(0), 1, 'an operator asks')
})

t.test('lanes: failures of the upstream keep the order, progress shortens the wait', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  const fail = failuresOf(lane)
  for (let i = 0; i < 8; i++) fail(fault('lane'), false)
  t.same([lane.waitUntilMs, nextOf(lane, [transfer(1), transfer(2)], 0)], [60_000, transfer(1)])
  t.equal(fail(fault('lane'), true), 1000)
  t.equal(fail(fault('lane', 300), false), 360_000, 'Retry-After counts')
  t.equal(fail(fault('lane', 1e9), false), 86_460_000, 'up to a day')
})

t.test('newLane: nothing runs, nothing waits', async (t) => {
  const lane = newLane({ upstreamId: 3, kind: 'fetch' })
  t.match(lane, { isRunning: false, failures: 0, waitUntilMs: 0 })
  t.ok(lane.lastRunMs < 0, 'its turn is before that of any lane that ran')
  t.same(nextOf(lane, [], 0), { notBeforeMs: Number.POSITIVE_INFINITY })
})

t.test('laneKey: each pair of an upstream and a kind has its own', async (t) => {
  const lanes = [1, 11].flatMap((upstreamId) =>
    (['feedback', 'fetch'] as const).map((kind) => ({ upstreamId, kind })),
  )
  t.equal(new Set(lanes.map(laneKey)).size, 4)
  t.equal(laneKey({ upstreamId: 1, kind: 'fetch' }), laneKey({ kind: 'fetch', upstreamId: 1 }))
})

t.test('noteFailure: a refused transfer waits at least as long as its lane', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  const fail = failuresOf(lane)
  for (let i = 0; i < 4; i++) fail(fault('lane'), false)
  t.equal(fail(fault('transfer'), false), 16_000, 'its first failure, the fifth of the lane')
  t.equal(lane.stuck.get(1)?.notBeforeMs, 16_000)
  t.equal(
    fail(fault('transfer', 100), false),
    150_000,
    'as long as the upstream asks, and up to half of it more',
  )
  t.equal(lane.stuck.get(1)?.notBeforeMs, 150_000)
})

t.test('noteFailure: its own failures alone count for a transfer; progress starts them again', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  const fail = failuresOf(lane)
  for (const scope of ['lane', 'transfer', 'lane', 'transfer'] as const) fail(fault(scope), false)
  t.same([lane.failures, lane.stuck.get(1)?.failures], [4, 2])
  fail(fault('transfer'), true)
  t.same([lane.failures, lane.stuck.get(1)?.failures], [1, 1])
})

t.test(
  'noteSuccess: a delivered transfer is forgotten, others are tried next up to nine failures',
  async (t) => {
    const lane = newLane({ upstreamId: 1, kind: 'feedback' })
    const fail = failuresOf(lane)
    for (let i = 0; i < 9; i++) fail(fault('transfer'), false)
    noteSuccess(lane, 2)
    t.equal(lane.stuck.get(1)?.notBeforeMs, 0, 'nine failures: eager')
    fail(fault('transfer'), false)
    noteSuccess(lane, 2)
    t.ok((lane.stuck.get(1)?.notBeforeMs ?? 0) > 0, 'ten failures: its own wait')
    noteSuccess(lane, 1)
    t.equal(lane.stuck.size, 0)
  },
)

t.test('nextOf: all set aside: the time of the one that may be tried first', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  lane.stuck.set(1, { failures: 3, notBeforeMs: 900 })
  lane.stuck.set(2, { failures: 5, notBeforeMs: 400 })
  lane.stuck.set(3, { failures: 3, notBeforeMs: 700 })
  const waiting = [transfer(1), transfer(2), transfer(3)]
  t.same(nextOf(lane, waiting, 399), { notBeforeMs: 400 })
  t.same(nextOf(lane, waiting, 400), transfer(2))
  t.same(nextOf(lane, waiting, 1000), transfer(1), 'in order again')
})
