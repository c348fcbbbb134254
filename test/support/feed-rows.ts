import type { FeedRecord } from '../../src/storage/exchange/feeds.js'
import type { State } from '../../src/storage/state.js'

/** UUID of the table of `feedOf`. */
export const FEED_TABLE = '33333333-3333-4333-8333-333333333333'

/** A feed of the table `x`, whose rows up to change 7 have arrived. */
export function feedOf(feedId: string): Omit<FeedRecord, 'progress' | 'createdAtUs'> {
  return {
    feedId,
    dataName: 'x',
    direction: 'up',
    upstream: 'hub',
    conds: null,
    columns: null,
    priority: 0,
    maxBytesPerSecond: 0,
    windows: [],
    isEnabled: true,
    from: 'now',
    start: { tableUuid: FEED_TABLE, afterChange: 7, fromUs: null, untilChange: 7 },
  }
}

/** Stores the upstream `hub` of feeds. */
export async function addHub({ feedUpstreams }: Pick<State, 'feedUpstreams'>): Promise<void> {
  await feedUpstreams.create({ name: 'hub', endpoint: 'http://127.0.0.1:1', apikey: 'a', secret: 's' })
}
