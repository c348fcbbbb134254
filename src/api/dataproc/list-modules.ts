import { defineMethod } from '../../rpc/define-method.js'
import type { DataprocContext } from './context.js'
import { ListedModules, NoParams } from './schema.js'

export const listModules = defineMethod({
  name: 'dataproc.list_modules',
  summary: 'Definitions of the modules that are installed; one that cannot be run tells its faults',
  scope: 'dataproc:read',
  params: NoParams,
  result: ListedModules,
  handle: (_params, { modules }: Pick<DataprocContext, 'modules'>) => modules.list(),
})
