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
