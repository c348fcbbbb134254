import t from 'tap'
import { COLUMN_TYPES, definitionOf } from '../../../src/console/tables/column-types.js'
import { openTestLoader } from '../../support/loader.js'

t.test('form for a new table: register_loader accepts every column type that it offers', async (t) => {
  const loader = openTestLoader(t)
  for (const type of COLUMN_TYPES) {
    for (const isNullable of [true, false]) {
      const data_name = `${type}_${isNullable}`
      await loader.call('loaderwebapi.register_loader', {
        data_name,
        record_def: {
          id: definitionOf('int4', false),
          value: definitionOf(type, isNullable),
        },
        unique_columns: ['id'],
      })
      const { data } = await loader.call('loaderwebapi.get_loader_list', {})
      const table = data.find((one: { data_name: string }) => one.data_name === data_name)
      t.match(table?.record_def.value, { udt_name: type, is_nullable: isNullable ? 'YES' : 'NO' }, data_name)
    }
  }
})
