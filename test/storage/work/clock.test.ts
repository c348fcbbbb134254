import t from 'tap'
import { createClock, MAX_AHEAD_DAYS, WRITTEN_AT_US } from '../../../src/storage/work/clock.js'

const DAY_MS = 86_400_000
const NOW_MS = WRITTEN_AT_US / 1000 + 100 * DAY_MS

/** A clock whose wall clock stands at a time that can be set. */
function clockAt(recordedMs: number) {
  let wallMs = NOW_MS
  const clock = createClock(recordedMs * 1000, () => wallMs)
  return {
    clock,
    set(ms: number) {
      wallMs = ms
    },
  }
}

t.test('clock: one reading 20 years ahead is not believed, and leaves nothing behind', async (t) => {
  const { clock, set } = clockAt(NOW_MS)
  t.ok(clock.isTrusted())
  set(NOW_MS + 20 * 365 * DAY_MS)
  t.notOk(clock.isTrusted())
  t.notOk(clock.hasPassed((NOW_MS + DAY_MS) * 1000), 'nothing expires by it')
  t.equal(clock.latestUs(), NOW_MS * 1000, 'new terms begin at the latest believed time')
  set(NOW_MS + DAY_MS)
  t.ok(clock.isTrusted(), 'set right, it is believed again')
  t.ok(clock.hasPassed((NOW_MS + DAY_MS) * 1000))
})

t.test('clock: a device that was off for a year is believed, also at its first start', async (t) => {
  for (const recordedMs of [NOW_MS, 0]) {
    const { clock, set } = clockAt(recordedMs)
    set(NOW_MS + 365 * DAY_MS)
    t.ok(clock.isTrusted(), `recorded ${recordedMs}`)
    set(NOW_MS + (365 + MAX_AHEAD_DAYS) * DAY_MS - 1)
    t.ok(clock.isTrusted(), 'and from there on')
  }
  const first = clockAt(0)
  first.set(WRITTEN_AT_US / 1000 + 9 * 365 * DAY_MS)
  t.ok(first.clock.isTrusted(), 'a program of nine years ago is installed')
  const never = clockAt(0)
  never.set(WRITTEN_AT_US / 1000 + 11 * 365 * DAY_MS)
  t.notOk(never.clock.isTrusted())
})

t.test('clock: a recorded time bounds the jump at the start', async (t) => {
  const { clock, set } = clockAt(NOW_MS)
  set(NOW_MS + (MAX_AHEAD_DAYS + 1) * DAY_MS)
  t.notOk(clock.isTrusted())
  t.equal(clock.latestUs(), NOW_MS * 1000)
})
