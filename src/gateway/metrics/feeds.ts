import type { FeedStatus } from '../../feeds/status.js'
import type { Family } from '../../http/metrics.js'
import { counter, gauge, labelled } from './family.js'

const STATES = ['disabled', 'stopped', 'closed', 'sending', 'waiting', 'idle'] as const

/** A feed with what the receiver refused. */
export interface CountedFeed {
  readonly status: FeedStatus
  readonly setAside: number
}

/** Returns families over all feeds: their number has no bound, so no label names one. */
export function feedFamilies(feeds: readonly CountedFeed[]): Family[] {
  const sum = (of: (feed: CountedFeed) => number | null) =>
    feeds.reduce((total, feed) => total + (of(feed) ?? 0), 0)
  const byState = Object.fromEntries(
    STATES.map((state) => [state, feeds.filter(({ status }) => status.state === state).length]),
  )
  const oldestS = Math.max(0, ...feeds.map(({ status }) => status.oldestS ?? 0))
  const facts = { name: 'fieldgate_feeds', help: 'Feeds of tables by state', type: 'gauge' } as const
  return [
    labelled(facts, 'state', byState),
    gauge(
      'fieldgate_feed_rows_behind',
      'Changes of rows that were not sent',
      sum(({ status }) => status.rowsBehind),
    ),
    gauge('fieldgate_feed_oldest_seconds', 'Age of the oldest row that was not sent', oldestS),
    gauge(
      'fieldgate_feed_rows_set_aside',
      'Rows that receivers refused',
      sum(({ setAside }) => setAside),
    ),
    counter(
      'fieldgate_feed_rows_total',
      'Rows that feeds sent or fetched',
      sum(({ status }) => status.rowsSent),
    ),
    counter(
      'fieldgate_feed_bytes_total',
      'Bytes of their batches',
      sum(({ status }) => status.bytesSent),
    ),
  ]
}
