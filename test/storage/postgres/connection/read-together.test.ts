import t from 'tap'
import { readTogether } from '../../../../src/storage/postgres/connection/read-together.js'

t.test('reads: keys that are asked for meanwhile share the next statement', async (t) => {
  const asked: (readonly string[])[] = []
  const answers: ((fault?: Error) => void)[] = []
  const read = readTogether<string>((keys) => {
    asked.push(keys)
    return new Promise((resolve, reject) => {
      const found = new Map(keys.filter((key) => key !== 'none').map((key) => [key, `row of ${key}`]))
      answers.push((fault) => (fault === undefined ? resolve(found) : reject(fault)))
    })
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const first = read('a')
  await turn()
  const second = [read('b'), read('none'), read('b')]
  await turn()
  t.same(asked, [['a']], 'one statement at a time')
  answers[0]?.()
  t.equal(await first, 'row of a')
  await turn()
  t.same(asked[1], ['b', 'none'])
  const third = read('c')
  answers[1]?.(new Error('the connection was lost'))
  for (const one of await Promise.allSettled(second)) t.match(one, { reason: /the connection was lost/ })
  await turn()
  answers[2]?.()
  t.equal(await third, 'row of c', 'a fault is not passed on')
  const last = read('none')
  await turn()
  answers[3]?.()
  t.equal(await last, undefined)
})
