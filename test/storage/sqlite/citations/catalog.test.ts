import path from 'node:path'
import t, { type Test } from 'tap'
import { findCitation } from '../../../../src/storage/sqlite/citations/catalog.js'
import { createCitationReader } from '../../../../src/storage/sqlite/citations/store.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { openTables } from '../../../support/tables.js'

function opened(t: Test) {
  const file = path.join(t.testdir(), 'data.db')
  const tables = openTables(file)
  const datasets = openDatasets(file)
  t.teardown(async () => {
    await datasets.close()
    tables.data.close()
  })
  return { tables, ...datasets }
}

t.test('citations: one whose table is missing in the catalogue is an error that names it', async (t) => {
  const { tables, store, data } = opened(t)
  tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  await store.create(definition('d', columns('k int')))
  const longForms = [(await store.cite('a', 'd')).longForm, (await store.cite('b', 'events')).longForm]
  await store.settled()
  data.writer.pragma('foreign_keys = OFF')
  data.writer.exec('DELETE FROM dataset; DELETE FROM loader_table')
  for (const longForm of longForms)
    t.throws(() => findCitation(data.writer, longForm), {
      message: `${longForm}: the cited table is not in the catalogue`,
    })
})

t.test('citations: no checksum is begun for a citation that is gone', async (t) => {
  const { store, data } = opened(t)
  await store.create(definition('d', columns('k int')))
  const { citationId, longForm } = await store.cite('a', 'd')
  const reader = createCitationReader(data.reader)
  const pass = await reader.openChecksum(citationId)
  t.match(await pass?.step(Infinity), { rowCount: 0 })
  await store.uncite(longForm)
  t.equal(await reader.openChecksum(citationId), undefined)
  t.equal(await reader.findById(citationId), undefined)
})
