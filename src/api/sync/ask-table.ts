import { defineMethod } from '../../rpc/define-method.js'
import type { SyncContext } from './context.js'
import { AskTableParams, AskTableResult } from './schema.js'

export const askTable = defineMethod({
  name: 'sync.ask_table',
  summary: 'Called by another gateway before it asks for batches of a table: answers what the table is',
  scope: 'sync:read',
  errors: ['UNKNOWN_TABLE', 'TABLE_NOT_SENDABLE', 'BAD_CONDITION', 'LOOP', 'BUSY'],
  params: AskTableParams,
  result: AskTableResult,
  async handle(params, { caller, feedGiver, signal }: Pick<SyncContext, 'caller' | 'feedGiver' | 'signal'>) {
    const { table: dataName, columns = null, conds = null, sums, after, ...question } = params
    const { definition, ...answer } = await feedGiver.ask(caller, { ...question, dataName, columns, conds })
    const { columns: sent, unique_columns, ...names } = definition
    const told = {
      ...answer,
      definition: { ...names, columns: [...sent], unique_columns: [...unique_columns] },
    }
    if (sums === undefined) return told
    const wanted = { feedId: params.feed, isRecount: sums === 'recount', after }
    const given = await feedGiver.sums(caller, wanted, signal)
    return { ...told, ...given, sums: [...given.sums] }
  },
})
