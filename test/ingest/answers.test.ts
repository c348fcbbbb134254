import t from 'tap'
import type { BrokerSettings } from '../../src/config/ingest.js'
import { publishAnswer } from '../../src/ingest/answers.js'
import { memoryState } from '../support/memory-state.js'

t.test('answers: the end of a module goes to the outboxes of the brokers that publish it', async (t) => {
  const { ingest } = await memoryState(t)
  const rule = { qos: 1, retain: false, columns: [] }
  const brokers = [
    {
      name: 'a',
      publish: [
        { ...rule, module: 'rain-risk', topic: 'done/{module}/{method}', retain: true },
        { ...rule, table: 'rain', topic: 'x' },
        { ...rule, module: 'rain-risk', method: 'other', topic: 'x' },
      ],
    },
    { name: 'b', publish: [{ ...rule, module: 'folder', method: 'make', topic: 'b' }] },
    { name: 'c', publish: [{ ...rule, module: 'else', topic: 'c' }] },
  ] as unknown as BrokerSettings[]
  const run = { names: ['rain-risk', 'folder'], method: 'make', runId: 'r', endedAtUs: 1_700_000_000_000_000 }
  t.equal(await publishAnswer(ingest, brokers, { ...run, error: null }), 2)
  const [first] = await ingest.outboxOf('a', 10)
  t.match(first, { topic: 'done/rain-risk/make', qos: 1, isRetained: true })
  t.same(JSON.parse(Buffer.from(first?.payload ?? []).toString()), {
    ...{
      module: 'rain-risk',
      method: 'make',
      run_id: 'r',
      ended_at: '2023-11-14T22:13:20.000Z',
      error: null,
    },
  })
  t.equal(
    await publishAnswer(ingest, brokers, { ...run, error: { name: 'MODULE_FAILED', message: 'no' } }),
    2,
  )
  t.match(JSON.parse(Buffer.from((await ingest.outboxOf('b', 10))[1]?.payload ?? []).toString()), {
    error: { name: 'MODULE_FAILED', message: 'no' },
  })
  t.equal(await ingest.countOutbox('c'), 0)
})
