import type { FeedResends } from '../storage/exchange/feed-resends.js'
import type { AskedFeeds, FeedIdentity, FeedRecord, FeedRows } from '../storage/exchange/feeds.js'
import type { PassState, SentRows } from '../storage/retention.js'
import type { LoaderTable } from '../storage/tables.js'

/** Which rows of a table other nodes have, and which feed is the last. */
export interface SentState extends SentRows {
  readonly slowest: PassState['slowest']
}

export interface SentDeps {
  readonly feeds: Pick<FeedRows, 'list' | 'changesSetAside'>
  readonly asked: Pick<AskedFeeds, 'ofTable'>
  readonly resends: Pick<FeedResends, 'find'>
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch'>
}

/** Position of a feed. */
interface Reach {
  readonly feed: string
  readonly to: string
  readonly until: number
}

/**
 * Returns which rows of a table every feed has sent: those of this node, also of those that are switched off, and those that other
 * nodes ask for, whether their rows go by network or by bundles. What is noted of a feed is never ahead of what its receiver has.
 */
export async function sentRowsOf(deps: SentDeps, table: LoaderTable): Promise<SentState> {
  const here = { uuid: (await deps.identity.tableUuid(table)) ?? '', epoch: await deps.identity.epoch() }
  const except = new Set<number>()
  const reaches: Reach[] = []
  for (const record of await deps.feeds.list()) {
    const { feedId, direction, upstream, start } = record
    if (record.dataName !== table.dataName || direction === 'down' || start.citation !== undefined) continue
    for (const change of await deps.feeds.changesSetAside(feedId)) except.add(change)
    // rows of some days go once more: which of them is not known by their changes
    const isAgain = (await deps.resends.find(feedId)) !== undefined
    reaches.push({ feed: feedId, to: upstream, until: isAgain ? 0 : reachOf(record, here) })
  }
  for (const { feed, told } of await deps.asked.ofTable(table.dataName)) {
    const isSame = told?.table === here.uuid && told.epoch === here.epoch
    const until = isSame ? told.cursor : beginOf(feed.start, here.uuid)
    reaches.push({ feed: feed.feedId, to: feed.node, until })
  }
  let slowest: Reach | undefined
  for (const reach of reaches) if (slowest === undefined || reach.until < slowest.until) slowest = reach
  if (slowest === undefined) return { until: Infinity, except, slowest: null }
  return { until: slowest.until, except, slowest: { feed: slowest.feed, to: slowest.to } }
}

function reachOf(
  { progress, start }: Pick<FeedRecord, 'progress' | 'start'>,
  { uuid, epoch }: { uuid: string; epoch: number },
): number {
  const isSame = progress.tableUuid === uuid && progress.epoch === epoch
  return isSame ? progress.scanned : beginOf(start, uuid)
}

/** Returns the change after which a feed begins. */
function beginOf({ tableUuid, afterChange }: FeedRecord['start'], uuid: string): number {
  return tableUuid === uuid ? afterChange : 0
}
