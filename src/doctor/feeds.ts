import type { StoredFeed } from '../storage/maintenance.js'
import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'

/** Waiting time of a row from which it is a warning: one day. */
const LONG_US = 24 * 3_600_000_000

/** Checks for feeds that have stopped, that refuse rows, and that have waited for long. */
export async function checkFeeds({ layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const feeds = await maintenance.facts.feeds(layout.root)
  if (feeds.length === 0) return [ok('no table has a feed')]
  const findings = feeds.flatMap((feed) => checkFeed(feed, nowUs))
  return findings.length > 0 ? findings : [ok(`${feeds.length} feeds go on`)]
}

function checkFeed(feed: StoredFeed, nowUs: number): Finding[] {
  const { name, upstream, isEnabled, stopped, lastError, behindSinceUs, setAside } = feed
  const what = `the feed of ${name} with ${upstream}`
  const findings: Finding[] = []
  if (stopped !== null)
    findings.push(
      error(`${what} has stopped: ${stopped}`, 'mend the cause, then call `sync.update_feed` for it'),
    )
  if (setAside > 0)
    findings.push(
      warning(
        `${setAside} rows of ${what} were refused and set aside`,
        'see `set_aside` of `sync.list_feeds`; a row that changes is sent again',
      ),
    )
  if (isEnabled && stopped === null && behindSinceUs !== null && nowUs - behindSinceUs > LONG_US) {
    const cause = lastError === null ? '' : `; last error: ${lastError}`
    findings.push(
      warning(
        `rows of ${what} have waited since ${isoTime(behindSinceUs)}${cause}`,
        'check the network, sync.windows and `fieldgate sync status`',
      ),
    )
  }
  return findings
}
