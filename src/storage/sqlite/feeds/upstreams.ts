import { FEED_SECRET_CONTEXT, type FeedUpstream, type FeedUpstreams } from '../../exchange/feeds.js'
import type { Keyring } from '../../keyring.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface UpstreamRow {
  name: string
  endpoint: string
  apikey: string
  secret: Uint8Array
  created_at_us: number
}

/** Creates the upstreams of feeds of `state.db`. */
export function createFeedUpstreams(state: StateDb, clock: TrustedClock, keyring: Keyring): FeedUpstreams {
  const { db } = state
  const toUpstream = (row: UpstreamRow): FeedUpstream => ({
    name: row.name,
    endpoint: row.endpoint,
    apikey: row.apikey,
    secret: keyring.read(row.secret, FEED_SECRET_CONTEXT),
    createdAtUs: row.created_at_us,
  })
  const find = (name: string) => {
    const row = statement<UpstreamRow>(db, 'SELECT * FROM sync_upstream WHERE name = ?').get(name)
    return row === undefined ? undefined : toUpstream(row)
  }
  return {
    create: ({ name, endpoint, apikey, secret }) =>
      writeState(state, () => {
        const sealed = Buffer.from(keyring.encrypt(secret, FEED_SECRET_CONTEXT))
        const { changes } = statement(
          db,
          `INSERT INTO sync_upstream (name, endpoint, apikey, secret, created_at_us) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO NOTHING`,
        ).run(name, endpoint, apikey, sealed, clock.nowUs())
        return changes === 0 ? undefined : find(name)
      }),
    find: async (name) => find(name),
    list: async () =>
      statement<UpstreamRow>(db, 'SELECT * FROM sync_upstream ORDER BY name').all().map(toUpstream),
    remove: (name) =>
      writeFreeing(state, () => {
        const old = find(name)
        statement(db, 'DELETE FROM sync_upstream WHERE name = ?').run(name)
        return old
      }),
  }
}
