import { AppError } from '../errors.js'
import type { CitedState } from '../storage/datasets/citations.js'
import type { FeedIdentity, FeedRecord, FeedRows, FeedStart } from '../storage/exchange/feeds.js'
import type { LoaderTable, TableChanges } from '../storage/tables.js'
import { requireCarried } from './citations/send.js'
import { requireColumnsOf, requireSendable } from './send/sendable.js'

/** A feed to create; its condition and upstream have been checked. */
export interface NewFeed {
  readonly upstream: string
  readonly conds: unknown
  readonly columns: readonly string[] | null
  readonly priority: number
  readonly maxBytesPerSecond: number
  readonly windows: readonly string[]
  /** an instant in µs UTC with its text */
  readonly from: 'now' | 'all' | { readonly text: string; readonly us: number }
}

interface CreateDeps {
  readonly feeds: Pick<FeedRows, 'create'>
  readonly identity: Pick<FeedIdentity, 'tableUuid'>
  readonly changes: Pick<TableChanges, 'last'>
  newId(): string
}

/**
 * Creates a feed up.
 *
 * @throws AppError FEED_EXISTS, TABLE_NOT_SENDABLE, INVALID_PARAMS for `columns`
 */
export async function createFeedRecord(
  feed: NewFeed & { readonly table: LoaderTable },
  deps: CreateDeps,
): Promise<FeedRecord> {
  const { table, columns, from } = feed
  requireColumnsOf(table, columns)
  requireSendable(table, columns)
  const last = await deps.changes.last(table)
  const start: FeedStart = {
    tableUuid: (await deps.identity.tableUuid(table)) ?? '',
    afterChange: from === 'now' ? last : 0,
    untilChange: last,
    fromUs: typeof from === 'object' ? from.us : null,
  }
  return await keep(feed, { dataName: table.dataName, direction: 'up', start }, deps)
}

/**
 * Creates a feed down. Its table may be absent: it is registered as the upstream has it.
 *
 * @throws AppError FEED_EXISTS
 */
export async function createDownFeed(
  feed: NewFeed & { readonly dataName: string },
  deps: Pick<CreateDeps, 'feeds' | 'newId'>,
): Promise<FeedRecord> {
  const { dataName, from } = feed
  // the upstream answers the numbers, for its own table
  const fromUs = typeof from === 'object' ? from.us : null
  const start: FeedStart = { tableUuid: '', afterChange: 0, untilChange: 0, fromUs }
  return await keep(feed, { dataName, direction: 'down', start }, deps)
}

/**
 * Creates a feed that sends the rows of a citation, once.
 *
 * @throws AppError FEED_EXISTS, TABLE_NOT_SENDABLE
 */
export async function createCitationFeed(
  feed: NewFeed & { readonly citation: Pick<CitedState, 'info' | 'columns'> },
  deps: Pick<CreateDeps, 'feeds' | 'newId'>,
): Promise<FeedRecord> {
  const { info, columns } = feed.citation
  requireCarried(info.longForm, columns)
  const start: FeedStart = {
    ...{ tableUuid: '', afterChange: 0, untilChange: 0, fromUs: null },
    citation: info.longForm,
  }
  return await keep(feed, { dataName: info.longForm, direction: 'up', start }, deps)
}

/** @throws AppError FEED_EXISTS */
async function keep(
  feed: NewFeed,
  of: Pick<FeedRecord, 'dataName' | 'direction' | 'start'>,
  { feeds, newId }: Pick<CreateDeps, 'feeds' | 'newId'>,
): Promise<FeedRecord> {
  const { upstream, conds, columns, priority, maxBytesPerSecond, windows, from } = feed
  const made = await feeds.create({
    ...{ feedId: newId(), upstream, conds, columns, priority, maxBytesPerSecond, windows, isEnabled: true },
    ...of,
    from: typeof from === 'object' ? from.text : from,
  })
  if (made !== undefined) return made
  const way = of.direction === 'up' ? 'to' : 'from'
  const what = of.start.citation === undefined ? 'table' : 'citation'
  const message = `The ${what} ${of.dataName} has a feed ${way} ${upstream}`
  throw new AppError('FEED_EXISTS', { table: of.dataName, upstream }, { message })
}
