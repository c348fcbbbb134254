import { defineMethod } from '../../rpc/define-method.js'
import type { DataprocContext } from './context.js'
import { ListedModules, NoParams } from './schema.js'

export const listModules = defineMethod({
  name: 'dataproc.list_modules',
  summary: 'Lists the definitions of the installed modules, with the faults of those that cannot be run',
  scope: 'dataproc:read',
  params: NoParams,
  result: ListedModules,
  handle: (_params, { modules }: Pick<DataprocContext, 'modules'>) => modules.list(),
})
