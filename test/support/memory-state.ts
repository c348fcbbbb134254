import { randomBytes } from 'node:crypto'
import { createKeyring } from '../../src/storage/keyring.js'
import { openState, type SqliteState } from '../../src/storage/sqlite/state.js'

/** Well inside the time that the gateway believes in. */
export const START_MS = Date.UTC(2027, 0, 1)

export interface MemoryState extends SqliteState {
  /** moves the wall clock, ms; negative for back */
  advance(ms: number): void
}

/** `state.db` in memory, with a wall clock that stands still until it is moved. */
export async function memoryState(t: { teardown(work: () => unknown): unknown }): Promise<MemoryState> {
  let wallMs = START_MS
  const state = await openState(':memory:', { keyring: createKeyring(randomBytes(32)), wallMs: () => wallMs })
  t.teardown(() => state.close())
  return {
    ...state,
    advance(ms) {
      wallMs += ms
    },
  }
}
