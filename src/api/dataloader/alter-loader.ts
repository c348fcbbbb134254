import { invalidParams } from '../../errors.js'
import { defineMethod, pathText } from '../../rpc/define-method.js'
import { readAddedColumns } from '../../tables/record-def.js'
import type { DataLoaderContext } from './context.js'
import { readColumnBy } from './register-loader.js'
import { AddedColumn, AlterLoaderParams, LoaderEntry, MAX_COLUMNS, toLoaderEntry } from './schema.js'

export const alterLoader = defineMethod({
  name: 'loaderwebapi.alter_loader',
  summary:
    'Adds columns that may be null to a table. Rows that are stored have no value of them; citations stay as they are',
  scope: 'loader:write',
  errors: ['UNKNOWN_TABLE', 'DISK_FULL', 'BUSY'],
  params: AlterLoaderParams,
  result: LoaderEntry,
  async handle({ data_name, add_columns }, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const added = readAddedColumns(add_columns, readColumnBy(AddedColumn))
    if ('faults' in added)
      throw invalidParams(added.faults.map(({ path, message }) => ({ path: pathText(path), message })))
    const { columns } = await loader.find(data_name)
    const count = columns.length + added.columns.length
    if (count > MAX_COLUMNS) {
      const message = `found ${count} columns with those that the table has, expected at most ${MAX_COLUMNS}`
      throw invalidParams([{ path: '$.add_columns', message }])
    }
    return toLoaderEntry(await loader.addColumns(data_name, added.columns))
  },
})
