import t from 'tap'
import { createKeyring } from '../../../src/storage/keyring.js'
import { readRecord } from '../../../src/storage/records/record.js'
import { planRecords } from '../../../src/storage/records/record-plan.js'
import type { Column, RecordEnv } from '../../../src/storage/tables.js'
import { openTables } from '../../support/tables.js'

const ENV: RecordEnv = {
  timeZoneMin: 0,
  nowUs: 0n,
  keyring: createKeyring(new Uint8Array(32)),
  newPathId: () => 'path',
}

const tableOf = (...columns: Partial<Column>[]) => {
  const tables = openTables()
  const table = tables.register('x', columns, ['k'])
  tables.data.close()
  return table
}

t.test('planRecords: a default that does not fit its column is an error that names the column', async (t) => {
  const table = tableOf({ name: 'k', udtName: 'int4', columnDefault: 'many' })
  t.throws(() => planRecords(table, ENV), {
    message: /^the default of k does not fit its type: found "many"/,
  })
})

t.test(
  'readRecord: a Feature without properties has the defaults, and null where there is none',
  async (t) => {
    const plan = planRecords(tableOf({ name: 'k', udtName: 'int4', columnDefault: '7' }, { name: 'v' }), ENV)
    for (const properties of [null, undefined, {}])
      t.match(readRecord(plan, { type: 'Feature', geometry: null, properties }), {
        values: [null, null, null, 7, null],
      })
  },
)
