import type { FeedProgress } from '../../exchange/feeds.js'
import type { StoredFeed } from '../../maintenance.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

interface FeedRow {
  data_name: string
  upstream: string
  enabled: number
  progress: string
  aside: number
}

/** Reads the feeds of `state.db`; none from a backup of a schema before them. */
export function readFeeds(db: Db): StoredFeed[] {
  if (!hasTable(db, 'feed')) return []
  return db
    .prepare<[], FeedRow>(
      `SELECT data_name, upstream, enabled, progress,
       (SELECT count(*) FROM feed_set_aside AS a WHERE a.feed_id = feed.feed_id) AS aside
       FROM feed ORDER BY created_at_us, feed_id`,
    )
    .all()
    .map((row) => {
      const { stopped, lastError, behindSinceUs } = JSON.parse(row.progress) as FeedProgress
      return {
        ...{ name: row.data_name, upstream: row.upstream, isEnabled: row.enabled === 1 },
        ...{ stopped, lastError, behindSinceUs, setAside: row.aside },
      }
    })
}
