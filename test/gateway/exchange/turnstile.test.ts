import t from 'tap'
import { createTurnstile } from '../../../src/gateway/exchange/turnstile.js'

t.test('turnstile: a work begins when the one before has ended, also with a failure', async (t) => {
  const turn = createTurnstile()
  const log: string[] = []
  const work = (name: string, fault?: Error) =>
    turn(async () => {
      log.push(`${name} begins`)
      await new Promise(setImmediate)
      log.push(`${name} ends`)
      if (fault !== undefined) throw fault
      return name
    })
  const ended = await Promise.allSettled([work('a'), work('b', new Error('b fails')), work('c')])
  t.match(ended, [{ value: 'a' }, { reason: /b fails/ }, { value: 'c' }])
  t.same(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})
