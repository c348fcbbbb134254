import type { FeedIdentity, FeedProgress, FeedRecord } from '../storage/exchange/feeds.js'
import type { LoaderTable, TableChanges } from '../storage/tables.js'
import type { FeedActivity, LiveFeed } from './send/sender.js'

/** Progress of a feed. */
export interface FeedStatus {
  readonly state: FeedActivity
  readonly cursor: number
  /** last change of the table where it comes from: here, or at the upstream of a feed down */
  readonly lastChange: number
  readonly rowsBehind: number
  /** null before the first batch */
  readonly bytesBehind: number | null
  readonly oldestS: number | null
  readonly rowsSent: number
  readonly bytesSent: number
  readonly bytesPerSecond: number | null
  readonly timeLeftS: number | null
  readonly nextTryS: number | null
  readonly lastError: string | null
}

interface StatusDeps {
  /** Finds a table; throws or returns undefined when it was dropped. */
  findTable(name: string): Promise<LoaderTable | undefined>
  readonly tableChanges: Pick<TableChanges, 'last'>
  readonly feedIdentity: Pick<FeedIdentity, 'tableUuid'>
  /** Returns the number of rows of a citation; undefined while it is not known, or when it was deleted. */
  citedRows(longForm: string): Promise<number | undefined>
  readonly nowUs: number
}

/**
 * Reads where a feed is.
 *
 * @param live what the sender of this process knows; undefined in another process
 */
export async function readFeedStatus(
  record: FeedRecord,
  live: LiveFeed | undefined,
  deps: StatusDeps,
): Promise<FeedStatus> {
  const progress = live?.progress ?? record.progress
  const { rowsSent, bytesSent, bytesPerSecond, behindSinceUs } = progress
  const { cursor, scanned, lastChange } = await positionOf(record, progress, deps)
  const rowsBehind = Math.max(0, lastChange - scanned)
  const bytesBehind = rowsSent === 0 ? null : Math.round((bytesSent / rowsSent) * rowsBehind)
  const isBehind = rowsBehind > 0 && behindSinceUs !== null
  return {
    state: live?.activity ?? stateOf(record, rowsBehind),
    ...{ cursor, lastChange, rowsBehind, bytesBehind, rowsSent, bytesSent },
    oldestS: isBehind ? Math.max(0, Math.round((deps.nowUs - behindSinceUs) / 1_000_000)) : null,
    bytesPerSecond: bytesPerSecond === 0 ? null : bytesPerSecond,
    timeLeftS:
      bytesPerSecond === 0 || bytesBehind === null || rowsBehind === 0
        ? null
        : Math.ceil(bytesBehind / bytesPerSecond),
    nextTryS: live?.nextTryS ?? null,
    lastError: progress.stopped ?? progress.lastError,
  }
}

/** Returns how far the receiver is, how far was looked, and the last change there is to send. */
async function positionOf(
  { dataName, direction, start }: FeedRecord,
  progress: FeedProgress,
  { findTable, tableChanges, feedIdentity, citedRows }: StatusDeps,
): Promise<{ cursor: number; scanned: number; lastChange: number }> {
  const { cursor, scanned, upstreamLast = cursor } = progress
  if (start.citation !== undefined)
    return { cursor, scanned, lastChange: (await citedRows(start.citation)) ?? cursor }
  if (direction === 'down') return { cursor, scanned, lastChange: upstreamLast }
  const table = await findTable(dataName).catch(() => undefined)
  if (table === undefined) return { cursor, scanned, lastChange: cursor }
  const lastChange = await tableChanges.last(table)
  const isSame = (await feedIdentity.tableUuid(table)) === progress.tableUuid
  return isSame ? { cursor, scanned, lastChange } : { cursor: 0, scanned: 0, lastChange }
}

/** The state as another process sees it. */
function stateOf({ direction, isEnabled, progress }: FeedRecord, rowsBehind: number): FeedActivity {
  if (!isEnabled) return 'disabled'
  if (progress.stopped !== null) return 'stopped'
  if (direction === 'down' && progress.upstreamLast === undefined) return 'waiting'
  return rowsBehind > 0 ? 'waiting' : 'idle'
}
