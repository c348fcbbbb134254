import { defineMethod } from '../../rpc/define-method.js'
import type { SyncContext } from './context.js'
import { unknownFeed } from './feeds.js'
import { TableSumsParams, TableSumsResult, Verified, VerifyParams } from './verify-schema.js'

export const verify = defineMethod({
  name: 'sync.verify',
  summary: 'Compares the table of a feed with what the other gateway has of it, by origin and day',
  scope: 'sync:read',
  errors: [
    ...(['UNKNOWN_FEED', 'UNKNOWN_TABLE', 'FEED_BEHIND', 'NOT_IN_THIS_VERSION'] as const),
    ...(['UPSTREAM_UNREACHABLE', 'UPSTREAM_REFUSED'] as const),
  ],
  params: VerifyParams,
  result: Verified,
  async handle({ feed, recount }, context: Pick<SyncContext, 'feeds' | 'verifyFeed' | 'signal'>) {
    const record = await context.feeds.find(feed)
    if (record === undefined) throw unknownFeed(feed)
    const { isEqual, days, removedDays } = await context.verifyFeed(record, recount, context.signal)
    const copied = (list: typeof days) => list.map((day) => ({ ...day }))
    return { equal: isEqual, days: copied(days), removed_days: copied(removedDays) }
  },
})

export const tableSums = defineMethod({
  name: 'sync.table_sums',
  summary: 'Called by another gateway to compare a table that it sends: what its feed has brought here',
  scope: 'sync:write',
  errors: ['UNKNOWN_FEED', 'LOOP', 'BUSY'],
  params: TableSumsParams,
  result: TableSumsResult,
  async handle(
    { node, table, recount, ...params },
    { caller, sumsAnswerer }: Pick<SyncContext, 'caller' | 'sumsAnswerer'>,
  ) {
    const question = { ...params, sender: node, senderTable: table, isRecount: recount }
    return await sumsAnswerer.answer(caller, question)
  },
})
