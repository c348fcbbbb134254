import t from 'tap'
import { createSeldom } from '../../../src/console/core/seldom.js'

/** A clock that a test moves. */
function handClock() {
  let ms = 0
  let waiting: { atMs: number; act: () => void } | undefined
  return {
    nowMs: () => ms,
    later(waitMs: number, act: () => void) {
      waiting = { atMs: ms + waitMs, act }
      return () => {
        waiting = undefined
      }
    },
    move(byMs: number) {
      ms += byMs
      if (waiting === undefined || waiting.atMs > ms) return
      const { act } = waiting
      waiting = undefined
      act()
    },
  }
}

t.test('createSeldom: the first run is at once, those that follow wait together', async (t) => {
  const clock = handClock()
  const ran: number[] = []
  const work = createSeldom(150, () => ran.push(clock.nowMs()), clock)
  work.soon()
  t.same(ran, [0])
  clock.move(50)
  work.soon()
  clock.move(50)
  work.soon()
  t.same(ran, [0])
  clock.move(50)
  t.same(ran, [0, 150], 'the newest state is shown, though nothing was asked for since')
  clock.move(1000)
  t.same(ran, [0, 150])
  work.soon()
  t.same(ran, [0, 150, 1150])
})

t.test('createSeldom: `now` does not wait, and takes what waits with it', async (t) => {
  const clock = handClock()
  const ran: number[] = []
  const work = createSeldom(150, () => ran.push(clock.nowMs()), clock)
  work.soon()
  clock.move(10)
  work.soon()
  work.now()
  t.same(ran, [0, 10])
  clock.move(1000)
  t.same(ran, [0, 10])
})
