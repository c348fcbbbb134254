import t from 'tap'
import { startHistory } from '../../../src/gateway/metrics/history.js'
import { pairHeaders, startGateway } from '../../support/start-gateway.js'

const PAGE = (n: number) => `# HELP x
process_resident_memory_bytes ${n}
fieldgate_http_responses_total{status="200"} ${n}
fieldgate_http_responses_total{status="404"} 2
other_total 7
`

t.test('history: the newest samples stay, in their order, with null for what is missing', async (t) => {
  let n = 0
  const history = startHistory(
    async () => PAGE(++n),
    (error) => t.fail(String(error)),
    {
      everyMs: 1,
      maxSamples: 3,
      nowMs: () => n * 1000,
    },
  )
  t.teardown(history.stop)
  while (n < 6) await new Promise((resolve) => setTimeout(resolve, 5))
  history.stop()
  const samples = history.samples()
  t.equal(samples.length, 3)
  const memory = samples.map((values) => values[1 + history.names.indexOf('memory_bytes')])
  t.same(
    memory,
    [...memory].sort((a, b) => Number(a) - Number(b)),
    'the oldest first',
  )
  const [, last] = samples.at(-1) ?? []
  t.equal(samples.at(-1)?.[1 + history.names.indexOf('responses')], Number(last) + 2, 'sum of a family')
  t.equal(samples[0]?.[1 + history.names.indexOf('queued')], null)
})

t.test('history: a fault of the page is reported, and not after the end', async (t) => {
  const faults: unknown[] = []
  const history = startHistory(
    async () => {
      throw new Error('no page')
    },
    (error) => faults.push(error),
    { everyMs: 1 },
  )
  while (faults.length === 0) await new Promise((resolve) => setTimeout(resolve, 2))
  history.stop()
  t.match(faults[0], { message: 'no page' })
  t.same(history.samples(), [])
})

t.test('history: GET /metrics/history, for any key', async (t) => {
  const gateway = await startGateway(t)
  const url = `${gateway.url}/metrics/history`
  t.equal((await fetch(url)).status, 401)
  const answer = await fetch(url, { headers: pairHeaders(gateway.admin) })
  t.match(await answer.json(), { every_s: 60, names: ['memory_bytes'], samples: [] })
})
