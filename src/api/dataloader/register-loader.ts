import { invalidParams } from '../../errors.js'
import { checkValue } from '../../messages/fault-text.js'
import { defineMethod, pathText } from '../../rpc/define-method.js'
import { readDefinition } from '../../tables/record-def.js'
import type { DataLoaderContext } from './context.js'
import { ColumnDefinition, RegisterLoaderParams, RegisterLoaderResult } from './schema.js'

export const registerLoader = defineMethod({
  name: 'loaderwebapi.register_loader',
  summary: 'Defines and creates a table, and returns its schema and name',
  scope: 'loader:write',
  errors: ['ALREADY_REGISTERED'],
  params: RegisterLoaderParams,
  result: RegisterLoaderResult,
  async handle(params, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const input = { ...params, data_name: params.data_name.replace(/^ddc:/, '') }
    const definition = readDefinition(input, readColumnBy(ColumnDefinition))
    if ('faults' in definition) {
      throw invalidParams(definition.faults.map(({ path, message }) => ({ path: pathText(path), message })))
    }
    const { schema, tableName } = await loader.register({
      dataName: input.data_name,
      schema: input.schema,
      columns: definition.columns,
      uniqueColumns: input.unique_columns,
    })
    return { schema, table_name: tableName }
  },
})

/** Returns what reads one column by its schema. */
export function readColumnBy(schema: typeof ColumnDefinition): Parameters<typeof readDefinition>[1] {
  return (json) => {
    const checked = checkValue(schema, json)
    if ('data' in checked) return { def: checked.data }
    return {
      faults: checked.faults.map(({ path, message }) => ({
        path: path.map((key) => (typeof key === 'number' ? key : String(key))),
        message,
      })),
    }
  }
}
