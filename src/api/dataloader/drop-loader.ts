import { defineMethod } from '../../rpc/define-method.js'
import type { DataLoaderContext } from './context.js'
import { DropLoaderParams, DropLoaderResult, toLoaderEntry } from './schema.js'

export const dropLoader = defineMethod({
  name: 'loaderwebapi.drop_loader',
  summary: 'Removes a table with its records, unless a citation names it',
  scope: 'loader:write',
  errors: ['UNKNOWN_TABLE', 'TABLE_CITED'],
  params: DropLoaderParams,
  result: DropLoaderResult,
  async handle({ data_name }, { loader }: Pick<DataLoaderContext, 'loader'>) {
    return toLoaderEntry(await loader.drop(data_name))
  },
})
