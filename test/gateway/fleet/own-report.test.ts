import path from 'node:path'
import t from 'tap'
import { prepareDataDir } from '../../../src/cli/serving/prepare.js'
import { loadConfig } from '../../../src/config/config.js'
import { layoutOf } from '../../../src/files/layout.js'
import { createDoctorLine, lastPosition } from '../../../src/gateway/fleet/own-report.js'
import { encodeWkb } from '../../../src/geo/wkb.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import type { ChangedRow, LoaderTable } from '../../../src/storage/tables.js'

t.test('doctor line: the worst finding, which stands for an hour', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const layout = layoutOf(dataDir)
  const { apiKey } = await prepareDataDir(layout)
  const loaded = loadConfig(null, {}, { dataDir })
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  let nowMs = 0
  const read = createDoctorLine({ config: loaded.config, layout, version: '1.2.3' }, () => nowMs)
  const before = await read()
  const state = await openState(layout.stateDb)
  await state.keys.revoke(apiKey ?? '')
  await state.close()
  nowMs = 3_599_999
  t.equal(await read(), before)
  nowMs = 3_600_000
  t.match(await read(), /^(?:error|warning) of keys: .+/)
})

t.test('last position: the point of the row that changed last, and null for anything else', async (t) => {
  const table = { columns: [{ name: 'start_datetime' }, { name: 'location' }] } as unknown as LoaderTable
  const position = (location: unknown, last = 7) =>
    lastPosition(table, {
      last: async () => last,
      after: async (_table, change, limit) => {
        t.same([change, limit], [last - 1, 1])
        return [{ values: [null, location] } as unknown as ChangedRow]
      },
    })
  t.same(await position(encodeWkb({ type: 'Point', coordinates: [135.5, 34.7] })), [135.5, 34.7])
  t.equal(await position(null), null)
  t.equal(await position(encodeWkb({ type: 'Point', coordinates: [1e6, 34.7] })), null, 'other references')
  const line = { type: 'LineString' as const, coordinates: [[1, 2] as const, [3, 4] as const] }
  t.equal(await position(encodeWkb(line as never)), null)
  t.equal(await position(null, 0), null, 'an empty table')
})
