import t from 'tap'
import type { ThinRule } from '../../../../src/storage/retention.js'
import { NO_RULE, openRetention, reading, removeAll } from '../../../support/retention.js'

const DAY_S = 86_400

function thin(to: ThinRule['to'], more: Partial<ThinRule> = {}) {
  return { ...NO_RULE, thin: { afterDays: 1, intervalS: 600, by: ['sensor'], to, ...more } }
}

t.test('thinning: many late rows of many intervals are thinned in several passes', async (t) => {
  const all = openRetention()
  const { tables, table, store } = all
  await store.set(table, thin({ keep: 'first' }))
  await tables.put(table, [reading(-1, 2 * DAY_S)])
  await removeAll(all, table, 'thin', { limit: 1000 })
  const late = Array.from({ length: 12_000 }, (_, seq) => reading(seq, 400 * DAY_S - (seq % 11_000) * 600))
  await tables.put(table, late)
  for (let removed = 1; removed > 0; ) ({ removed } = await removeAll(all, table, 'thin', { limit: 1000 }))
  await removeAll(all, table, 'thin', { limit: 1000 })
  t.equal((await tables.read(table)).length, 11_001, 'one of each interval')
})
