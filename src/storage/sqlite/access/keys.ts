import { and, asc, eq, isNull, or, sql } from 'drizzle-orm'
import type { KeyRecord, KeyStore, NewKey } from '../../access/keys.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'
import { apiKey, apiKeySecret, session } from '../connection/state-schema.js'
import { rowCaches } from './row-cache.js'

/** Keys of `state.db`, with what other rows of the database need of them in a transaction of their own. */
export interface SqliteKeys extends KeyStore {
  /** Writes a key. Call it inside a transaction. */
  insert(key: NewKey): KeyRecord
  /** Revokes a key; nothing for one that is revoked. Call it inside a transaction. */
  revokeNow(keyId: string): void
}

/** Creates the key store of `state.db`. */
export function createKeyStore(
  state: StateDb,
  clock: TrustedClock,
  newCache = rowCaches(state.db),
): SqliteKeys {
  const queries = prepareQueries(state)
  const read = (keyId: string) => ({
    key: queries.find.get({ keyId }),
    secrets: queries.secrets.all({ keyId }), // read for every key, so that the time does not depend on the outcome
  })
  const kept = newCache<ReturnType<typeof read>>()
  /** key id → time of its last use, of keys used since the last flush */
  const usedAtUs = new Map<string, number>()
  return {
    create: (key) => writeState(state, () => insertKey(queries, clock, key)),
    createFirst: (key) =>
      writeState(state, () => (queries.list.all().length === 0 ? insertKey(queries, clock, key) : undefined)),
    async findActive(keyId) {
      const { key, secrets } = kept.get(keyId, () => read(keyId))
      if (key === undefined || key.revokedAtUs !== null || clock.hasPassed(key.expiresAtUs)) return undefined
      const valid = secrets.filter((s) => !clock.hasPassed(s.expiresAtUs))
      return { keyId, keyName: key.name, scopes: key.scopes, secrets: valid }
    },
    find: async (keyId) => queries.find.get({ keyId }),
    list: async () => queries.list.all(),
    rotate: (keyId, secretHash, overlapS) =>
      writeFreeing(state, () => rotateKey(queries, clock, { keyId, secretHash, overlapS })),
    revoke: (keyId) =>
      writeFreeing(state, () => {
        queries.revoke.run({ keyId, nowUs: clock.nowUs() })
        return queries.find.get({ keyId })
      }),
    setScopes: (keyId, scopes) =>
      writeState(state, () => {
        const sql = 'UPDATE api_key SET scopes = ? WHERE key_id = ?'
        statement(state.db, sql).run(JSON.stringify(scopes), keyId)
        return queries.find.get({ keyId })
      }),
    insert: (key) => insertKey(queries, clock, key),
    revokeNow: (keyId) => void queries.revoke.run({ keyId, nowUs: clock.nowUs() }),
    noteUse(keyId) {
      usedAtUs.set(keyId, clock.nowUs())
    },
    async flushUses() {
      if (usedAtUs.size === 0) return
      const noted = [...usedAtUs]
      usedAtUs.clear()
      await writeFreeing(state, () => {
        for (const [keyId, atUs] of noted) queries.used.run({ keyId, atUs })
      })
    },
  }
}

type Queries = ReturnType<typeof prepareQueries>

function insertKey(queries: Queries, clock: TrustedClock, key: NewKey): KeyRecord {
  const createdAtUs = clock.nowUs()
  queries.add.run({ ...key, scopes: [...key.scopes], createdAtUs })
  queries.addSecret.run({ digest: Buffer.from(key.secretHash), keyId: key.keyId, createdAtUs })
  return writtenRow(queries.find.get({ keyId: key.keyId }))
}

/**
 * Adds a secret, ends the earlier ones and all sessions after the overlap, and removes secrets that have
 * ended. A session that a thief of the old secret opened must not outlive it.
 */
function rotateKey(
  queries: Queries,
  clock: TrustedClock,
  { keyId, secretHash, overlapS }: { keyId: string; secretHash: Uint8Array; overlapS: number },
): KeyRecord | undefined {
  const key = queries.find.get({ keyId })
  if (key === undefined || key.revokedAtUs !== null) return undefined
  const untilUs = clock.latestUs() + overlapS * 1_000_000
  if (overlapS === 0) {
    queries.dropSecrets.run({ keyId })
    queries.closeSessions.run({ keyId, nowUs: clock.nowUs() })
  } else {
    queries.endSecrets.run({ keyId, untilUs })
    queries.endSessions.run({ keyId, untilUs })
  }
  for (const { digest, expiresAtUs } of queries.secrets.all({ keyId })) {
    if (clock.hasPassed(expiresAtUs)) queries.dropSecret.run({ digest })
  }
  queries.addSecret.run({ digest: Buffer.from(secretHash), keyId, createdAtUs: clock.nowUs() })
  return key
}

/** Prepares each statement once: drizzle would spend 30 µs per call on building it. */
function prepareQueries({ orm }: StateDb) {
  const value = sql.placeholder
  const ofKey = eq(apiKey.keyId, value('keyId'))
  const secretOfKey = eq(apiKeySecret.keyId, value('keyId'))
  const sessionOfKey = eq(session.keyId, value('keyId'))
  const endsLater = or(
    isNull(apiKeySecret.expiresAtUs),
    sql`${apiKeySecret.expiresAtUs} > ${value('untilUs')}`,
  )
  return {
    find: orm.select().from(apiKey).where(ofKey).prepare(),
    list: orm.select().from(apiKey).orderBy(asc(apiKey.createdAtUs), asc(apiKey.keyId)).prepare(),
    secrets: orm
      .select({ digest: apiKeySecret.digest, expiresAtUs: apiKeySecret.expiresAtUs })
      .from(apiKeySecret)
      .where(secretOfKey)
      .prepare(),
    add: orm
      .insert(apiKey)
      .values({
        keyId: value('keyId'),
        name: value('name'),
        scopes: value('scopes'),
        createdAtUs: value('createdAtUs'),
        expiresAtUs: value('expiresAtUs'),
      })
      .prepare(),
    addSecret: orm
      .insert(apiKeySecret)
      .values({ digest: value('digest'), keyId: value('keyId'), createdAtUs: value('createdAtUs') })
      .prepare(),
    dropSecret: orm
      .delete(apiKeySecret)
      .where(eq(apiKeySecret.digest, value('digest')))
      .prepare(),
    dropSecrets: orm.delete(apiKeySecret).where(secretOfKey).prepare(),
    endSecrets: orm
      .update(apiKeySecret)
      .set({ expiresAtUs: sql`${value('untilUs')}` })
      .where(and(secretOfKey, endsLater))
      .prepare(),
    closeSessions: orm
      .update(session)
      .set({ closedAtUs: sql`${value('nowUs')}` })
      .where(and(sessionOfKey, isNull(session.closedAtUs)))
      .prepare(),
    endSessions: orm
      .update(session)
      .set({ expiresAtUs: sql`min(${session.expiresAtUs}, ${value('untilUs')})` })
      .where(sessionOfKey)
      .prepare(),
    revoke: orm
      .update(apiKey)
      .set({ revokedAtUs: sql`${value('nowUs')}` })
      .where(and(ofKey, isNull(apiKey.revokedAtUs)))
      .prepare(),
    used: orm
      .update(apiKey)
      .set({ lastUsedAtUs: sql`max(coalesce(${apiKey.lastUsedAtUs}, 0), ${value('atUs')})` })
      .where(ofKey)
      .prepare(),
  }
}
