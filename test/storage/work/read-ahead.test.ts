import t from 'tap'
import { createReadAhead } from '../../../src/storage/work/read-ahead.js'

const NEVER = () => false

function* count(until: number, fault?: Error) {
  for (let i = 0; i < until; i++) yield i
  if (fault !== undefined) throw fault
}

t.test('read ahead: items come once and in order, whatever was read before', async (t) => {
  for (const maxSize of [0, 1, 40, 100, 1000])
    for (const steps of [0, 1, 3]) {
      const ahead = createReadAhead(count(100), () => 1, maxSize)
      for (let i = 0; i < steps; i++) ahead.advance(() => true)
      t.same([...ahead], [...count(100)], `${maxSize} kept, ${steps} steps`)
    }
})

t.test(
  'read ahead: stops at the limit and at the end of a step, and says when nothing is left',
  async (t) => {
    let read = 0
    const items = (function* () {
      for (const item of count(100)) {
        read++
        yield item
      }
    })()
    const ahead = createReadAhead(items, () => 10, 640)
    t.equal(
      ahead.advance(() => true),
      false,
      'one step',
    )
    t.equal(read, 32)
    t.equal(ahead.advance(NEVER), true)
    t.equal(read, 64, 'as many as may be kept')
    t.equal(ahead.advance(NEVER), true)
    t.equal(read, 64)
    t.equal([...ahead].length, 100)
  },
)

t.test('read ahead: an error is thrown in its place', async (t) => {
  const ahead = createReadAhead(count(3, new Error('the fourth')), () => 1, 1000)
  t.equal(ahead.advance(NEVER), true)
  const seen: number[] = []
  t.throws(
    () => {
      for (const item of ahead) seen.push(item)
    },
    { message: 'the fourth' },
  )
  t.same(seen, [0, 1, 2])
})
