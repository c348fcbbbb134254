import { and, eq, isNull, sql } from 'drizzle-orm'
import type { TrustedClock } from '../../clock.js'
import type { SessionStore } from '../../sessions.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { apiKey, session } from '../connection/state-schema.js'

/** Creates the session store of `state.db`. */
export function createSessionStore(state: StateDb, clock: TrustedClock): SessionStore {
  const queries = prepareQueries(state)
  return {
    open: (opened) =>
      writeState(state, () => {
        // not the wall clock: a session opened at 1970 would end as soon as the network sets the clock
        const startUs = clock.latestUs()
        const expiresAtUs = Math.min(startUs + opened.lifeS * 1_000_000, opened.notAfterUs ?? Infinity)
        const { sessionId, keyId } = opened
        const tokenHash = Buffer.from(opened.tokenHash)
        queries.add.run({ sessionId, tokenHash, keyId, createdAtUs: clock.nowUs(), expiresAtUs })
        return { expiresAtUs, lifeS: Math.max(0, Math.floor((expiresAtUs - startUs) / 1_000_000)) }
      }),
    async findOpen(tokenHash) {
      const row = queries.find.get({ tokenHash: Buffer.from(tokenHash) })
      if (row === undefined || row.closedAtUs !== null || row.keyRevokedAtUs !== null) return undefined
      if (clock.hasPassed(row.expiresAtUs) || clock.hasPassed(row.keyExpiresAtUs)) return undefined
      const { sessionId, keyId, expiresAtUs } = row
      return { sessionId, keyId, expiresAtUs }
    },
    async countOpen(keyId, limit) {
      const nowUs = clock.isTrusted() ? clock.nowUs() : 0 // no session ends by an untrusted clock
      return queries.openOf.all({ keyId, nowUs, limit }).length
    },
    async close(tokenHash) {
      const hash = Buffer.from(tokenHash)
      if (queries.find.get({ tokenHash: hash }) === undefined) return // no write for an unknown token
      await writeState(state, () => queries.close.run({ tokenHash: hash, nowUs: clock.nowUs() }))
    },
    async listEnded(limit) {
      const nowUs = clock.isTrusted() ? clock.nowUs() : 0 // no session ends by an untrusted clock
      return queries.ended.all({ nowUs, limit }).map((row) => row.sessionId)
    },
    async remove(sessionIds) {
      await writeState(state, () => {
        for (const sessionId of sessionIds) queries.remove.run({ sessionId })
      })
    },
    unknownOf: async (sessionIds) =>
      sessionIds.filter((sessionId) => queries.exists.get({ sessionId }) === undefined),
  }
}

/** Prepares each statement once: drizzle would spend 30 µs per call on building it. */
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
    openOf: orm
      .select({ sessionId: session.sessionId })
      .from(session)
      .where(
        sql`${session.keyId} = ${value('keyId')} AND ${session.closedAtUs} IS NULL
          AND ${session.expiresAtUs} > ${value('nowUs')}`,
      )
      .limit(value('limit'))
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
