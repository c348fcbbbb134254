import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** Switches and figures of the outbox that a command line beside the gateway reads and sets. */
export interface SyncControl {
  isPaused(): Promise<boolean>
  setPaused(isPaused: boolean): Promise<void>
  /** counts up when an operator asks for a try now */
  wakeCount(): Promise<number>
  askNow(): Promise<void>
  /** bytes a second of the last transfers, 0 when none was measured */
  rate(): Promise<number>
  setRate(bytesPerSecond: number): Promise<void>
  /** changes when another program has written to the database; costs microseconds */
  changeCount(): number
}

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
    changeCount: () => db.pragma('data_version', { simple: true }) as number,
  }
}
