import type { ActiveKey, KeyRecord, KeyStore, NewKey } from '../../access/keys.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'
import { writtenRow } from '../connection/written-row.js'

/** Keys, with what other rows need of them in a transaction of their own. */
export interface PostgresKeys extends KeyStore {
  /** Writes a key, unless an earlier attempt of the same write did. Call it inside a transaction. */
  insert(rows: Rows, key: NewKey, isRepeat: boolean): Promise<KeyRecord>
  /** Revokes a key; nothing for one that is revoked. Call it inside a transaction. */
  revokeNow(rows: Rows, keyId: string): Promise<void>
}

type KeyRow = Omit<KeyRecord, 'scopes'> & { scopes: string }

const COLUMNS = `k.key_id AS "keyId", k.name, k.scopes, k.created_at_us AS "createdAtUs",
  k.last_used_at_us AS "lastUsedAtUs", k.revoked_at_us AS "revokedAtUs", k.expires_at_us AS "expiresAtUs"`
const FIND = `SELECT ${COLUMNS} FROM api_key AS k WHERE key_id = $1`
const FIND_ALL = `SELECT ${COLUMNS} FROM api_key AS k WHERE key_id = ANY ($1::text[])`
/** One row at least, and the same work, for a key that does not exist. */
const FIND_WITH_SECRETS = `SELECT asked.key_id AS "askedId", ${COLUMNS}, s.digest, s.expires_at_us AS "secretExpiresAtUs"
  FROM (SELECT key_id COLLATE "C" AS key_id FROM unnest($1::text[]) AS u (key_id)) AS asked
    LEFT JOIN api_key AS k USING (key_id) LEFT JOIN api_key_secret AS s USING (key_id)`

interface SecretRow extends Omit<KeyRow, 'keyId'> {
  askedId: string
  keyId: string | null
  digest: Buffer | null
  secretExpiresAtUs: number | null
}

/** Creates the key store. */
export function createKeyStore(db: PostgresDb, clock: TrustedClock): PostgresKeys {
  /** key id → time of its last use, of keys used since the last flush */
  const usedAtUs = new Map<string, number>()
  const insert = (rows: Rows, key: NewKey, isRepeat: boolean) => insertKey(rows, clock, key, isRepeat)
  // each call has a key, so thousands are read in a second
  const rowOf = readTogether(async (keyIds) => {
    const found = await db.read.all<KeyRow>(FIND_ALL, [...keyIds])
    return new Map(found.map((row) => [row.keyId, row]))
  })
  const secretsOf = readTogether(async (keyIds) => {
    const found = await db.read.all<SecretRow>(FIND_WITH_SECRETS, [...keyIds])
    return Map.groupBy(found, ({ askedId }) => askedId)
  })
  const revokeNow = async (rows: Rows, keyId: string) => {
    const update = 'UPDATE api_key SET revoked_at_us = $2 WHERE key_id = $1 AND revoked_at_us IS NULL'
    await rows.run(update, keyId, clock.nowUs())
  }
  return {
    create: (key) => db.write((rows, { isRepeat }) => insert(rows, key, isRepeat)),
    createFirst: (key) =>
      db.write(async (rows, { isRepeat }) => {
        // against another process that makes its first key now; readers do not wait
        await rows.run('LOCK TABLE api_key IN SHARE ROW EXCLUSIVE MODE')
        const known = await rows.get<{ keyId: string }>('SELECT key_id AS "keyId" FROM api_key LIMIT 1')
        if (known === undefined || (isRepeat && known.keyId === key.keyId)) return insert(rows, key, isRepeat)
        return undefined
      }),
    findActive: async (keyId) => toActive(clock, (await secretsOf(isText(keyId) ? keyId : '')) ?? []),
    async find(keyId) {
      const row = isText(keyId) ? await rowOf(keyId) : undefined
      return row === undefined ? undefined : toRecord(row)
    },
    async list() {
      const rows = await db.read.all<KeyRow>(
        `SELECT ${COLUMNS} FROM api_key AS k ORDER BY created_at_us, key_id`,
      )
      return rows.map(toRecord)
    },
    rotate: (keyId, secretHash, overlapS) =>
      db.write((rows, { isRepeat }) =>
        rotateKey(rows, clock, { keyId, secretHash: Buffer.from(secretHash), overlapS, isRepeat }),
      ),
    revoke: (keyId) =>
      db.write(async (rows) => {
        if (!isText(keyId)) return undefined
        await revokeNow(rows, keyId)
        return await findKey(rows, keyId)
      }),
    setScopes: (keyId, scopes) =>
      db.write(async (rows) => {
        if (!isText(keyId)) return undefined
        await rows.run('UPDATE api_key SET scopes = $2 WHERE key_id = $1', keyId, JSON.stringify(scopes))
        return await findKey(rows, keyId)
      }),
    insert,
    revokeNow,
    noteUse(keyId) {
      usedAtUs.set(keyId, clock.nowUs())
    },
    async flushUses() {
      if (usedAtUs.size === 0) return
      const noted = [...usedAtUs].sort(([a], [b]) => (a < b ? -1 : 1)) // one order of locks for all processes
      usedAtUs.clear()
      await db.write((rows) =>
        rows.run(
          `UPDATE api_key AS k SET last_used_at_us = greatest(k.last_used_at_us, u.at_us)
            FROM unnest($1::text[], $2::bigint[]) AS u (key_id, at_us) WHERE k.key_id = u.key_id`,
          ...[noted.map(([keyId]) => keyId), noted.map(([, atUs]) => atUs)],
        ),
      )
    },
  }
}

/** PostgreSQL refuses a text with a zero character as a parameter: no row can have it. */
function isText(value: string): boolean {
  return !value.includes('\u0000')
}

function toRecord(row: KeyRow): KeyRecord {
  const scopes: string[] = JSON.parse(row.scopes)
  return { ...row, scopes }
}

async function findKey(rows: Rows, keyId: string): Promise<KeyRecord | undefined> {
  const row = isText(keyId) ? await rows.get<KeyRow>(FIND, keyId) : undefined
  return row === undefined ? undefined : toRecord(row)
}

/** @param found rows of one key */
function toActive(clock: TrustedClock, found: readonly SecretRow[]): ActiveKey | undefined {
  const [key] = found
  if (key === undefined || key.keyId === null || key.revokedAtUs !== null) return undefined
  if (clock.hasPassed(key.expiresAtUs)) return undefined
  const secrets = found.flatMap(({ digest, secretExpiresAtUs: expiresAtUs }) =>
    digest === null || clock.hasPassed(expiresAtUs) ? [] : [{ digest, expiresAtUs }],
  )
  const scopes: string[] = JSON.parse(key.scopes)
  return { keyId: key.keyId, keyName: key.name, scopes, secrets }
}

async function insertKey(
  rows: Rows,
  clock: TrustedClock,
  { keyId, name, scopes, secretHash, expiresAtUs }: NewKey,
  isRepeat: boolean,
): Promise<KeyRecord> {
  const made = isRepeat ? await findKey(rows, keyId) : undefined
  if (made !== undefined) return made
  const createdAtUs = clock.nowUs()
  await rows.run(
    `INSERT INTO api_key (key_id, name, scopes, created_at_us, expires_at_us) VALUES ($1, $2, $3, $4, $5)`,
    ...[keyId, name, JSON.stringify(scopes), createdAtUs, expiresAtUs],
  )
  await addSecret(rows, keyId, Buffer.from(secretHash), createdAtUs)
  return writtenRow(await findKey(rows, keyId))
}

async function addSecret(rows: Rows, keyId: string, digest: Buffer, createdAtUs: number): Promise<void> {
  const insert = 'INSERT INTO api_key_secret (digest, key_id, created_at_us) VALUES ($1, $2, $3)'
  await rows.run(insert, digest, keyId, createdAtUs)
}

/**
 * Adds a secret, ends the earlier ones and all sessions after the overlap, and removes secrets that have
 * ended. A session that a thief of the old secret opened must not outlive it.
 */
async function rotateKey(
  rows: Rows,
  clock: TrustedClock,
  given: { keyId: string; secretHash: Buffer; overlapS: number; isRepeat: boolean },
): Promise<KeyRecord | undefined> {
  const { keyId, secretHash, overlapS, isRepeat } = given
  if (!isText(keyId)) return undefined
  // rotations of a key take turns; new sessions of it wait as well
  await rows.run('SELECT 1 FROM api_key WHERE key_id = $1 FOR UPDATE', keyId)
  const key = await findKey(rows, keyId)
  if (key === undefined || key.revokedAtUs !== null) return undefined
  const has = 'SELECT 1 FROM api_key_secret WHERE digest = $1 AND key_id = $2'
  if (isRepeat && (await rows.get(has, secretHash, keyId)) !== undefined) return key
  const untilUs = clock.latestUs() + overlapS * 1_000_000
  if (overlapS === 0) {
    await rows.run('DELETE FROM api_key_secret WHERE key_id = $1', keyId)
    const close = 'UPDATE session SET closed_at_us = $2 WHERE key_id = $1 AND closed_at_us IS NULL'
    await rows.run(close, keyId, clock.nowUs())
  } else {
    const endSecrets = `UPDATE api_key_secret SET expires_at_us = $2
      WHERE key_id = $1 AND (expires_at_us IS NULL OR expires_at_us > $2)`
    await rows.run(endSecrets, keyId, untilUs)
    const endSessions = 'UPDATE session SET expires_at_us = least(expires_at_us, $2) WHERE key_id = $1'
    await rows.run(endSessions, keyId, untilUs)
  }
  await removeEndedSecrets(rows, clock, keyId)
  await addSecret(rows, keyId, secretHash, clock.nowUs())
  return key
}

async function removeEndedSecrets(rows: Rows, clock: TrustedClock, keyId: string): Promise<void> {
  const secrets = await rows.all<{ digest: Buffer; expiresAtUs: number | null }>(
    'SELECT digest, expires_at_us AS "expiresAtUs" FROM api_key_secret WHERE key_id = $1',
    keyId,
  )
  const ended = secrets.filter(({ expiresAtUs }) => clock.hasPassed(expiresAtUs)).map(({ digest }) => digest)
  if (ended.length > 0) await rows.run('DELETE FROM api_key_secret WHERE digest = ANY($1::bytea[])', ended)
}
