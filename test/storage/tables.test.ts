import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { eventdata } from '../../src/api/map/eventdata.js'
import { mapReads } from '../../src/api/map/reads.js'
import { loadConfig } from '../../src/config/config.js'
import { ALL_COLUMNS, type AnyRecord, anyRecord } from '../support/any-record.js'
import { adminCaller } from '../support/caller.js'
import { inlineReaders } from '../support/inline-readers.js'
import { readResult } from '../support/read-stream.js'
import { openTables, type Tables, TIME_ZONE_MIN } from '../support/tables.js'

/** As the wire carries it: -0 is 0 there. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function recordsOf(count: number): fc.Arbitrary<AnyRecord[]> {
  return fc.tuple(...Array.from({ length: count }, (_, index) => anyRecord(index + 1)))
}

t.test('property: any valid record comes back through the reader as it was put', async () => {
  let run = 0
  const tables = openTables()
  await fc.assert(
    fc.asyncProperty(recordsOf(4), async (records) => {
      const table = tables.register(`t${run++}`, ALL_COLUMNS, ['id'])
      const counters = await tables.put(
        table,
        records.map(({ feature }) => asJson(feature)),
      )
      deepStrictEqual(counters, { upload: 4, duplicate: 0, insert: 4, update: 0 })
      const rows = await tables.read(table)
      deepStrictEqual(
        rows.map(({ geometry, properties }) => asJson({ geometry, properties })),
        records.map(({ geometry, properties }) => asJson({ geometry, properties })),
      )
    }),
    { numRuns: 120 },
  )
})

t.test('property: a record that overrides another leaves nothing of it', async () => {
  let run = 0
  const tables = openTables()
  await fc.assert(
    fc.asyncProperty(anyRecord(1), anyRecord(1), async (first, second) => {
      const table = tables.register(`t${run++}`, ALL_COLUMNS, ['id'])
      await tables.put(table, [asJson(first.feature)])
      const counters = await tables.put(table, [asJson(second.feature)], 'override')
      deepStrictEqual(counters, { upload: 1, duplicate: 1, insert: 0, update: 1 })
      const rows = await tables.read(table)
      deepStrictEqual(
        rows.map(({ geometry, properties }) => asJson({ geometry, properties })),
        [asJson({ geometry: second.geometry, properties: second.properties })],
      )
    }),
    { numRuns: 60 },
  )
})

t.test('property: any valid record comes back through mapserv.eventdata as it was put', async () => {
  let run = 0
  const tables = openTables()
  await fc.assert(
    fc.asyncProperty(recordsOf(2), async (records) => {
      const name = `t${run++}`
      const table = tables.register(name, ALL_COLUMNS, ['id'])
      await tables.put(
        table,
        records.map(({ feature }) => asJson(feature)),
      )
      deepStrictEqual(
        await askEventdata(tables, name),
        records.map(({ geometry, properties }) =>
          asJson({ type: 'Feature', geometry, properties: { table: `event.${name}_tbl_0`, ...properties } }),
        ),
      )
    }),
    { numRuns: 60 },
  )
})

async function askEventdata(tables: Tables, table: string): Promise<unknown[]> {
  const loaded = loadConfig(null, {}, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const { signal } = new AbortController()
  const readers = inlineReaders(mapReads({ tables: tables.reader, config: loaded.config, timeZoneMin: 540 }))
  const context = { readers, signal, caller: adminCaller, timeZoneMin: TIME_ZONE_MIN }
  const params = { type: 'Feature', geometry: null, properties: { table } }
  const { value } = await readResult(await eventdata.call(params, context))
  return (value as { features: unknown[] }).features
}
