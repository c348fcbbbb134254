import fc from 'fast-check'
import t from 'tap'
import { untilBeatMs } from '../../src/sync/beat.js'

t.test('beat: parts that begin at different times meet at the same moments', async (t) => {
  t.equal(untilBeatMs(1000, 5000), 1000)
  t.equal(untilBeatMs(1000, 5001), 999)
  t.equal(untilBeatMs(1000, 5890), 110)
  t.equal(untilBeatMs(1000, 5950), 1050, 'a timer that fires early waits for the beat after the next')
})

t.test('property: a wait ends at a multiple of the period, within 0.1 to 1.1 periods', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 100_000 }), fc.integer({ min: 0, max: 1e9 }), (every, now) => {
      const wait = untilBeatMs(every, now)
      return (now + wait) % every === 0 && wait >= every * 0.1 && wait <= every * 1.1
    }),
  )
  t.pass('holds')
})
