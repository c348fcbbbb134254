import { AppError } from '../../errors.js'
import { defineMethod, pathText } from '../../rpc/define-method.js'
import { type DefinitionFault, readDefinition } from '../../tables/record-def.js'
import type { DataLoaderContext } from './context.js'
import { RegisterLoaderParams, RegisterLoaderResult } from './schema.js'

/** Faults that one answer tells. */
const MAX_FAULTS = 100

export const registerLoader = defineMethod({
  name: 'loaderwebapi.register_loader',
  summary: 'Defines a table, makes it, and answers what it is called',
  scope: 'loader:write',
  errors: ['ALREADY_REGISTERED'],
  params: RegisterLoaderParams,
  result: RegisterLoaderResult,
  async handle(params, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const input = { ...params, data_name: params.data_name.replace(/^ddc:/, '') }
    const definition = readDefinition(input)
    if ('faults' in definition) throw invalid(definition.faults)
    const { schema, tableName } = await loader.register({
      dataName: input.data_name,
      schema: input.schema,
      columns: definition.columns,
      uniqueColumns: input.unique_columns,
    })
    return { schema, table_name: tableName }
  },
})

/** The same shape as faults of the schema have. */
function invalid(faults: readonly DefinitionFault[]): AppError {
  const told = faults.slice(0, MAX_FAULTS).map(({ path, message }) => ({ path: pathText(path), message }))
  const [first] = told
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return new AppError(
    'INVALID_PARAMS',
    { faults: told },
    { message: `Invalid params: ${first?.path}: ${first?.message}${more}` },
  )
}
