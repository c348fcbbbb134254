import type { BundleContents } from '../../exchange/bundles.js'
import type { FeedProgress } from '../../exchange/feeds.js'
import type { OpenBundles } from '../../maintenance.js'
import type { Db } from '../connection/database.js'
import { hasTable } from './database-facts.js'

interface WrittenRow {
  node: string
  atUs: number
  contents: string
}

/** Reads the bundles whose content nobody has acknowledged, by gateway, also of an earlier schema. */
export function readOpenBundles(db: Db): OpenBundles[] {
  if (!hasTable(db, 'bundle_written')) return []
  const rows = db
    .prepare<[], WrittenRow>(
      `SELECT coalesce(p.name, b.node_id) AS node, written_at_us AS atUs, contents
       FROM bundle_written AS b LEFT JOIN node_peer AS p USING (node_id)
       WHERE acknowledged_at_us IS NULL AND contents IS NOT NULL ORDER BY seq`,
    )
    .all()
  const isOpen = openTest(db)
  const open = rows.filter(({ contents }) => isOpen(JSON.parse(contents) as BundleContents))
  return [...Map.groupBy(open, ({ node }) => node)].map(([node, of]) => ({
    ...{ node, count: of.length, oldestUs: Math.min(...of.map(({ atUs }) => atUs)) },
  }))
}

/** Returns a test for contents that have not arrived over the network or in another bundle. */
function openTest(db: Db): (contents: BundleContents) => boolean {
  const feeds = new Map(
    db
      .prepare<[], { id: string; progress: string }>('SELECT feed_id AS id, progress FROM feed')
      .all()
      .map(({ id, progress }) => [id, JSON.parse(progress) as FeedProgress]),
  )
  const waiting = new Set(
    db
      .prepare<[], number>("SELECT transfer_id FROM transfer WHERE state IN ('queued', 'sending')")
      .pluck()
      .all(),
  )
  return ({ feeds: held, transfers }) =>
    transfers.some((id) => waiting.has(id)) ||
    held.some(({ feed, table, after, last }) => {
      const progress = feeds.get(feed) // undefined: the feed was removed
      return last > after && progress?.tableUuid === table && progress.cursor < last
    })
}
