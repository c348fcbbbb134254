import { z } from 'zod'
import { requireScope } from '../../auth/caller.js'
import { invalidParams } from '../../errors.js'
import { isRawNumber } from '../../json/exact-json.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { DataprocContext } from './context.js'
import { ExecParams } from './schema.js'

export const exec = defineMethod({
  name: 'dataproc.exec',
  summary: 'Runs a method of a module and stores its outputs: all of them, or none',
  scope: 'dataproc:write',
  errors: [
    'UNKNOWN_MODULE',
    'UNKNOWN_SCRIPT',
    'BAD_MODULE',
    'MODULE_FAILED',
    'MODULE_LIMIT',
    'BAD_OUTPUT',
    'UNKNOWN_DATASET',
    'UNKNOWN_STORE',
    'BAD_CONDITION',
    'MODEL_DAMAGED',
    'DISK_FULL',
    'BUSY',
  ],
  params: ExecParams,
  result: z.literal(true),
  async handle(
    call,
    { modules, caller, signal }: Pick<DataprocContext, 'modules' | 'caller' | 'signal'>,
    exact,
  ) {
    const params = (await exact()).params ?? {} // numbers as supplied: a module in another language may keep more digits than a double
    // a number that is kept as text is an object to the schema
    if (isRawNumber(params))
      throw invalidParams([{ path: '$.params', message: `found ${params.rawJSON}, expected an object` }])
    const run = { ...call, params }
    await modules.exec(run, {
      sessionId: caller.sessionId,
      keyName: caller.keyName,
      signal,
      // a module must not extend what the key permits
      requireScope: (area, access) => requireScope(caller, `${area}:${access}`),
    })
    return true as const
  },
})
