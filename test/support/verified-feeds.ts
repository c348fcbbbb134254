// What tests of sync.verify and sync.resend share: the call, and changes of a database behind the gateway's back.
import path from 'node:path'
import Database from 'better-sqlite3'
import { dayText } from '../../src/feeds/batch/days.js'
import { sync, until } from './feeds.js'
import type { TestGateway } from './start-gateway.js'

/** Result of `sync.verify`. */
export interface Verified {
  equal: boolean
  days: {
    day: string
    origin: string
    here: { rows: number; digest: string }
    there: { rows: number; digest: string }
  }[]
}

/** UTC day, counted from 1970. */
export const TODAY = Math.floor(Date.now() / 86_400_000)
/** Both days around a test, in case it runs at midnight. */
export const SPAN = { from: `${dayText(TODAY)}T00:00:00Z`, to: `${dayText(TODAY + 2)}T00:00:00Z` }

export const verify = (node: TestGateway, feed: string, more: object = {}): Promise<Verified> =>
  sync<Verified>(node, 'verify', { feed, ...more })

/** Runs SQL on a database of a node, as another program does. */
export function edit(node: TestGateway, sql: string, file = 'data.db'): void {
  const db = new Database(path.join(node.dataDir, file))
  try {
    db.exec(sql)
  } finally {
    db.close()
  }
}

/** Waits until no row of a node goes or comes once more. */
export async function untilResent(node: TestGateway): Promise<void> {
  const db = new Database(path.join(node.dataDir, 'state.db'), { readonly: true })
  try {
    await until(
      async () => db.prepare('SELECT count(*) FROM feed_resend').pluck().get(),
      (left) => left === 0,
    )
  } finally {
    db.close()
  }
}
