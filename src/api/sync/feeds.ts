import { z } from 'zod'
import { parseDatetime } from '../../datetime.js'
import { AppError, invalidParams, isAppError } from '../../errors.js'
import { createDownFeed, createFeedRecord, type NewFeed } from '../../feeds/create-feed.js'
import { requireOperator } from '../../feeds/receive/rights.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { FeedRecord, FeedSettings } from '../../storage/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { SyncContext } from './context.js'
import { type FeedInfoContext, toFeedInfo } from './feed-info.js'
import { CreateFeedParams, FeedInfo, FeedParams, UpdateFeedParams } from './schema.js'
import { unknownUpstream } from './upstreams.js'

export const createFeed = defineMethod({
  name: 'sync.create_feed',
  summary:
    'Sends the rows of a table to another gateway, or fetches them there, as they are put and overridden',
  scope: 'sync:write',
  errors: [
    ...(['UNKNOWN_TABLE', 'UNKNOWN_UPSTREAM', 'FEED_EXISTS', 'BAD_CONDITION'] as const),
    ...(['TABLE_NOT_SENDABLE', 'NOT_IN_THIS_VERSION'] as const),
  ],
  params: CreateFeedParams,
  result: FeedInfo,
  async handle(params, context: FeedInfoContext & SyncContext) {
    await requireOperator(context.askedFeeds, context.caller)
    refuseLater(params)
    const { table: name } = params
    if (name === undefined)
      throw invalidParams([{ path: '$.table', message: 'found nothing, expected a name' }])
    const conds = params.conds ?? null
    const table = params.direction === 'up' ? await context.findTable(name) : await knownTable(context, name)
    if (table !== undefined) await context.checkConds(table, conds)
    if ((await context.feedUpstreams.find(params.upstream)) === undefined)
      throw unknownUpstream(params.upstream)
    const feed: NewFeed = {
      ...{ upstream: params.upstream, conds, columns: params.columns ?? null, priority: params.priority },
      ...{ maxBytesPerSecond: params.max_bytes_per_second, windows: params.windows },
      from: readFrom(params.from, context),
    }
    const { feeds, feedIdentity: identity, tableChanges: changes, newId } = context
    const record =
      params.direction === 'up'
        ? await createFeedRecord(
            { ...feed, table: await context.findTable(name) },
            { feeds, identity, changes, newId },
          )
        : await createDownFeed({ ...feed, dataName: table?.dataName ?? name }, { feeds, newId })
    await context.feedSender.wake()
    return await toFeedInfo(record, context)
  },
})

export const listFeeds = defineMethod({
  name: 'sync.list_feeds',
  summary: 'Feeds of tables, with where each of them is',
  scope: 'sync:read',
  params: z.strictObject({}),
  result: z.array(FeedInfo),
  async handle(_params, context: FeedInfoContext & Pick<SyncContext, 'askedFeeds' | 'caller'>) {
    await requireOperator(context.askedFeeds, context.caller)
    const records = await context.feeds.list()
    return await Promise.all(records.map((record) => toFeedInfo(record, context)))
  },
})

export const updateFeed = defineMethod({
  name: 'sync.update_feed',
  summary: 'Changes a feed and tries it at once; absent members keep their values, a stopped feed goes on',
  scope: 'sync:write',
  errors: ['UNKNOWN_FEED', 'UNKNOWN_TABLE', 'BAD_CONDITION'],
  params: UpdateFeedParams,
  result: FeedInfo,
  async handle(params, context: FeedInfoContext & SyncContext) {
    await requireOperator(context.askedFeeds, context.caller)
    const old = await context.feeds.find(params.feed)
    if (old === undefined) throw unknownFeed(params.feed)
    const table =
      old.direction === 'up' ? await context.findTable(old.dataName) : await knownTable(context, old.dataName)
    if (params.conds !== undefined && params.conds !== null && table !== undefined)
      await context.checkConds(table, params.conds)
    const record = await context.feeds.update(params.feed, changeOf(params))
    if (record === undefined) throw unknownFeed(params.feed)
    await context.feedSender.wake()
    return await toFeedInfo(record, context)
  },
})

export const deleteFeed = defineMethod({
  name: 'sync.delete_feed',
  summary: 'Removes a feed and returns it; what the other gateway has stays there',
  scope: 'sync:write',
  errors: ['UNKNOWN_FEED'],
  params: FeedParams,
  result: FeedInfo,
  async handle({ feed }, context: FeedInfoContext & SyncContext) {
    await requireOperator(context.askedFeeds, context.caller)
    const record = await context.feeds.find(feed)
    if (record === undefined) throw unknownFeed(feed)
    const info = await toFeedInfo(record, context)
    await context.feeds.remove(feed)
    await context.feedSender.wake()
    return info
  },
})

/** Finds the table of a feed down, which need not be here. */
async function knownTable(
  { findTable }: Pick<SyncContext, 'findTable'>,
  name: string,
): Promise<LoaderTable | undefined> {
  try {
    return await findTable(name)
  } catch (error) {
    if (isAppError(error) && error.errorName === 'UNKNOWN_TABLE') return undefined
    throw error
  }
}

/** @throws AppError NOT_IN_THIS_VERSION for what is described and not offered yet */
function refuseLater({ citation }: z.output<typeof CreateFeedParams>): void {
  if (citation === undefined) return
  const message = 'citation is not in this version, expected a table'
  throw new AppError('NOT_IN_THIS_VERSION', { found: 'citation' }, { message })
}

/** @throws AppError INVALID_PARAMS */
function readFrom(
  from: z.output<typeof CreateFeedParams>['from'],
  { timeZoneMin }: Pick<SyncContext, 'timeZoneMin'>,
): 'now' | 'all' | { text: string; us: number } {
  if (from === 'now' || from === 'all') return from
  const text = typeof from === 'string' ? from : from.val
  const us = parseDatetime(text, timeZoneMin)
  if (typeof us === 'bigint') return { text, us: Number(us) }
  throw invalidParams([{ path: '$.from', message: `found ${us.found}, expected now, all or ${us.expected}` }])
}

function changeOf(params: z.output<typeof UpdateFeedParams>): Partial<FeedSettings> {
  return {
    ...(params.conds === undefined ? {} : { conds: params.conds }),
    ...(params.priority === undefined ? {} : { priority: params.priority }),
    ...(params.max_bytes_per_second === undefined ? {} : { maxBytesPerSecond: params.max_bytes_per_second }),
    ...(params.windows === undefined ? {} : { windows: params.windows }),
    ...(params.enabled === undefined ? {} : { isEnabled: params.enabled }),
  }
}

/** Makes the error for an id that no feed has. */
export function unknownFeed(feed: FeedRecord['feedId']): AppError {
  return new AppError('UNKNOWN_FEED', { feed }, { message: `No feed has the id ${feed}` })
}
