import { call } from '../core/rpc.js'

export type FeedState = 'disabled' | 'stopped' | 'closed' | 'sending' | 'waiting' | 'idle'

export interface FeedInfo {
  feed: string
  table: string
  direction: 'up' | 'down'
  upstream: string
  priority: number
  enabled: boolean
  state: FeedState
  rows_behind: number
  bytes_behind: number | null
  oldest_s: number | null
  rows_sent: number
  bytes_per_second: number | null
  time_left_s: number | null
  last_error: string | null
  set_aside: { rows: number; last: { row_key: string; reason: string }[] }
}

export interface FeedUpstream {
  name: string
  endpoint: string
  apikey: string
}

/** Order of the states: what has trouble first, what rests last. */
const RANKS: Record<FeedState, number> = {
  stopped: 0,
  sending: 3,
  waiting: 4,
  closed: 5,
  idle: 6,
  disabled: 7,
}

/** Reads all feeds, those with trouble first. @throws CallFault */
export async function readFeeds(): Promise<FeedInfo[]> {
  const feeds = await call<FeedInfo[]>('sync.list_feeds', {})
  return feeds.sort((a, b) => rankOf(a) - rankOf(b) || a.table.localeCompare(b.table))
}

function rankOf({ state, set_aside, last_error }: FeedInfo): number {
  if (state === 'stopped' || state === 'disabled') return RANKS[state]
  if (set_aside.rows > 0) return 1
  return last_error !== null ? 2 : RANKS[state]
}

/** Reads the upstreams of feeds. @throws CallFault */
export async function readFeedUpstreams(): Promise<FeedUpstream[]> {
  return await call<FeedUpstream[]>('sync.list_upstreams', {})
}
