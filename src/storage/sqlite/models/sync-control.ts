import type { SyncControl } from '../../models/sync-control.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** Creates the switches of the outbox, kept as facts of `meta`. */
export function createSyncControl(state: StateDb): SyncControl {
  const { db } = state
  const read = (name: string) =>
    statement<{ value: string }>(db, 'SELECT value FROM meta WHERE name = ?').get(name)?.value
  const write = (name: string, value: string) =>
    writeState(state, () => {
      statement(
        db,
        'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      ).run(name, value)
    })
  return {
    isPaused: async () => read('sync_paused') === '1',
    setPaused: (isPaused) => write('sync_paused', isPaused ? '1' : '0'),
    wakeCount: async () => Number(read('sync_wake') ?? 0),
    askNow: () => write('sync_wake', String(Number(read('sync_wake') ?? 0) + 1)),
    rate: async () => Number(read('sync_rate') ?? 0),
    setRate: (bytesPerSecond) => write('sync_rate', String(Math.round(bytesPerSecond))),
    changeCount: async () => oneValue<number>(db, 'PRAGMA data_version'), // a few microseconds
  }
}
