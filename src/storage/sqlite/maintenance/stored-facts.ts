import { existsSync } from 'node:fs'
import path from 'node:path'
import { FEED_SECRET_CONTEXT } from '../../exchange/feeds.js'
import { MEMBERSHIP_SECRET_CONTEXT } from '../../exchange/membership.js'
import { type NodeKeyUse, nodeKeyContext } from '../../exchange/node-keys.js'
import { computeSums } from '../../formats/checksum.js'
import type { Keyring } from '../../keyring.js'
import type { StoredFacts, StoredKey, StoredSecrets, StoredUpstream } from '../../maintenance.js'
import { UPSTREAM_SECRET_CONTEXT } from '../../models/upstreams.js'
import { createCitationReader } from '../citations/store.js'
import { openDataReader } from '../connection/data-db.js'
import type { Db } from '../connection/database.js'
import { openPlain } from '../connection/snapshot.js'
import { usedDigests } from '../tables/files.js'
import { readBrokers, readBuses } from './broker-facts.js'
import { readOpenBundles } from './bundle-facts.js'
import { hasTable, withDatabase } from './database-facts.js'
import { readDiskSamples, reusableBytes } from './disk-facts.js'
import { hasEncryptedValues } from './encrypted-values.js'
import { readFeeds } from './feed-facts.js'
import { readFleet } from './fleet-facts.js'
import { readRetention } from './retention-facts.js'
import { readTriggers } from './trigger-facts.js'

/** Facts from the rows of `state.db` and `data.db`. */
export function createStoredFacts(): StoredFacts {
  return {
    nodeId: async (dir) => readMeta(dir, 'node_id'),
    lastSeenUs: async (dir) => Number(readMeta(dir, 'last_seen_us') ?? 0),
    firstKeyAtUs: async (dir) => readNumber(dir, 'SELECT min(created_at_us) FROM api_key'),
    noted: async (dir, name) => readMeta(dir, name),
    hasEncrypted: async (dir) => hasEncryptedValues(dir),
    keys: async (dir) => withDatabase(dir, 'state.db', readKeys),
    models: async (dir) =>
      withDatabase(dir, 'state.db', (db) =>
        db
          .prepare<[], { sha256: string; sizeBytes: number; isDamaged: number }>(
            `SELECT sha256, max(size_bytes) AS sizeBytes, max(damaged_at_us IS NOT NULL) AS isDamaged
             FROM model GROUP BY sha256 ORDER BY sha256`,
          )
          .all()
          .map((row) => ({ ...row, isDamaged: row.isDamaged === 1 })),
      ),
    quarantinedModels: async (dir) =>
      readNumber(dir, 'SELECT count(*) FROM model WHERE quarantined IS NOT NULL'),
    fileDigests: async (dir) => withDatabase(dir, 'data.db', (db) => [...new Set(usedDigests(db))].sort()),
    brokers: async (dir, sinceUs) => withDatabase(dir, 'state.db', (db) => readBrokers(db, sinceUs)),
    buses: async (dir, sinceUs) => withDatabase(dir, 'state.db', (db) => readBuses(db, sinceUs)),
    triggers: async (dir, sinceUs) => withDatabase(dir, 'state.db', (db) => readTriggers(db, sinceUs)),
    retention: async (dir) =>
      existsSync(path.join(dir, 'data.db')) ? withDatabase(dir, 'data.db', readRetention) : [],
    diskSamples: async (dir) => ({
      samples: withDatabase(dir, 'state.db', readDiskSamples),
      reusableBytes: existsSync(path.join(dir, 'data.db')) ? withDatabase(dir, 'data.db', reusableBytes) : 0,
    }),
    openBundles: async (dir) => withDatabase(dir, 'state.db', readOpenBundles),
    fleet: async (dir, silentBeforeUs, nowUs) =>
      withDatabase(dir, 'state.db', (db) => readFleet(db, silentBeforeUs, nowUs)),
    feeds: async (dir) => withDatabase(dir, 'state.db', readFeeds),
    upstreams: async (dir, keyring) => withDatabase(dir, 'state.db', (db) => readUpstreams(db, keyring)),
    secrets: async (dir, keyring) => withDatabase(dir, 'state.db', (db) => readSecrets(db, keyring)),
    checkCitations,
    async restartUnfinishedUploads(dir) {
      const db = openPlain(path.join(dir, 'state.db'), false)
      try {
        db.prepare('UPDATE upload SET offset_bytes = 0 WHERE model_id IS NULL').run()
      } finally {
        db.close()
      }
    },
    async beginEpoch(dir, nowUs) {
      const db = openPlain(path.join(dir, 'data.db'), false)
      try {
        // a backup of an earlier schema has none: its migration makes the first one
        if (hasTable(db, 'feed_epoch'))
          db.prepare('UPDATE feed_epoch SET epoch = max(epoch + 1, ?)').run(nowUs)
      } finally {
        db.close()
      }
    },
  }
}

function readMeta(dir: string, name: string): string | undefined {
  return withDatabase(dir, 'state.db', (db) =>
    db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(name),
  )
}

/** @returns 0 where the query gives NULL */
function readNumber(dir: string, sql: string): number {
  return withDatabase(dir, 'state.db', (db) => Number(db.prepare(sql).pluck().get() ?? 0))
}

function readKeys(db: Db): StoredKey[] {
  return db
    .prepare<[], Omit<StoredKey, 'scopes'> & { scopes: string }>(
      `SELECT key_id AS keyId, name, scopes, expires_at_us AS expiresAtUs, (SELECT max(s.created_at_us)
         FROM api_key_secret s WHERE s.key_id = api_key.key_id) AS secretAtUs
       FROM api_key WHERE revoked_at_us IS NULL`,
    )
    .all()
    .map((row) => ({ ...row, scopes: JSON.parse(row.scopes) }))
}

interface UpstreamRow extends Omit<StoredUpstream, 'secret' | 'isEnabled'> {
  secret: Uint8Array
  isEnabled: number
}

function readUpstreams(db: Db, keyring: Keyring | undefined): StoredUpstream[] {
  const rows = db
    .prepare<[], UpstreamRow>(
      `SELECT u.endpoint, u.apikey, u.secret, u.enabled AS isEnabled,
       count(t.transfer_id) FILTER (WHERE t.state IN ('queued', 'sending')) AS waiting,
       count(t.transfer_id) FILTER (WHERE t.state = 'failed') AS failed,
       min(t.created_at_us) FILTER (WHERE t.state IN ('queued', 'sending')) AS oldestWaitingUs,
       max(t.last_error) FILTER (WHERE t.state IN ('queued', 'failed')) AS lastError
       FROM upstream u LEFT JOIN transfer t USING (upstream_id) GROUP BY u.upstream_id ORDER BY u.upstream_id`,
    )
    .all()
  return rows.map((row) => ({
    ...row,
    secret: decrypted(row.secret, keyring),
    isEnabled: row.isEnabled === 1,
  }))
}

/** The cipher's error is dropped: `undefined` says all that a caller can act on. */
function decrypted(stored: Uint8Array, keyring: Keyring | undefined): string | undefined {
  try {
    return keyring?.decrypt(stored, UPSTREAM_SECRET_CONTEXT)
  } catch {
    return undefined
  }
}

function readSecrets(db: Db, keyring: Keyring | undefined): StoredSecrets {
  const read = (sql: string) => db.prepare<[], Buffer>(sql).pluck().all()
  const upstreams = read('SELECT secret FROM upstream')
  const feeds = hasTable(db, 'sync_upstream') ? read('SELECT secret FROM sync_upstream') : []
  const joined = hasTable(db, 'fleet_membership')
    ? read('SELECT secret FROM fleet_membership WHERE secret IS NOT NULL')
    : []
  const nodeKeys = hasTable(db, 'node_key')
    ? db.prepare<[], NodeKeyRow>('SELECT use, private_key FROM node_key').all()
    : []
  const sealed = [...upstreams, ...feeds, ...joined, ...nodeKeys.map((row) => row.private_key)]
  const digests = [...read('SELECT digest FROM api_key_secret'), ...read('SELECT token_hash FROM session')]
  if (keyring === undefined) return { bytes: [...digests, ...sealed], texts: [] }
  const opened = nodeKeys.map((row) => keyring.decrypt(row.private_key, nodeKeyContext(row.use)))
  return {
    bytes: [...digests, ...sealed, ...opened.map((text) => Buffer.from(text, 'base64url'))],
    texts: [
      ...upstreams.map((stored) => keyring.decrypt(stored, UPSTREAM_SECRET_CONTEXT)),
      ...feeds.map((stored) => keyring.decrypt(stored, FEED_SECRET_CONTEXT)),
      ...joined.map((stored) => keyring.decrypt(stored, MEMBERSHIP_SECRET_CONTEXT)),
      ...opened,
    ],
  }
}

interface NodeKeyRow {
  use: NodeKeyUse
  private_key: Buffer
}

async function* checkCitations(dir: string, signal?: AbortSignal) {
  const db = openDataReader(path.join(dir, 'data.db'))
  try {
    for (const citation of await createCitationReader(db).all()) {
      signal?.throwIfAborted()
      const { longForm, checksum } = citation.info
      if (checksum === null) continue // not computed yet: the gateway that serves the database does it
      yield { longForm, found: (await computeSums(citation)).checksum, expected: checksum }
    }
  } finally {
    db.close()
  }
}
