import { and, eq, isNull, sql } from 'drizzle-orm'
import type { TrustedClock } from '../../clock.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { apiKey, session } from '../connection/state-schema.js'

export interface NewSession {
  sessionId: string
  /** SHA-256 of the token; the token itself is nowhere */
  tokenHash: Uint8Array
  keyId: string
  lifeS: number
  /** end of the session that this one was opened through, µs: it ends no later; null for none */
  notAfterUs: number | null
}

/** A session that may be used now. */
export interface OpenSession {
  sessionId: string
  keyId: string
  expiresAtUs: number
}

/** Sessions. Small and async, so that a hub can keep them in another database. */
export interface SessionStore {
  /** @returns when it ends, and in how many seconds */
  open(session: NewSession): Promise<{ expiresAtUs: number; lifeS: number }>
  /** undefined when unknown, closed, expired, or when its key is revoked or expired */
  findOpen(tokenHash: Uint8Array): Promise<OpenSession | undefined>
  /** again, or with an unknown token, changes nothing */
  close(tokenHash: Uint8Array): Promise<void>
  /** ids of sessions that ended, at most `limit`; they stay until `remove`, so that what belongs to them can go first */
  listEnded(limit: number): Promise<string[]>
  remove(sessionIds: readonly string[]): Promise<void>
  /** those among the ids that no session has, or has any more */
  unknownOf(sessionIds: readonly string[]): Promise<string[]>
}

export function createSessionStore(state: StateDb, clock: TrustedClock): SessionStore {
  const q = prepareQueries(state)
  return {
    open: (opened) =>
      writeState(state, () => {
        // not the wall clock: at 1970 the session would be over as soon as the network tells the time
        const startUs = clock.latestUs()
        const expiresAtUs = Math.min(startUs + opened.lifeS * 1_000_000, opened.notAfterUs ?? Infinity)
        const { sessionId, keyId } = opened
        const tokenHash = Buffer.from(opened.tokenHash)
        q.add.run({ sessionId, tokenHash, keyId, createdAtUs: clock.nowUs(), expiresAtUs })
        return { expiresAtUs, lifeS: Math.max(0, Math.floor((expiresAtUs - startUs) / 1_000_000)) }
      }),
    async findOpen(tokenHash) {
      const row = q.find.get({ tokenHash: Buffer.from(tokenHash) })
      if (row === undefined || row.closedAtUs !== null || row.keyRevokedAtUs !== null) return undefined
      if (clock.hasPassed(row.expiresAtUs) || clock.hasPassed(row.keyExpiresAtUs)) return undefined
      const { sessionId, keyId, expiresAtUs } = row
      return { sessionId, keyId, expiresAtUs }
    },
    async close(tokenHash) {
      const hash = Buffer.from(tokenHash)
      if (q.find.get({ tokenHash: hash }) === undefined) return // a token that never was costs no write
      await writeState(state, () => q.close.run({ tokenHash: hash, nowUs: clock.nowUs() }))
    },
    async listEnded(limit) {
      const nowUs = clock.isTrusted() ? clock.nowUs() : 0 // an untrusted clock ends nothing
      return q.ended.all({ nowUs, limit }).map((row) => row.sessionId)
    },
    async remove(sessionIds) {
      await writeState(state, () => {
        for (const sessionId of sessionIds) q.remove.run({ sessionId })
      })
    },
    unknownOf: async (sessionIds) =>
      sessionIds.filter((sessionId) => q.exists.get({ sessionId }) === undefined),
  }
}

/** Each statement is prepared once and kept: drizzle would spend 30 µs a call on building it anew. */
function prepareQueries({ orm }: StateDb) {
  const value = sql.placeholder
  const ofToken = eq(session.tokenHash, value('tokenHash'))
  const ofKey = eq(apiKey.keyId, session.keyId)
  return {
    add: orm
      .insert(session)
      .values({
        sessionId: value('sessionId'),
        tokenHash: value('tokenHash'),
        keyId: value('keyId'),
        createdAtUs: value('createdAtUs'),
        expiresAtUs: value('expiresAtUs'),
      })
      .prepare(),
    find: orm
      .select({
        sessionId: session.sessionId,
        keyId: session.keyId,
        expiresAtUs: session.expiresAtUs,
        closedAtUs: session.closedAtUs,
        keyRevokedAtUs: apiKey.revokedAtUs,
        keyExpiresAtUs: apiKey.expiresAtUs,
      })
      .from(session)
      .innerJoin(apiKey, ofKey)
      .where(ofToken)
      .prepare(),
    close: orm
      .update(session)
      .set({ closedAtUs: sql`${value('nowUs')}` })
      .where(and(ofToken, isNull(session.closedAtUs)))
      .prepare(),
    ended: orm
      .select({ sessionId: session.sessionId })
      .from(session)
      .innerJoin(apiKey, ofKey)
      .where(
        sql`${session.closedAtUs} IS NOT NULL OR ${apiKey.revokedAtUs} IS NOT NULL
          OR ${session.expiresAtUs} <= ${value('nowUs')} OR ${apiKey.expiresAtUs} <= ${value('nowUs')}`,
      )
      .limit(value('limit'))
      .prepare(),
    exists: orm
      .select({ sessionId: session.sessionId })
      .from(session)
      .where(eq(session.sessionId, value('sessionId')))
      .prepare(),
    remove: orm
      .delete(session)
      .where(eq(session.sessionId, value('sessionId')))
      .prepare(),
  }
}
