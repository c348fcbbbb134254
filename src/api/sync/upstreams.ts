import { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import { requireOperator } from '../../feeds/receive/rights.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { FeedUpstream } from '../../storage/exchange/feeds.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import type { SyncContext } from './context.js'
import { CreateUpstreamParams, UpstreamInfo, UpstreamParams } from './schema.js'

type UpstreamContext = Pick<SyncContext, 'feedUpstreams' | 'timeZoneMin' | 'askedFeeds' | 'caller'>

export const createUpstream = defineMethod({
  name: 'sync.create_upstream',
  summary: 'Adds another gateway to which feeds of tables may go',
  scope: 'sync:write',
  errors: ['BAD_ENDPOINT', 'UPSTREAM_EXISTS'],
  params: CreateUpstreamParams,
  result: UpstreamInfo,
  async handle(params, context: UpstreamContext & Pick<SyncContext, 'config'>) {
    await requireOperator(context.askedFeeds, context.caller)
    const endpoint = baseUrlOf(params.endpoint, context.config.sync.allowInsecure)
    const made = await context.feedUpstreams.create({ ...params, endpoint })
    if (made !== undefined) return toInfo(made, context)
    const message = `An upstream with the name ${params.name} exists`
    throw new AppError('UPSTREAM_EXISTS', { upstream: params.name }, { message })
  },
})

export const listUpstreams = defineMethod({
  name: 'sync.list_upstreams',
  summary: 'Gateways to which feeds may go, without their secrets',
  scope: 'sync:read',
  params: z.strictObject({}),
  result: z.array(UpstreamInfo),
  async handle(_params, context: UpstreamContext) {
    await requireOperator(context.askedFeeds, context.caller)
    return (await context.feedUpstreams.list()).map((upstream) => toInfo(upstream, context))
  },
})

export const deleteUpstream = defineMethod({
  name: 'sync.delete_upstream',
  summary: 'Removes an upstream that no feed uses, and returns it',
  scope: 'sync:write',
  errors: ['UNKNOWN_UPSTREAM', 'UPSTREAM_IN_USE'],
  params: UpstreamParams,
  result: UpstreamInfo,
  async handle({ name }, context: UpstreamContext & Pick<SyncContext, 'feeds'>) {
    await requireOperator(context.askedFeeds, context.caller)
    const feeds = (await context.feeds.list()).filter(({ upstream }) => upstream === name)
    if (feeds.length > 0) {
      const tables = feeds.map(({ dataName }) => dataName)
      const message = `Found feeds to ${name} of ${tables.join(', ')}; delete them first`
      throw new AppError(
        'UPSTREAM_IN_USE',
        { upstream: name, feeds: feeds.map(({ feedId }) => feedId) },
        { message },
      )
    }
    const removed = await context.feedUpstreams.remove(name)
    if (removed === undefined) throw unknownUpstream(name)
    return toInfo(removed, context)
  },
})

/** Makes the error for a name that no upstream has. */
export function unknownUpstream(name: string): AppError {
  return new AppError('UNKNOWN_UPSTREAM', { upstream: name }, { message: `No upstream has the name ${name}` })
}

function toInfo(
  { name, endpoint, apikey, createdAtUs }: FeedUpstream,
  { timeZoneMin }: Pick<SyncContext, 'timeZoneMin'>,
): z.output<typeof UpstreamInfo> {
  return { name, endpoint, apikey, created_at: datetimeObject(createdAtUs, timeZoneMin) }
}
