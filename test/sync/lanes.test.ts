import fc from 'fast-check'
import t from 'tap'
import { createPins } from '../../src/models/pins.js'
import type { TransferRecord } from '../../src/storage/transfers.js'
import { backoffMs, retryAfterS } from '../../src/sync/backoff.js'
import { baseUrlOf } from '../../src/sync/endpoint.js'
import { type AttemptFault, classify, garbage, refused, unreachable } from '../../src/sync/faults.js'
import { clearWaits, newLane, nextOf, noteFailure, noteSuccess } from '../../src/sync/lanes.js'
import { createThrottle } from '../../src/sync/throttle.js'
import { isWithinWindows } from '../../src/sync/windows.js'

t.test('backoff: full jitter below the cap', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, random) => {
        const waitMs = backoffMs(failures, 5000, 1_800_000, random)
        return waitMs >= 0 && waitMs <= Math.min(1_800_000, 5000 * 2 ** Math.min(failures - 1, 40))
      },
    ),
  )
  t.same(
    [1, 2, 3, 10, 20].map((failures) => backoffMs(failures, 5000, 1_800_000, 1)),
    [5000, 10_000, 20_000, 1_800_000, 1_800_000],
  )
  t.same(
    [
      retryAfterS('7', 0),
      retryAfterS('Thu, 01 Jan 1970 00:01:00 GMT', 0),
      retryAfterS('soon', 0),
      retryAfterS(undefined, 0),
    ],
    [7, 60, undefined, undefined],
  )
})

t.test('windows: local time, over midnight, the whole day', async (t) => {
  const at = (time: string) => Date.parse(`2027-01-01T${time}:00Z`) * 1000
  const night = ['22:00-05:30']
  t.same(
    ['21:59', '22:00', '00:00', '05:29', '05:30'].map((time) => isWithinWindows(night, at(time), 0)),
    [false, true, true, true, false],
  )
  t.equal(isWithinWindows(night, at('13:00'), 540), true, '22:00 in Japan')
  t.equal(isWithinWindows([], at('12:00'), 0), true)
  t.equal(isWithinWindows(['00:00-00:00'], at('12:00'), 0), true)
  t.equal(isWithinWindows(['01:00-02:00', '11:00-13:00'], at('12:00'), 0), true)
})

t.test('throttle: never more than the bandwidth over time', async (t) => {
  let nowMs = 0
  const throttle = createThrottle(
    1000,
    () => nowMs,
    async (ms) => {
      nowMs += ms
    },
  )
  t.equal(throttle.pieceBytes, 250)
  const { signal } = new AbortController()
  for (let i = 0; i < 40; i++) await throttle.take(250, signal)
  t.ok(nowMs >= 9_700 && nowMs <= 10_000, `10 kB at 1 kB/s took ${nowMs} ms`)
  await createThrottle(
    0,
    () => 0,
    () => Promise.reject(new Error('waits')),
  ).take(1e9, signal)
})

t.test('endpoint: base URLs', async (t) => {
  t.equal(baseUrlOf('https://h/api/v2/fl/jsonrpc', []), 'https://h')
  t.equal(baseUrlOf('https://h:8443/prefix/api/v2/fl/jsonrpc/', []), 'https://h:8443/prefix')
  t.equal(baseUrlOf('https://h/', []), 'https://h')
  t.equal(baseUrlOf('http://h:80/', ['h']), 'http://h')
  t.equal(baseUrlOf('http://h:81/x', ['h:81']), 'http://h:81/x')
})

t.test('faults: what each answer means', async (t) => {
  const scope = (status: number) => classify(refused(status, '')).scope
  for (const status of [400, 403, 404, 405, 410, 413, 415, 422, 301, 307])
    t.equal(scope(status), 'final', `${status}`)
  for (const status of [401, 429, 502, 503, 504, 507]) t.equal(scope(status), 'lane', `${status}`)
  for (const status of [408, 409, 425, 500, 505]) t.equal(scope(status), 'transfer', `${status}`)
  t.equal(classify(unreachable(new Error('x'))).scope, 'lane')
  t.equal(classify(garbage('x')).scope, 'transfer')
  t.equal(classify(new TypeError('bug')).scope, 'transfer')
  t.equal(classify(refused(503, '', { 'retry-after': '9' })).retryAfterS, 9)
  t.equal(classify(refused(500, `a\n\u0000${'b'.repeat(999)}`)).message.length < 240, true)
})

const settings = { baseMs: 1000, capMs: 60_000 }
const one = () => 1
const transfer = (transferId: number) => ({ transferId }) as TransferRecord
const fault = (scope: AttemptFault['scope'], retryAfterS?: number): AttemptFault => ({
  scope,
  name: 'X',
  message: 'x',
  ...(retryAfterS === undefined ? {} : { retryAfterS }),
})

t.test(
  'lanes: first in, first out; what fails by itself lets the others pass after three answers',
  async (t) => {
    const lane = newLane({ upstreamId: 1, kind: 'feedback' })
    const waiting = [transfer(1), transfer(2)]
    const next = (nowMs: number) => {
      const found = nextOf(lane, waiting, nowMs)
      return 'transferId' in found ? found.transferId : -found.notBeforeMs
    }
    for (let i = 0; i < 2; i++) noteFailure(lane, 1, fault('transfer'), false, settings, 0, one)
    t.equal(next(0), 1, 'still in order')
    t.equal(lane.waitUntilMs, 2000)
    noteFailure(lane, 1, fault('transfer'), false, settings, 0, one)
    t.equal(next(0), 2, 'set aside')
    t.equal(next(4000), 1, 'until its own wait is over')
    noteSuccess(lane, 2)
    t.same([lane.waitUntilMs, next(0)], [0, 1], 'another success: at once')
    waiting.pop()
    for (let i = 0; i < 10; i++) noteFailure(lane, 1, fault('transfer'), false, settings, 0, one)
    noteSuccess(lane, 2)
    t.equal(next(0), -60_000, 'not for one that failed often')
    clearWaits(lane)
    t.equal(next(0), 1, 'an operator asks')
  },
)

t.test('lanes: failures of the upstream keep the line, progress makes the wait short', async (t) => {
  const lane = newLane({ upstreamId: 1, kind: 'feedback' })
  for (let i = 0; i < 8; i++) noteFailure(lane, 1, fault('lane'), false, settings, 0, one)
  t.same([lane.waitUntilMs, nextOf(lane, [transfer(1), transfer(2)], 0)], [60_000, transfer(1)])
  t.equal(noteFailure(lane, 1, fault('lane'), true, settings, 0, one), 1000)
  t.equal(noteFailure(lane, 1, fault('lane', 300), false, settings, 0, one), 300_000, 'Retry-After counts')
  t.equal(noteFailure(lane, 1, fault('lane', 1e9), false, settings, 0, one), 86_400_000, 'up to a day')
})

t.test('pins: bytes are not removed between file and row', async (t) => {
  const pins = createPins()
  const gone: string[] = []
  const remove = (sha256: string, isNamed = false) =>
    pins.removeUnnamed(
      sha256,
      async () => isNamed,
      async () => void gone.push(sha256),
    )
  const unpin = await pins.pin('a')
  t.equal(await remove('a'), false)
  unpin()
  t.equal(await remove('a', true), false)
  t.equal(await remove('a'), true)
  let finish: () => void = () => undefined
  const removing = pins.removeUnnamed(
    'b',
    async () => false,
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
  )
  await new Promise((resolve) => setImmediate(resolve))
  let isPinned = false
  const pinning = pins.pin('b').then(() => {
    isPinned = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(isPinned, false, 'a pin waits for the removal that has begun')
  finish()
  await Promise.all([removing, pinning])
  t.equal(isPinned, true)
})
