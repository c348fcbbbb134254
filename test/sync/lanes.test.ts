import t from 'tap'
import type { TransferRecord } from '../../src/storage/transfers.js'
import type { AttemptFault } from '../../src/sync/faults.js'
import {
  clearWaits,
  type LaneState,
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
  t.equal(fail(fault('lane', 300), false), 300_000, 'Retry-After counts')
  t.equal(fail(fault('lane', 1e9), false), 86_400_000, 'up to a day')
})
