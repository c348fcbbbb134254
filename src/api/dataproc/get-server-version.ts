import { z } from 'zod'
import { defineMethod } from '../../rpc/define-method.js'
import type { DataprocContext } from './context.js'
import { NoParams } from './schema.js'

export const getServerVersion = defineMethod({
  name: 'dataproc.get_server_version',
  summary: 'Returns the version of the server that runs the modules',
  scope: 'dataproc:read',
  params: NoParams,
  result: z.string(),
  handle: (_params, { version }: Pick<DataprocContext, 'version'>) => version,
})
