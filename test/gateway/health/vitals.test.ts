import t from 'tap'
import { createVitals } from '../../../src/gateway/health/vitals.js'

t.test('vitals: a silent search thread is dead, a bulk job may be silent for ten minutes', async (t) => {
  const alive = { search: true, job: true, writer: true }
  let nowMs = 0
  const vitals = createVitals(
    {
      searcher: { isAlive: async () => alive.search },
      jobs: { isAlive: async () => alive.job },
      writers: { isAlive: async () => alive.writer },
    },
    () => nowMs,
  )
  t.equal(await vitals(10), true)
  alive.search = false
  t.equal(await vitals(10), false)
  Object.assign(alive, { search: true, job: false })
  t.equal(await vitals(10), true)
  nowMs = 9 * 60_000
  t.equal(await vitals(10), true)
  nowMs = 11 * 60_000
  t.equal(await vitals(10), false)
  alive.job = true
  t.equal(await vitals(10), true)
  alive.job = false
  t.equal(await vitals(10), true, 'the silence is measured from its own start')
  Object.assign(alive, { job: true, writer: false })
  nowMs = 22 * 60_000
  t.equal(await vitals(10), false, 'that of the other writer, too')
})
