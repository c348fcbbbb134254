import { randomBytes } from 'node:crypto'
import { createKeyring } from '../../src/storage/keyring.js'
import { openState, type SqliteState } from '../../src/storage/sqlite/state.js'

/** Well inside the time that the gateway believes in. */
export const START_MS = Date.UTC(2027, 0, 1)

export interface MemoryState extends SqliteState {
  /** moves the wall clock, ms; negative for back */
  advance(ms: number): void
  /** last use of a session as it is stored, µs */
  storedUse(sessionId: string): Promise<number>
  readonly useLagMs: number
}

/** `state.db` in memory, with a wall clock that stands still until it is moved. */
export async function memoryState(
  t: { teardown(work: () => unknown): unknown },
  sessionIdleS = 0,
): Promise<MemoryState> {
  let wallMs = START_MS
  const keyring = createKeyring(randomBytes(32))
  const state = await openState(':memory:', { keyring, sessionIdleS, wallMs: () => wallMs })
  t.teardown(() => state.close())
  return {
    ...state,
    useLagMs: 3_600_000,
    advance(ms) {
      wallMs += ms
    },
    async storedUse(sessionId) {
      const { db } = state.stateDb
      return db
        .prepare<[string], number>('SELECT last_used_at_us FROM session WHERE session_id = ?')
        .pluck()
        .get(sessionId) as number
    },
  }
}
