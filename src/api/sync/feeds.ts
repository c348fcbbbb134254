import { z } from 'zod'
import { requireScope } from '../../auth/caller.js'
import { parseDatetime } from '../../datetime.js'
import { AppError, invalidParams, isAppError } from '../../errors.js'
import {
  createCitationFeed,
  createDownFeed,
  createFeedRecord,
  type NewFeed,
} from '../../feeds/create-feed.js'
import { requireOperator } from '../../feeds/receive/rights.js'
import { defineMethod } from '../../rpc/define-method.js'
import { unknownCitation } from '../../storage/datasets/citations.js'
import type { FeedRecord, FeedSettings } from '../../storage/exchange/feeds.js'
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
    ...(['UNKNOWN_TABLE', 'UNKNOWN_CITATION', 'UNKNOWN_UPSTREAM', 'FEED_EXISTS', 'BAD_CONDITION'] as const),
    ...(['TABLE_NOT_SENDABLE'] as const),
  ],
  params: CreateFeedParams,
  result: FeedInfo,
  async handle(params, context: FeedInfoContext & SyncContext) {
    await requireOperator(context.askedFeeds, context.caller)
    if (params.citation !== undefined) return await createOfCitation(params, params.citation, context)
    const { table: name } = params
    if (name === undefined)
      throw invalidParams([{ path: '$.table', message: 'found nothing, expected a name' }])
    const conds = params.conds ?? null
    const table = params.direction === 'up' ? await context.findTable(name) : await knownTable(context, name)
    if (table !== undefined) await context.checkConds(table, conds)
    if ((await context.feedUpstreams.find(params.upstream)) === undefined)
      throw unknownUpstream(params.upstream)
    const feed = newFeedOf(params, context)
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
    await checkNewConds(old, params.conds ?? null, context)
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

/** @throws AppError UNKNOWN_TABLE, BAD_CONDITION, TOO_EXPENSIVE, INVALID_PARAMS for a citation */
async function checkNewConds(
  { dataName, direction, start }: FeedRecord,
  conds: unknown,
  context: SyncContext,
) {
  if (conds === null) return
  if (start.citation !== undefined)
    throw invalidParams([
      { path: '$.conds', message: 'found a condition on a citation, which is sent whole' },
    ])
  const table = direction === 'up' ? await context.findTable(dataName) : await knownTable(context, dataName)
  if (table !== undefined) await context.checkConds(table, conds)
}

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

type CreateParams = z.output<typeof CreateFeedParams>

function newFeedOf(params: CreateParams, context: SyncContext): NewFeed {
  return {
    ...{ upstream: params.upstream, conds: params.conds ?? null, columns: params.columns ?? null },
    ...{ priority: params.priority, maxBytesPerSecond: params.max_bytes_per_second },
    ...{ windows: params.windows, from: readFrom(params.from, context) },
  }
}

/**
 * Creates a feed of a citation.
 *
 * @throws AppError INVALID_PARAMS, FORBIDDEN, UNKNOWN_CITATION, UNKNOWN_UPSTREAM, FEED_EXISTS, TABLE_NOT_SENDABLE
 */
async function createOfCitation(
  params: CreateParams,
  label: string,
  context: FeedInfoContext & SyncContext,
): Promise<z.output<typeof FeedInfo>> {
  requireScope(context.caller, 'dataset:read')
  const others: readonly [name: string, isGiven: boolean][] = [
    ['table', params.table !== undefined],
    ['direction', params.direction === 'down'],
    ['conds', (params.conds ?? null) !== null],
    ['columns', (params.columns ?? null) !== null],
  ]
  const faults = others.flatMap(([name, isGiven]) =>
    isGiven
      ? [
          {
            path: `$.${name}`,
            message: `found ${name} beside a citation, expected nothing: a citation is sent whole`,
          },
        ]
      : [],
  )
  if (faults.length > 0) throw invalidParams(faults)
  const citation = await context.findCitation(label)
  if (citation === undefined) throw unknownCitation(label)
  if ((await context.feedUpstreams.find(params.upstream)) === undefined)
    throw unknownUpstream(params.upstream)
  const { feeds, newId } = context
  const record = await createCitationFeed(
    { ...newFeedOf({ ...params, from: 'all' }, context), citation },
    { feeds, newId },
  )
  await context.feedSender.wake()
  return await toFeedInfo(record, context)
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
