import t from 'tap'
import { createThrottle } from '../../src/sync/throttle.js'

t.test('throttle: bytes over time stay below the bandwidth; without a limit nothing waits', async (t) => {
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

t.test(
  'throttle: pieces are a quarter of a second long, at least one byte and at most 256 KiB',
  async (t) => {
    const pieceBytes = (bytesPerSecond: number) =>
      createThrottle(
        bytesPerSecond,
        () => 0,
        async () => undefined,
      ).pieceBytes
    t.same(
      [0, 1, 3, 4, 1023, 1_048_576, 1_048_580, 1e12].map(pieceBytes),
      [262_144, 1, 1, 1, 255, 262_144, 262_144, 262_144],
    )
  },
)

t.test('throttle: nobody sleeps when the bandwidth is free, and idle time is not saved up', async (t) => {
  let nowMs = 0
  const sleeps: number[] = []
  const throttle = createThrottle(
    1000,
    () => nowMs,
    async (ms) => {
      sleeps.push(ms)
    },
  )
  const { signal } = new AbortController()
  await throttle.take(500, signal)
  t.same(sleeps, [], 'the first piece goes at once')
  nowMs = 500
  await throttle.take(500, signal)
  t.same(sleeps, [], 'exactly when the bucket is free')
  nowMs = 10_000
  await throttle.take(500, signal)
  await throttle.take(500, signal)
  await throttle.take(500, signal)
  t.same(sleeps, [500, 1000], 'the pieces after a pause wait as before it')
})

t.test('throttle: without a limit no number of takes waits', async (t) => {
  const throttle = createThrottle(
    0,
    () => 0,
    () => Promise.reject(new Error('waits')),
  )
  const { signal } = new AbortController()
  for (let i = 0; i < 3; i++) await t.resolves(throttle.take(1e9, signal))
})

t.test('throttle: the signal of a take reaches its sleep', async (t) => {
  const throttle = createThrottle(
    1,
    () => 0,
    async (_ms, signal) => signal.throwIfAborted(),
  )
  const controller = new AbortController()
  await throttle.take(1, controller.signal)
  controller.abort(new Error('stopped'))
  await t.rejects(throttle.take(1, controller.signal), { message: 'stopped' })
})
