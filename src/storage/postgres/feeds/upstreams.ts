import { randomUUID } from 'node:crypto'
import { FEED_SECRET_CONTEXT, type FeedUpstream, type FeedUpstreams } from '../../exchange/feeds.js'
import type { Keyring } from '../../keyring.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb } from '../connection/database.js'

type UpstreamRow = Omit<FeedUpstream, 'secret'> & { secret: Uint8Array }

const SELECT = 'SELECT name, endpoint, apikey, secret, created_at_us AS "createdAtUs" FROM sync_upstream'
const INSERT = `INSERT INTO sync_upstream (name, endpoint, apikey, secret, created_at_us, made_by)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`

/** Creates the upstreams of feeds. */
export function createFeedUpstreams(db: PostgresDb, clock: TrustedClock, keyring: Keyring): FeedUpstreams {
  const toUpstream = (row: UpstreamRow): FeedUpstream => ({
    ...row,
    secret: keyring.read(row.secret, FEED_SECRET_CONTEXT),
  })
  const find = async (name: string) => {
    const row = await db.read.get<UpstreamRow>(`${SELECT} WHERE name = $1`, name)
    return row === undefined ? undefined : toUpstream(row)
  }
  return {
    create({ name, endpoint, apikey, secret }) {
      const sealed = Buffer.from(keyring.encrypt(secret, FEED_SECRET_CONTEXT))
      const [madeBy, nowUs] = [randomUUID(), clock.nowUs()]
      return db.write(async (rows) => {
        await rows.run(INSERT, name, endpoint, apikey, sealed, nowUs, madeBy)
        const own = await rows.get<UpstreamRow>(`${SELECT} WHERE made_by = $1`, madeBy)
        return own === undefined ? undefined : toUpstream(own)
      })
    },
    find,
    list: async () => (await db.read.all<UpstreamRow>(`${SELECT} ORDER BY name`)).map(toUpstream),
    async remove(name) {
      const old = await find(name)
      if (old === undefined) return undefined
      const isRemoved = await db.write(async (rows, { isRepeat }) => {
        const removed = await rows.run('DELETE FROM sync_upstream WHERE name = $1', name)
        return removed > 0 || isRepeat
      })
      // no test: another process would have to remove it since the first line
      return isRemoved ? old : undefined
    },
  }
}
