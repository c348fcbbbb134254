import { AppError } from '../../errors.js'
import type { FeedResend, FeedResends } from '../../storage/exchange/feed-resends.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import type { VerifyDeps } from './deps.js'
import { askSums } from './verify-down.js'

/**
 * Asks for rows of a feed down to come once more: those whose last write at their origin was on one of some UTC days.
 *
 * @param fromDay first day, since 1970
 * @param toDay last day
 * @returns what will come; the rows are counted by the upstream
 * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED; FEED_BEHIND before the feed has begun
 */
export async function askResendDown(
  deps: Pick<VerifyDeps, 'nodeId' | 'connect'> & { readonly resends: Pick<FeedResends, 'ask'> },
  record: FeedRecord,
  { fromDay, toDay }: { fromDay: number; toDay: number },
  signal: AbortSignal,
): Promise<FeedResend> {
  const link = await deps.connect(record.upstream)
  const given = await askSums(deps, link, record, {}, signal).finally(() => link.close())
  if (given === undefined) {
    const message = `Found no rows of ${record.dataName} that have come yet, expected a feed that has begun`
    throw new AppError('FEED_BEHIND', { feed: record.feedId }, { message })
  }
  const wanted = given.sums.filter(({ day }) => day >= fromDay && day <= toDay)
  const rows = wanted.reduce((sum, { rows: count }) => sum + count, 0)
  return await deps.resends.ask({ feedId: record.feedId, fromDay, toDay, rows })
}
