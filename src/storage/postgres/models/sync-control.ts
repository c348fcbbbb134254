import type { SyncControl } from '../../models/sync-control.js'
import type { PostgresDb, Rows } from '../connection/database.js'

const READ = 'SELECT value FROM meta WHERE name = $1'
const WRITE = 'INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'

/** Creates the switches of the outbox, kept as facts of `meta`. */
export function createSyncControl(db: PostgresDb): SyncControl {
  const read = async (rows: Rows, name: string) => (await rows.get<{ value: string }>(READ, name))?.value
  const write = async (name: string, value: string) => {
    await db.write((rows) => rows.run(WRITE, name, value))
  }
  const wakeCount = async (rows: Rows) => Number((await read(rows, 'sync_wake')) ?? 0)
  return {
    isPaused: async () => (await read(db.read, 'sync_paused')) === '1',
    setPaused: (isPaused) => write('sync_paused', isPaused ? '1' : '0'),
    wakeCount: () => wakeCount(db.read),
    async askNow() {
      const before = await wakeCount(db.read)
      await db.write(async (rows) => {
        // another process, or an earlier attempt of this one, may have asked meanwhile
        const now = await wakeCount(rows)
        if (now <= before) await rows.run(WRITE, 'sync_wake', String(before + 1))
      })
    },
    rate: async () => Number((await read(db.read, 'sync_rate')) ?? 0),
    setRate: (bytesPerSecond) => write('sync_rate', String(Math.round(bytesPerSecond))),
    async changeCount() {
      // a snapshot names the transactions that are seen: it is another one after each commit
      const row = await db.read.get<{ n: number }>('SELECT hashtext(pg_current_snapshot()::text) AS n')
      // no test: a query without a table has one row
      return row?.n ?? 0
    },
  }
}
