import { createClock, type TrustedClock } from '../../clock.js'
import { openStateDb, type StateDb } from '../connection/state-db.js'
import { type AuditNotes, createAuditNotes } from './audit.js'
import { createKeyStore, type KeyStore } from './key.js'
import { createMetaStore, type MetaStore } from './meta.js'
import { createSessionStore, type SessionStore } from './session.js'

/** The time is recorded this often, so that a clock that falls back is noticed after a restart. */
const RECORD_EVERY_US = 10 * 60 * 1_000_000
/** Ended sessions that one round of housekeeping removes. */
const SWEEP_SESSIONS = 1000

/** Everything in `state.db`, behind its stores. */
export interface State {
  /** for the stores of other rooms that keep their rows here */
  readonly stateDb: StateDb
  readonly clock: TrustedClock
  readonly meta: MetaStore
  readonly keys: KeyStore
  readonly sessions: SessionStore
  /** acts of command lines, for the gateway's log */
  readonly audit: AuditNotes
  /**
   * About once a minute: writes when keys were last used, records the time, and removes ended sessions.
   *
   * @param onSessionEnded removes what belongs to a session, before its row goes; the row stays for the next time when it
   *   answers false
   */
  housekeep(onSessionEnded?: (sessionId: string) => Promise<boolean>): Promise<void>
  /** writes what is still to be written, and closes; again does nothing */
  close(): Promise<void>
}

/** Opens `state.db`; `:memory:` and `wallMs` are for tests. */
export async function openState(file: string, wallMs?: () => number): Promise<State> {
  const stateDb = await openStateDb(file)
  const meta = createMetaStore(stateDb)
  let recordedUs = await meta.lastSeenUs()
  let isServing = false // a command-line verb keeps no house, and leaves the recorded time alone
  const clock = createClock(recordedUs, wallMs)
  const keys = createKeyStore(stateDb, clock)
  const sessions = createSessionStore(stateDb, clock)

  const recordTime = async () => {
    const nowUs = clock.nowUs()
    if (!clock.isTrusted() || nowUs - recordedUs < RECORD_EVERY_US) return
    await meta.recordTime(nowUs)
    recordedUs = nowUs
  }
  return {
    stateDb,
    clock,
    meta,
    keys,
    sessions,
    audit: createAuditNotes(stateDb, () => clock.nowUs()),
    async housekeep(onSessionEnded = async () => true) {
      isServing = true
      await keys.flushUses()
      await recordTime()
      const gone: string[] = []
      for (const sessionId of await sessions.listEnded(SWEEP_SESSIONS)) {
        if (await onSessionEnded(sessionId)) gone.push(sessionId)
      }
      if (gone.length > 0) await sessions.remove(gone)
    },
    async close() {
      if (!stateDb.db.open) return
      await keys.flushUses()
      if (isServing && clock.isTrusted()) await meta.recordTime(clock.nowUs())
      stateDb.db.close()
    },
  }
}
