import { createSessionTerms, type SessionTerms, tooManySessions } from '../../access/session-terms.js'
import { createSessionUses, type SessionUses } from '../../access/session-uses.js'
import type { ListedSession, NewSession, SessionQuery, SessionStore } from '../../access/sessions.js'
import type { TrustedClock } from '../../work/clock.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { rowCaches } from './row-cache.js'
import { prepareSessionQueries } from './session-queries.js'

/** Longest difference between the stored and the real last use of a session, µs: an hour spares an SD card. */
const MAX_LAG_US = 3_600_000_000

/** State that the functions of the store share. */
interface Parts {
  readonly state: StateDb
  readonly clock: TrustedClock
  readonly queries: ReturnType<typeof prepareSessionQueries>
  readonly uses: SessionUses
  readonly terms: SessionTerms
}

/** Creates the session store of `state.db`. @param idleS time without a call that ends a session; 0 for none */
export function createSessionStore(
  state: StateDb,
  clock: TrustedClock,
  idleS = 0,
  newCache = rowCaches(state.db),
): SessionStore {
  const queries = prepareSessionQueries(state)
  const find = (tokenHash: Uint8Array) => queries.find.get({ tokenHash: Buffer.from(tokenHash) })
  const kept = newCache<ReturnType<typeof find>>()
  const uses = createSessionUses(idleS * 1_000_000, MAX_LAG_US)
  const terms = createSessionTerms(clock, uses)
  const parts = { state, clock, queries, uses, terms }
  return {
    open: (opened) =>
      writeState(state, () => {
        requireRoom(parts, opened) // here, as several may be opened at once
        return addSession(parts, opened)
      }),
    async findOpen(tokenHash, isSignedIn) {
      const name = Buffer.from(tokenHash.buffer, tokenHash.byteOffset, tokenHash.byteLength).toString(
        'latin1',
      )
      const row = kept.get(name, () => find(tokenHash), isSignedIn)
      if (row === undefined || row.closedAtUs !== null || row.keyRevokedAtUs !== null) return undefined
      if (terms.hasEnded(row) || clock.hasPassed(row.keyExpiresAtUs)) return undefined
      const { sessionId, keyId, expiresAtUs } = row
      return { sessionId, keyId, expiresAtUs }
    },
    countOpen: async (keyId, limit) => queries.openOf.all({ keyId, ...terms.bounds(), limit }).length,
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
        const open = queries.openOf.all({ keyId, ...terms.bounds(), idleBeforeUs: -1, limit: ALL })
        for (const { sessionId } of open) queries.close.run({ sessionId, nowUs: clock.nowUs() })
        return open.length
      }),
    listEnded: async (limit) => queries.ended.all({ ...terms.bounds(), limit }).map((row) => row.sessionId),
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
function requireRoom({ queries, terms }: Parts, { keyId, mostOpen }: NewSession): void {
  if (mostOpen === undefined) return
  const open = queries.openOf.all({ keyId, ...terms.bounds(), limit: mostOpen })
  if (open.length >= mostOpen) throw tooManySessions(mostOpen)
}

function addSession({ queries, terms }: Parts, opened: NewSession): { expiresAtUs: number; lifeS: number } {
  const { createdAtUs, startUs, expiresAtUs, lifeS } = terms.begin(opened)
  const { sessionId, keyId } = opened
  const tokenHash = Buffer.from(opened.tokenHash)
  queries.add.run({ sessionId, tokenHash, keyId, createdAtUs, expiresAtUs, lastUsedAtUs: startUs })
  return { expiresAtUs, lifeS }
}

function listOpen({ queries, uses, terms }: Parts, { keyId, limit, offset }: SessionQuery): ListedSession[] {
  const page = { ...terms.bounds(), limit, offset }
  const rows = keyId === null ? queries.list.all(page) : queries.listOf.all({ keyId, ...page })
  return rows.map((row) => ({
    ...row,
    lastUsedAtUs: uses.latest(row.sessionId, row.lastUsedAtUs),
    idleAtUs: terms.idleAtUs(row),
  }))
}

async function close({ state, clock, queries, uses }: Parts, sessionId: string): Promise<void> {
  await writeFreeing(state, () => queries.close.run({ sessionId, nowUs: clock.nowUs() }))
  uses.forget([sessionId])
}

async function flushUses({ state, queries, uses }: Parts, isLast: boolean): Promise<void> {
  const unread = uses.unread()
  const stored = unread.flatMap((sessionId) => queries.byId.get({ sessionId }) ?? [])
  uses.read(unread, new Map(stored.map(({ sessionId, lastUsedAtUs }) => [sessionId, lastUsedAtUs])))
  const due = uses.due(isLast)
  if (due.length === 0) return
  await writeFreeing(state, () => {
    for (const { sessionId, usedUs } of due) queries.used.run({ sessionId, usedUs })
  })
  uses.written(due)
}
