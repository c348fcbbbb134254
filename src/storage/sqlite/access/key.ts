import { and, asc, eq, isNull, or, sql } from 'drizzle-orm'
import type { TrustedClock } from '../../clock.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { apiKey, apiKeySecret } from '../connection/state-schema.js'

/** An API key as it is listed: everything but its secrets. */
export interface KeyRecord {
  keyId: string
  name: string
  scopes: string[]
  createdAtUs: number
  /** to about a minute; null when it was never used */
  lastUsedAtUs: number | null
  revokedAtUs: number | null
  expiresAtUs: number | null
}

/** A key that may be used now, with what its caller must know. */
export interface ActiveKey {
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** SHA-256 of each secret that is valid now */
  secretHashes: readonly Uint8Array[]
}

export interface NewKey {
  keyId: string
  name: string
  scopes: readonly string[]
  /** SHA-256 of the secret */
  secretHash: Uint8Array
  expiresAtUs: number | null
}

/** API keys. Small and async, so that a hub can keep them in another database. */
export interface KeyStore {
  create(key: NewKey): Promise<KeyRecord>
  /** the same, but only while there is no key at all; undefined otherwise */
  createFirst(key: NewKey): Promise<KeyRecord | undefined>
  /** undefined when unknown, revoked or expired */
  findActive(keyId: string): Promise<ActiveKey | undefined>
  find(keyId: string): Promise<KeyRecord | undefined>
  /** oldest first, revoked ones too */
  list(): Promise<KeyRecord[]>
  /**
   * Adds a secret. The ones before it stay valid for `overlapS` more seconds at most; with 0 they go at once.
   *
   * @returns undefined when the key is unknown or revoked
   */
  rotate(keyId: string, secretHash: Uint8Array, overlapS: number): Promise<KeyRecord | undefined>
  /** for good; again changes nothing. undefined when the key is unknown */
  revoke(keyId: string): Promise<KeyRecord | undefined>
  /** remembers that the key was used now; nothing is written before `flushUses` */
  noteUse(keyId: string): void
  /** writes what `noteUse` remembers, in one transaction; call it about once a minute, to spare the SD card */
  flushUses(): Promise<void>
}

export function createKeyStore(state: StateDb, clock: TrustedClock): KeyStore {
  const q = prepareQueries(state)
  /** key id → time of its last use, of keys used since the last flush */
  const usedAtUs = new Map<string, number>()

  const isActive = (key: KeyRecord) => key.revokedAtUs === null && !clock.hasPassed(key.expiresAtUs)
  const put = (key: { keyId: string; secretHash: Uint8Array }, createdAtUs: number) =>
    q.addSecret.run({ digest: Buffer.from(key.secretHash), keyId: key.keyId, createdAtUs })

  const add = (key: NewKey) => {
    const createdAtUs = clock.nowUs()
    q.add.run({ ...key, scopes: [...key.scopes], createdAtUs })
    put(key, createdAtUs)
    return found(q.find.get({ keyId: key.keyId }))
  }
  return {
    create: (key) => writeState(state, () => add(key)),
    createFirst: (key) => writeState(state, () => (q.list.all().length === 0 ? add(key) : undefined)),
    async findActive(keyId) {
      const key = q.find.get({ keyId })
      const secrets = q.secrets.all({ keyId }) // also for a key that is not active: both take as long
      if (key === undefined || !isActive(key)) return undefined
      const secretHashes = secrets.filter((s) => !clock.hasPassed(s.expiresAtUs)).map((s) => s.digest)
      return { keyId, keyName: key.name, scopes: key.scopes, secretHashes }
    },
    find: async (keyId) => q.find.get({ keyId }),
    list: async () => q.list.all(),
    rotate: (keyId, secretHash, overlapS) =>
      writeState(state, () => {
        const key = q.find.get({ keyId })
        if (key === undefined || key.revokedAtUs !== null) return undefined
        const untilUs = clock.latestUs() + overlapS * 1_000_000
        if (overlapS === 0) q.dropSecrets.run({ keyId })
        else q.endSecrets.run({ keyId, untilUs })
        for (const s of q.secrets.all({ keyId })) {
          if (clock.hasPassed(s.expiresAtUs)) q.dropSecret.run({ digest: s.digest })
        }
        put({ keyId, secretHash }, clock.nowUs())
        return key
      }),
    revoke: (keyId) =>
      writeState(state, () => {
        q.revoke.run({ keyId, nowUs: clock.nowUs() })
        return q.find.get({ keyId })
      }),
    noteUse(keyId) {
      usedAtUs.set(keyId, clock.nowUs())
    },
    async flushUses() {
      if (usedAtUs.size === 0) return
      const noted = [...usedAtUs]
      usedAtUs.clear()
      await writeState(state, () => {
        for (const [keyId, atUs] of noted) q.used.run({ keyId, atUs })
      })
    },
  }
}

/** Each statement is prepared once and kept: drizzle would spend 30 µs a call on building it anew. */
function prepareQueries({ orm }: StateDb) {
  const value = sql.placeholder
  const ofKey = eq(apiKey.keyId, value('keyId'))
  const secretOfKey = eq(apiKeySecret.keyId, value('keyId'))
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

/** What was written in this very transaction is there. */
function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('a row that was just written is not there')
  return row
}
