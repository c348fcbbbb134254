import t from 'tap'
import type { CheckContext } from '../../src/doctor/finding.js'
import { checkRetention } from '../../src/doctor/retention.js'
import { openDatabase } from '../../src/storage/sqlite/connection/database.js'
import { createMaintenance } from '../../src/storage/sqlite/maintenance/maintenance.js'
import { readRetention } from '../../src/storage/sqlite/maintenance/retention-facts.js'
import { NO_RULE, openRetention, reading } from '../support/retention.js'
import { NOW_US } from '../support/tables.js'

t.test('doctor: rows that are older than their rule are told', async (t) => {
  const { tables, table, store } = openRetention()
  const facts = { retention: async () => readRetention(tables.data.reader) }
  const context = { layout: { root: '' }, maintenance: { facts }, nowUs: NOW_US } as unknown as CheckContext
  const find = async () => (await checkRetention(context)).map(({ state, message }) => `${state}: ${message}`)
  t.same(await find(), ['ok: no table has a rule by which rows go'])
  await store.set(table, { ...NO_RULE, ageDays: 2 })
  t.same(await find(), ['ok: old rows of 1 tables have gone as their rules say'])
  await tables.put(table, [reading(1, 2.5 * 86_400), reading(2, null, { start_datetime: '-infinity' })])
  t.same(await find(), ['ok: old rows of 1 tables have gone as their rules say'], 'a day is let pass')
  await tables.put(table, [reading(3, 5.5 * 86_400)])
  t.same(await find(), ['warning: rows of readings are up to 5 days old, they should go after 2'])
  t.match((await checkRetention(context))[0]?.advice, /a feed has not sent/)
  await store.set(table, { ...NO_RULE, ageDays: 2, dropsUnsent: true })
  t.notMatch((await checkRetention(context))[0]?.advice, /a feed has not sent/)
  await store.set(table, { ...NO_RULE, maxRows: 9 })
  t.same(await find(), ['ok: old rows of 1 tables have gone as their rules say'])
  t.same(readRetention(openDatabase(':memory:', [])), [], 'a database of an earlier schema has no rules')
  const dir = t.testdir()
  openDatabase(`${dir}/state.db`, []).close()
  const stored = createMaintenance().facts
  t.same(await stored.retention(dir), [], 'nor has a directory without tables')
  t.same(await stored.diskSamples(dir), { samples: [], reusableBytes: 0 })
})
