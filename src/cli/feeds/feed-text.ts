import { dayText } from '../../feeds/batch/days.js'
import type { FeedResend } from '../../storage/exchange/feed-resends.js'
import { durationText, sizeText } from '../models/model-data.js'
import type { ListedFeed } from './feed-data.js'

/** Returns one line about a feed. */
export function feedText({ record, status, setAside, resend }: ListedFeed): string {
  const { rowsBehind, bytesBehind, oldestS, timeLeftS, lastError } = status
  const size = bytesBehind === null || rowsBehind === 0 ? '' : ` (about ${sizeText(bytesBehind)})`
  const parts = [
    `${record.dataName} ${record.direction === 'up' ? 'to' : 'from'} ${record.upstream}: ${status.state}, ${rowsBehind} rows behind${size}`,
    ...(oldestS === null ? [] : [`the oldest for ${durationText(oldestS)}`]),
    ...(timeLeftS === null ? [] : [`${durationText(timeLeftS)} left`]),
    ...(setAside === 0 ? [] : [`${setAside} rows refused and set aside`]),
    ...(resend === undefined ? [] : [resendText(resend)]),
    ...(lastError === null ? [] : [`last error: ${lastError}`]),
  ]
  return `  feed ${record.feedId} of ${parts.join('; ')}`
}

/** The rows are those at the time of asking: more may go where some were written since. */
function resendText({ rows, sent, fromDay, toDay }: FeedResend): string {
  return `once more: ${sent} of ${rows} rows of ${dayText(fromDay)} to ${dayText(toDay)}`
}

function resendJson(resend: FeedResend | undefined): object | null {
  if (resend === undefined) return null
  const { rows, sent, fromDay, toDay } = resend
  return { rows, sent, fromDay: dayText(fromDay), toDay: dayText(toDay) }
}

/** Returns a feed as scripts read it. */
export function feedJson({ record, status, setAside, resend }: ListedFeed): object {
  const { feedId, dataName, start, direction, upstream, priority, isEnabled, columns, conds, windows, from } =
    record
  return {
    ...{
      feed: feedId,
      table: dataName,
      citation: start.citation ?? null,
      direction,
      upstream,
      priority,
      enabled: isEnabled,
      columns,
      conds,
      windows,
      from,
    },
    ...{ state: status.state, cursor: status.cursor, rowsBehind: status.rowsBehind },
    ...{ bytesBehind: status.bytesBehind, oldestS: status.oldestS, rowsSent: status.rowsSent },
    ...{ bytesSent: status.bytesSent, bytesPerSecond: status.bytesPerSecond, timeLeftS: status.timeLeftS },
    ...{ setAside, lastError: status.lastError, resend: resendJson(resend) },
  }
}
