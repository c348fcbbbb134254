import { defineMethod } from '../../rpc/define-method.js'
import type { SyncContext } from './context.js'
import { AskTableParams, AskTableResult } from './schema.js'

export const askTable = defineMethod({
  name: 'sync.ask_table',
  summary: 'Called by another gateway before it asks for batches of a table: answers what the table is',
  scope: 'sync:read',
  errors: ['UNKNOWN_TABLE', 'TABLE_NOT_SENDABLE', 'BAD_CONDITION', 'LOOP'],
  params: AskTableParams,
  result: AskTableResult,
  async handle(params, { caller, feedGiver }: Pick<SyncContext, 'caller' | 'feedGiver'>) {
    const { table: dataName, columns = null, conds = null, ...question } = params
    const { definition, ...answer } = await feedGiver.ask(caller, { ...question, dataName, columns, conds })
    const { columns: sent, unique_columns, ...names } = definition
    return { ...answer, definition: { ...names, columns: [...sent], unique_columns: [...unique_columns] } }
  },
})
