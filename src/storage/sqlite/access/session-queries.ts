import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { StateDb } from '../connection/state-db.js'
import { apiKey, session } from '../connection/state-schema.js'

const value = sql.placeholder
const ofToken = eq(session.tokenHash, value('tokenHash'))
const ofKey = eq(apiKey.keyId, session.keyId)
const ofId = eq(session.sessionId, value('sessionId'))
/** Sessions that are neither closed nor over. Parameters `nowUs` and `idleBeforeUs`. */
const isOpen = sql`${session.closedAtUs} IS NULL AND ${session.expiresAtUs} > ${value('nowUs')}
  AND ${session.lastUsedAtUs} > ${value('idleBeforeUs')}`
const isOfKey = sql`${session.keyId} = ${value('keyId')}`
const isOfValidKey = sql`${apiKey.revokedAtUs} IS NULL
  AND coalesce(${apiKey.expiresAtUs} > ${value('nowUs')}, 1)`

const LISTED = {
  sessionId: session.sessionId,
  keyId: session.keyId,
  createdAtUs: session.createdAtUs,
  lastUsedAtUs: session.lastUsedAtUs,
  expiresAtUs: session.expiresAtUs,
}

/** Prepares each statement once: drizzle would spend 30 µs per call on building it. */
export function prepareSessionQueries({ orm }: StateDb) {
  return {
    add: orm
      .insert(session)
      .values({
        sessionId: value('sessionId'),
        tokenHash: value('tokenHash'),
        keyId: value('keyId'),
        createdAtUs: value('createdAtUs'),
        expiresAtUs: value('expiresAtUs'),
        lastUsedAtUs: value('lastUsedAtUs'),
      })
      .prepare(),
    find: orm
      .select({
        ...LISTED,
        closedAtUs: session.closedAtUs,
        keyRevokedAtUs: apiKey.revokedAtUs,
        keyExpiresAtUs: apiKey.expiresAtUs,
      })
      .from(session)
      .innerJoin(apiKey, ofKey)
      .where(ofToken)
      .prepare(),
    byId: orm
      .select({ ...LISTED, closedAtUs: session.closedAtUs })
      .from(session)
      .where(ofId)
      .prepare(),
    openOf: orm
      .select({ sessionId: session.sessionId })
      .from(session)
      .where(sql`${isOfKey} AND ${isOpen}`)
      .limit(value('limit'))
      .prepare(),
    list: listed(orm, sql`${isOpen} AND ${isOfValidKey}`),
    listOf: listed(orm, sql`${isOfKey} AND ${isOpen} AND ${isOfValidKey}`),
    used: orm
      .update(session)
      .set({ lastUsedAtUs: sql`max(${session.lastUsedAtUs}, ${value('usedUs')})` })
      .where(ofId)
      .prepare(),
    close: orm
      .update(session)
      .set({ closedAtUs: sql`${value('nowUs')}` })
      .where(and(ofId, isNull(session.closedAtUs)))
      .prepare(),
    ended: orm
      .select({ sessionId: session.sessionId })
      .from(session)
      .innerJoin(apiKey, ofKey)
      .where(
        sql`${session.closedAtUs} IS NOT NULL OR ${apiKey.revokedAtUs} IS NOT NULL
          OR ${session.expiresAtUs} <= ${value('nowUs')} OR ${apiKey.expiresAtUs} <= ${value('nowUs')}
          OR ${session.lastUsedAtUs} <= ${value('idleBeforeUs')}`,
      )
      .limit(value('limit'))
      .prepare(),
    remove: orm.delete(session).where(ofId).prepare(),
  }
}

function listed(orm: StateDb['orm'], condition: SQL) {
  return orm
    .select(LISTED)
    .from(session)
    .innerJoin(apiKey, ofKey)
    .where(condition)
    .orderBy(desc(session.createdAtUs), session.sessionId)
    .limit(value('limit'))
    .offset(value('offset'))
    .prepare()
}
