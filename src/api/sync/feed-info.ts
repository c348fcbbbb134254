import type { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import type { FeedStatus } from '../../feeds/status.js'
import { readFeedStatus } from '../../feeds/status.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import type { SyncContext } from './context.js'
import type { FeedInfo } from './schema.js'

/** Sources of the information about a feed. */
export type FeedInfoContext = Pick<
  SyncContext,
  | 'feeds'
  | 'feedSender'
  | 'feedIdentity'
  | 'tableChanges'
  | 'timeZoneMin'
  | 'clock'
  | 'findTable'
  | 'findCitation'
>

/** Returns a feed in the form of the wire, with where it is now. */
export async function toFeedInfo(
  record: FeedRecord,
  context: FeedInfoContext,
): Promise<z.output<typeof FeedInfo>> {
  const live = await context.feedSender.live(record.feedId)
  const status = await readFeedStatus(record, live, {
    findTable: (name) => context.findTable(name),
    tableChanges: context.tableChanges,
    feedIdentity: context.feedIdentity,
    nowUs: context.clock.nowUs(),
    citedRows: async (longForm) => (await context.findCitation(longForm))?.rowCount ?? undefined,
  })
  const last = await context.feeds.listSetAside(record.feedId, 10)
  const { timeZoneMin } = context
  return {
    feed: record.feedId,
    table: record.dataName,
    citation: record.start.citation ?? null,
    direction: record.direction,
    upstream: record.upstream,
    conds: record.conds,
    columns: record.columns === null ? null : [...record.columns],
    priority: record.priority,
    max_bytes_per_second: record.maxBytesPerSecond,
    windows: [...record.windows],
    from: record.from,
    enabled: record.isEnabled,
    ...figuresOf(status),
    set_aside: {
      rows: await context.feeds.countSetAside(record.feedId),
      last: last.map(({ change, rowKey, reason, atUs }) => ({
        ...{ change, row_key: rowKey, reason, at: datetimeObject(atUs, timeZoneMin) },
      })),
    },
    created_at: datetimeObject(record.createdAtUs, timeZoneMin),
  }
}

function figuresOf(status: FeedStatus) {
  return {
    state: status.state,
    cursor: status.cursor,
    last_change: status.lastChange,
    rows_behind: status.rowsBehind,
    bytes_behind: status.bytesBehind,
    oldest_s: status.oldestS,
    rows_sent: status.rowsSent,
    bytes_sent: status.bytesSent,
    bytes_per_second: status.bytesPerSecond,
    time_left_s: status.timeLeftS,
    next_try_s: status.nextTryS,
    last_error: status.lastError,
  }
}
