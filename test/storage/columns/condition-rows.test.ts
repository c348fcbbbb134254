import t from 'tap'
import { AppError } from '../../../src/errors.js'
import { openSample } from '../../support/condition-sample.js'
import { openSqliteTables } from '../../support/conformance/tables/world.js'

t.test('conditions: areas are let go of when a query ends, also by a fault', async (t) => {
  const world = await openSqliteTables(t)
  const { ask } = await openSample(world)
  await ask({ intersects: ['shape', { type: 'Point', coordinates: [1, 0] }] })
  await t.rejects(
    ask({ and: [{ intersects: ['shape', { type: 'Point', coordinates: [1, 0] }] }, { '=': ['zzz', 1] }] }),
    AppError,
  )
  t.throws(() => world.data.reader.prepare("SELECT geo_intersects(x'01', 1)").get(), /no area/)
  t.throws(() => world.data.reader.prepare("SELECT geo_intersects(x'01', 2)").get(), /no area/)
})
