import { AppError } from '../../../errors.js'
import type { TrustedClock } from '../../clock.js'
import type { ListedSession, NewSession, SessionQuery, SessionStore } from '../../sessions.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { prepareSessionQueries } from './session-queries.js'
import { createSessionUses, type SessionUses } from './session-uses.js'

/** State that the functions of the store share. */
interface Parts {
  readonly state: StateDb
  readonly clock: TrustedClock
  readonly queries: ReturnType<typeof prepareSessionQueries>
  readonly uses: SessionUses
}

/** Creates the session store of `state.db`. @param idleS time without a call that ends a session; 0 for none */
export function createSessionStore(state: StateDb, clock: TrustedClock, idleS = 0): SessionStore {
  const queries = prepareSessionQueries(state)
  const uses = createSessionUses(idleS * 1_000_000)
  const parts = { state, clock, queries, uses }
  return {
    open: (opened) =>
      writeState(state, () => {
        requireRoom(parts, opened) // here, as several may be opened at once
        return addSession(parts, opened)
      }),
    async findOpen(tokenHash) {
      const row = queries.find.get({ tokenHash: Buffer.from(tokenHash) })
      if (row === undefined || row.closedAtUs !== null || row.keyRevokedAtUs !== null) return undefined
      if (hasEnded(parts, row) || clock.hasPassed(row.keyExpiresAtUs)) return undefined
      const { sessionId, keyId, expiresAtUs } = row
      return { sessionId, keyId, expiresAtUs }
    },
    countOpen: async (keyId, limit) => queries.openOf.all({ keyId, ...bounds(parts), limit }).length,
    noteUse: (sessionId) => uses.note(sessionId, clock.latestUs()), // as a term begins: see `addSession`
    flushUses: (isLast = false) => flushUses(parts, isLast),
    list: async (query) => listOpen(parts, query),
    async close(tokenHash) {
      const row = queries.find.get({ tokenHash: Buffer.from(tokenHash) })
      if (row === undefined || row.closedAtUs !== null) return // no write for an unknown token
      await close(parts, row.sessionId)
    },
    async end(sessionId, keyId) {
      const row = queries.byId.get({ sessionId })
      // one that seems idle may be in use: only the process that serves it knows its last use
      if (row === undefined || row.closedAtUs !== null || clock.hasPassed(row.expiresAtUs)) return undefined
      if (keyId !== null && row.keyId !== keyId) return undefined
      await close(parts, sessionId)
      return { sessionId, keyId: row.keyId, expiresAtUs: row.expiresAtUs }
    },
    endAll: (keyId) =>
      writeFreeing(state, () => {
        const open = queries.openOf.all({ keyId, ...bounds(parts), idleBeforeUs: -1, limit: ALL })
        for (const { sessionId } of open) queries.close.run({ sessionId, nowUs: clock.nowUs() })
        return open.length
      }),
    listEnded: async (limit) => queries.ended.all({ ...bounds(parts), limit }).map((row) => row.sessionId),
    async remove(sessionIds) {
      await writeFreeing(state, () => {
        for (const sessionId of sessionIds) queries.remove.run({ sessionId })
      })
      uses.forget(sessionIds)
    },
    unknownOf: async (sessionIds) =>
      sessionIds.filter((sessionId) => queries.byId.get({ sessionId }) === undefined),
  }
}

/** Limit of a query without a limit. */
const ALL = -1

/** @throws AppError TOO_MANY_SESSIONS */
function requireRoom(parts: Parts, { keyId, mostOpen }: NewSession): void {
  if (mostOpen === undefined) return
  if (parts.queries.openOf.all({ keyId, ...bounds(parts), limit: mostOpen }).length < mostOpen) return
  const message = `The key has ${mostOpen} open sessions, expected fewer (session.maxPerKey): close some`
  throw new AppError('TOO_MANY_SESSIONS', { maxPerKey: mostOpen, retryAfterS: 60 }, { message })
}

function addSession({ clock, queries }: Parts, opened: NewSession): { expiresAtUs: number; lifeS: number } {
  const createdAtUs = clock.nowUs()
  // not the wall clock: a session opened at 1970 would end as soon as the network sets the clock
  const startUs = clock.latestUs()
  const expiresAtUs = Math.min(startUs + opened.lifeS * 1_000_000, opened.notAfterUs ?? Infinity)
  const { sessionId, keyId } = opened
  const tokenHash = Buffer.from(opened.tokenHash)
  queries.add.run({ sessionId, tokenHash, keyId, createdAtUs, expiresAtUs, lastUsedAtUs: startUs })
  return { expiresAtUs, lifeS: Math.max(0, Math.floor((expiresAtUs - startUs) / 1_000_000)) }
}

interface SessionRow {
  sessionId: string
  expiresAtUs: number
  /** as stored */
  lastUsedAtUs: number
}

function hasEnded(parts: Parts, row: SessionRow): boolean {
  return parts.clock.hasPassed(row.expiresAtUs) || parts.clock.hasPassed(idleAtUs(parts, row))
}

/** Returns the time at which a session ends without a further use, µs; null for no idle limit. */
function idleAtUs({ uses }: Parts, { sessionId, lastUsedAtUs }: SessionRow): number | null {
  return uses.idleUs === 0 ? null : uses.latest(sessionId, lastUsedAtUs) + uses.idleUs
}

/** Time after which uses are written for certain when they are due: housekeeping runs every minute. */
const FLUSH_US = 600_000_000

/**
 * Returns the bounds of open sessions for the queries, which know the stored uses alone: the real ones may be
 * later by the lag, and by the time until the next flush. An untrusted clock ends none.
 */
function bounds({ clock, uses }: Parts): { nowUs: number; idleBeforeUs: number } {
  const nowUs = clock.isTrusted() ? clock.nowUs() : 0
  return { nowUs, idleBeforeUs: uses.idleUs === 0 ? -1 : nowUs - uses.idleUs - uses.lagUs - FLUSH_US }
}

function listOpen(parts: Parts, { keyId, limit, offset }: SessionQuery): ListedSession[] {
  const { queries, uses } = parts
  const page = { ...bounds(parts), limit, offset }
  const rows = keyId === null ? queries.list.all(page) : queries.listOf.all({ keyId, ...page })
  return rows.map((row) => ({
    ...row,
    lastUsedAtUs: uses.latest(row.sessionId, row.lastUsedAtUs),
    idleAtUs: idleAtUs(parts, row),
  }))
}

async function close({ state, clock, queries, uses }: Parts, sessionId: string): Promise<void> {
  await writeFreeing(state, () => queries.close.run({ sessionId, nowUs: clock.nowUs() }))
  uses.forget([sessionId])
}

async function flushUses({ state, queries, uses }: Parts, isLast: boolean): Promise<void> {
  const due = uses.due((sessionId) => queries.byId.get({ sessionId })?.lastUsedAtUs, isLast)
  if (due.length === 0) return
  await writeFreeing(state, () => {
    for (const { sessionId, usedUs } of due) queries.used.run({ sessionId, usedUs })
  })
  uses.written(due)
}
