import { randomBytes } from 'node:crypto'
import { createKeyring } from '../../src/storage/keyring.js'
import type { PostgresDb } from '../../src/storage/postgres/connection/database.js'
import { openPostgresState, type PostgresState } from '../../src/storage/postgres/state.js'
import { commitCutter } from './commit-cutter.js'
import { START_MS } from './memory-state.js'
import { migratedDatabases, openDb, optionsFor } from './postgres.js'

/** State of a hub process in a test, on a wall clock that stands still until it is moved. */
export interface TestPostgresState extends PostgresState {
  readonly db: PostgresDb
  advance(ms: number): void
  storedUse(sessionId: string): Promise<number>
  readonly useLagMs: number
  /** Opens the state as another process of the same hub, on the same clock. */
  another(): Promise<TestPostgresState>
}

interface Teardown {
  teardown(work: () => unknown): unknown
}

/**
 * Starts a server.
 *
 * @param isCut decides for the n-th commit whether its answer is lost
 * @returns a function that opens a state in a database of its own
 */
export async function postgresStates(
  t: Teardown,
  isCut?: (commits: number) => boolean,
): Promise<(t: Teardown, sessionIdleS?: number) => Promise<TestPostgresState>> {
  const { server, make } = await migratedDatabases(t)
  const { host } = isCut === undefined ? server : await commitCutter(t, server.host, isCut)
  return async (t, sessionIdleS = 0) => {
    const name = await make()
    let wallMs = START_MS
    const keyring = createKeyring(randomBytes(32))
    const open = async (): Promise<TestPostgresState> => {
      const db = openDb(t, optionsFor([host], name))
      const state = await openPostgresState(db, { keyring, sessionIdleS, wallMs: () => wallMs })
      t.teardown(() => state.close())
      return {
        ...state,
        db,
        useLagMs: 60_000,
        advance(ms) {
          wallMs += ms
        },
        async storedUse(sessionId) {
          const text = 'SELECT last_used_at_us AS us FROM session WHERE session_id = $1'
          const row = await db.read.get<{ us: number }>(text, sessionId)
          return row?.us ?? Number.NaN
        },
        another: open,
      }
    }
    return await open()
  }
}
