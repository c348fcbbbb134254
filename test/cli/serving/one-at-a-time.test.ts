import t from 'tap'
import { oneAtATime } from '../../../src/cli/serving/one-at-a-time.js'

t.test('one at a time: signals while the work runs have it run once more', async (t) => {
  const waiting: (() => void)[] = []
  let running = 0
  const ask = oneAtATime(async () => {
    t.equal(++running, 1, 'never two at a time')
    await new Promise<void>((resolve) => waiting.push(resolve))
    running--
  }, 0)
  const isBegun = async (count: number) => {
    while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (let i = 0; i < 2000; i++) ask()
  await isBegun(1)
  t.equal(waiting.length, 1)
  waiting[0]?.()
  await isBegun(2)
  for (let i = 0; i < 2000; i++) ask()
  waiting[1]?.()
  await isBegun(3)
  waiting[2]?.()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(waiting.length, 3, 'the last signal has been served')
  ask()
  await isBegun(4)
  waiting[3]?.()
  t.equal(waiting.length, 4)
})
