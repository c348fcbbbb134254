import t from 'tap'
import { addFlood, townGateway } from '../../support/console-gateway.js'

const DATASET = '/api/v2/dataset/jsonrpc'

t.test('dataset.record.count: a table by its key, before and after its first citation', async (t) => {
  const gateway = await townGateway(t)
  await addFlood(gateway)
  const count = async (condition: object) => {
    const { body } = await gateway.call(DATASET, 'dataset.record.count', {
      dataset_label: 'flood',
      condition,
    })
    return body.result
  }
  const start = { '=': ['start_datetime', '2026-01-01T10:00:00Z'] }
  const counts = async () => [
    await count({ '=': ['cell', 1] }),
    await count({ and: [{ '=': ['cell', 1] }, { '>': ['risk', 1] }] }),
    await count({ and: [{ '=': ['cell', 1] }, start] }),
    await count({ '=': ['cell', 2] }),
  ]
  t.same(await counts(), [2, 1, 1, 0])
  await gateway.call(DATASET, 'dataset.citation.create', { citation_label: 'c', source: 'flood' })
  t.same(await counts(), [2, 1, 1, 0])
})
