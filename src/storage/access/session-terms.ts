import { AppError } from '../../errors.js'
import type { TrustedClock } from '../work/clock.js'
import type { SessionUses } from './session-uses.js'
import type { NewSession } from './sessions.js'

/** A session as it is stored. */
export interface StoredSession {
  readonly sessionId: string
  readonly expiresAtUs: number
  /** as stored: `SessionUses` may know a later use */
  readonly lastUsedAtUs: number
}

/** Bounds of open sessions, for queries: end after `nowUs`, last use after `idleBeforeUs`. */
export interface OpenBounds {
  nowUs: number
  idleBeforeUs: number
}

/** When sessions begin and end, the same for every engine. */
export interface SessionTerms {
  /** Times of a session that is opened now. */
  begin(opened: NewSession): { createdAtUs: number; startUs: number; expiresAtUs: number; lifeS: number }
  hasEnded(row: StoredSession): boolean
  /** Returns the time at which a session ends without a further use, µs; null for no idle limit. */
  idleAtUs(row: StoredSession): number | null
  /**
   * Returns the bounds of open sessions for the queries, which know the stored uses alone: the real ones may be
   * later by the lag, and by the time until the next flush. An untrusted clock ends none.
   */
  bounds(): OpenBounds
}

/** Time after which uses are written for certain when they are due: housekeeping runs every minute. */
const FLUSH_US = 600_000_000

/** Creates the terms of sessions. */
export function createSessionTerms(clock: TrustedClock, uses: SessionUses): SessionTerms {
  const idleAtUs = ({ sessionId, lastUsedAtUs }: StoredSession) =>
    uses.idleUs === 0 ? null : uses.latest(sessionId, lastUsedAtUs) + uses.idleUs
  return {
    begin({ lifeS, notAfterUs }) {
      const createdAtUs = clock.nowUs()
      // not the wall clock: a session opened at 1970 would end as soon as the network sets the clock
      const startUs = clock.latestUs()
      const expiresAtUs = Math.min(startUs + lifeS * 1_000_000, notAfterUs ?? Infinity)
      const wholeS = Math.max(0, Math.floor((expiresAtUs - startUs) / 1_000_000))
      return { createdAtUs, startUs, expiresAtUs, lifeS: wholeS }
    },
    hasEnded: (row) => clock.hasPassed(row.expiresAtUs) || clock.hasPassed(idleAtUs(row)),
    idleAtUs,
    bounds() {
      const nowUs = clock.isTrusted() ? clock.nowUs() : 0
      const idleBeforeUs = uses.idleUs === 0 ? -1 : nowUs - uses.idleUs - uses.lagUs - FLUSH_US
      return { nowUs, idleBeforeUs }
    },
  }
}

/** The error of a key that has as many sessions as it may have. */
export function tooManySessions(mostOpen: number): AppError {
  const message = `The key has ${mostOpen} open sessions, expected fewer (session.maxPerKey): close some`
  return new AppError('TOO_MANY_SESSIONS', { maxPerKey: mostOpen, retryAfterS: 60 }, { message })
}
