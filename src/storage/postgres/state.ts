import type { Keyring } from '../keyring.js'
import type { State } from '../state.js'
import { createClock } from '../work/clock.js'
import { createAuditNotes } from './access/audit.js'
import { createKeyStore } from './access/keys.js'
import { createMetaStore } from './access/meta.js'
import { createNodeKeyRows, createNodePeers } from './access/node-keys.js'
import { createSessionStore } from './access/sessions.js'
import type { PostgresDb } from './connection/database.js'
import { requireMigrated } from './connection/migrate.js'
import { createAskedFeeds } from './feeds/asked.js'
import { createBundleRows } from './feeds/bundles.js'
import { createFeedRows } from './feeds/feeds.js'
import { createFeedResends } from './feeds/resends.js'
import { createFeedSenders } from './feeds/senders.js'
import { createFeedUpstreams } from './feeds/upstreams.js'
import { createFleetFiles } from './fleet/files.js'
import { createFleetMembers } from './fleet/members.js'
import { createFleetProfiles } from './fleet/profiles.js'
import { createJoinTokens } from './fleet/tokens.js'
import { createModelStores } from './models/model-stores.js'
import { createModelRows } from './models/models.js'
import { createSyncControl } from './models/sync-control.js'
import { createTransferRows } from './models/transfers.js'
import { createUploadRows } from './models/uploads.js'
import { createUpstreamRows } from './models/upstreams.js'
import { MIGRATIONS } from './schema/migrations.js'

/** Interval of the recorded time, by which a clock that falls back is noticed after a restart. */
const RECORD_EVERY_US = 10 * 60 * 1_000_000
/** Ended sessions removed by one `housekeep`. */
const SWEEP_SESSIONS = 1000

export interface PostgresStateOptions {
  /** encrypts the private keys of the node and the secrets of upstreams; the same for all processes of a hub */
  readonly keyring: Keyring
  /** time without a call that ends a session, s; 0, the default, for none */
  readonly sessionIdleS?: number
  /** wall clock in ms, for tests */
  readonly wallMs?: () => number
}

/**
 * Stores that a hub on PostgreSQL does not have: it joins no other hub and gets no profile, modules and messages of
 * brokers are things of gateways, and its bytes are not on a disk of its own.
 */
type Missing = 'membership' | 'installedFiles' | 'ingest' | 'triggers' | 'diskSamples'

/** State of a hub in PostgreSQL. Any number of processes may have it open. */
export type PostgresState = Omit<State, Missing>

/** Opens the state. The database is closed with it. @throws Error for a schema of another version */
export async function openPostgresState(
  db: PostgresDb,
  { keyring, sessionIdleS, wallMs }: PostgresStateOptions,
): Promise<PostgresState> {
  await requireMigrated(db, MIGRATIONS)
  const meta = createMetaStore(db)
  let recordedUs = await meta.lastSeenUs()
  let isServing = false // command-line programs do not keep house and leave the recorded time alone
  let isOpen = true
  const clock = createClock(recordedUs, wallMs)
  const keys = createKeyStore(db, clock)
  const sessions = createSessionStore(db, clock, sessionIdleS)
  const recordTime = async () => {
    const nowUs = clock.nowUs()
    if (!clock.isTrusted() || nowUs - recordedUs < RECORD_EVERY_US) return
    await meta.recordTime(nowUs)
    recordedUs = nowUs
  }
  return {
    clock,
    meta,
    keys,
    sessions,
    audit: createAuditNotes(db, () => clock.nowUs()),
    nodeKeys: createNodeKeyRows(db, clock, keyring),
    nodePeers: createNodePeers(db, clock),
    fleetTokens: createJoinTokens(db, keys),
    fleetProfiles: createFleetProfiles(db, clock),
    fleetMembers: createFleetMembers(db, clock, keys),
    fleetFiles: createFleetFiles(db, clock),
    feeds: createFeedRows(db, clock),
    feedUpstreams: createFeedUpstreams(db, clock, keyring),
    feedSenders: createFeedSenders(db, clock),
    askedFeeds: createAskedFeeds(db, clock),
    feedResends: createFeedResends(db, clock),
    bundles: createBundleRows(db, clock),
    models: createModelRows(db, clock),
    modelStores: createModelStores(db, clock),
    upstreams: createUpstreamRows(db, clock, keyring),
    transfers: createTransferRows(db, clock),
    uploads: createUploadRows(db, clock),
    control: createSyncControl(db),
    async check() {
      await db.read.get('SELECT 1')
    },
    probeWrite: () => db.write(async () => undefined), // commits, which waits for the standby
    async housekeep(onSessionEnded = async () => true) {
      isServing = true
      await keys.flushUses()
      await sessions.flushUses()
      await recordTime()
      const gone: string[] = []
      for (const sessionId of await sessions.listEnded(SWEEP_SESSIONS)) {
        if (await onSessionEnded(sessionId)) gone.push(sessionId)
      }
      if (gone.length > 0) await sessions.remove(gone)
    },
    async close() {
      if (!isOpen) return
      isOpen = false
      try {
        await keys.flushUses()
        await sessions.flushUses(true)
        if (isServing && clock.isTrusted()) await meta.recordTime(clock.nowUs())
      } finally {
        await db.close()
      }
    },
  }
}
