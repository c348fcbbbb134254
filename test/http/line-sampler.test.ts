import t from 'tap'
import { createLineSampler } from '../../src/http/line-sampler.js'

t.test('line sampler: the first lines of each kind, then a count of the rest', async (t) => {
  const reports: [string, number][] = []
  const sampler = createLineSampler<'a' | 'b'>({
    perMinute: 2,
    onLeftOut: (kind, count) => reports.push([kind, count]),
  })
  t.same(
    [1, 2, 3, 4].map(() => sampler.allows('a')),
    [true, true, false, false],
  )
  t.same(
    [1, 2].map(() => sampler.allows('b')),
    [true, true],
    'another kind is counted apart',
  )
  t.same(reports, [])
  sampler.stop()
  t.same(reports, [['a', 2]], 'nothing is reported of a kind that fitted')
  t.equal(sampler.allows('a'), true, 'a new minute')
  sampler.stop()
  t.equal(reports.length, 1)
})

t.test('line sampler: a minute ends by itself', async (t) => {
  const { mock } = await import('node:test')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const reports: number[] = []
  const sampler = createLineSampler<'a'>({ perMinute: 1, onLeftOut: (_, count) => reports.push(count) })
  for (let i = 0; i < 5; i++) sampler.allows('a')
  mock.timers.tick(59_999)
  t.same(reports, [])
  mock.timers.tick(1)
  t.same(reports, [4])
  t.equal(sampler.allows('a'), true)
})
