import { defineMethod } from '../../rpc/define-method.js'
import type { DataLoaderContext } from './context.js'
import { GetLoaderListParams, GetLoaderListResult, toLoaderEntry } from './schema.js'

export const getLoaderList = defineMethod({
  name: 'loaderwebapi.get_loader_list',
  summary: 'Every table with its columns and its unique key',
  scope: 'loader:read',
  params: GetLoaderListParams,
  result: GetLoaderListResult,
  async handle(_params, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const data = (await loader.list()).map(toLoaderEntry)
    return { data, data_num: data.length, message: 'ok' as const }
  },
})
