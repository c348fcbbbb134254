import type { Keyring } from '../keyring.js'
import type { State } from '../state.js'
import { createClock, type TrustedClock } from '../work/clock.js'
import { createAuditNotes } from './access/audit.js'
import { createKeyStore } from './access/keys.js'
import { createMetaStore } from './access/meta.js'
import { createNodeKeyRows, createNodePeers } from './access/node-keys.js'
import { rowCaches } from './access/row-cache.js'
import { createSessionStore } from './access/sessions.js'
import { statement } from './connection/database.js'
import { probeWrite } from './connection/probe-write.js'
import { openStateDb, type StateDb } from './connection/state-db.js'
import { createDiskSamples } from './disk-samples.js'
import { createAskedFeeds } from './feeds/asked.js'
import { createBundleRows } from './feeds/bundles.js'
import { createFeedRows } from './feeds/feeds.js'
import { createFeedResends } from './feeds/resends.js'
import { createFeedSenders } from './feeds/senders.js'
import { createFeedUpstreams } from './feeds/upstreams.js'
import { createFleetFiles, createInstalledFiles } from './fleet/files.js'
import { createFleetMembers } from './fleet/members.js'
import { createMembershipStore } from './fleet/membership.js'
import { createFleetProfiles } from './fleet/profiles.js'
import { createJoinTokens } from './fleet/tokens.js'
import { createIngestStore } from './ingest/store.js'
import { createModelStores } from './models/model-stores.js'
import { createModelRows } from './models/models.js'
import { createSyncControl } from './models/sync-control.js'
import { createTransferRows } from './models/transfers.js'
import { createUploadRows } from './models/uploads.js'
import { createUpstreamRows } from './models/upstreams.js'
import { createTriggerStore } from './triggers/store.js'

/** Interval of the recorded time, by which a clock that falls back is noticed after a restart. */
const RECORD_EVERY_US = 10 * 60 * 1_000_000
/** Ended sessions removed by one `housekeep`. */
const SWEEP_SESSIONS = 1000

interface OpenStateOptions {
  /** encrypts the secrets of upstreams and the keys of the node; without it reading or writing them fails */
  keyring?: Keyring
  /** time without a call that ends a session, s; 0, the default, for none */
  sessionIdleS?: number
  /** creates a missing database also where one was lost: the operator has decided so */
  acceptsLoss?: boolean
  /** wall clock in ms, for tests */
  wallMs?: () => number
}

/** State kept in a SQLite file. */
export interface SqliteState extends State {
  /** for tests, which read and damage rows */
  readonly stateDb: StateDb
}

/**
 * Opens `state.db`. Tests pass `:memory:`.
 *
 * @throws Error as `openDatabase` does
 */
export async function openState(file: string, options: OpenStateOptions = {}): Promise<SqliteState> {
  const stateDb = await openStateDb(file, options.acceptsLoss)
  const { db } = stateDb
  const meta = createMetaStore(stateDb)
  let recordedUs = await meta.lastSeenUs()
  let isServing = false // command-line programs do not keep house and leave the recorded time alone
  const clock = createClock(recordedUs, options.wallMs)
  const newCache = rowCaches(db)
  const keys = createKeyStore(stateDb, clock, newCache)
  const sessions = createSessionStore(stateDb, clock, options.sessionIdleS, newCache)

  const recordTime = async () => {
    const nowUs = clock.nowUs()
    if (!clock.isTrusted() || nowUs - recordedUs < RECORD_EVERY_US) return
    await meta.recordTime(nowUs)
    recordedUs = nowUs
  }
  return {
    stateDb,
    clock,
    meta,
    keys,
    sessions,
    audit: createAuditNotes(stateDb, () => clock.nowUs()),
    models: createModelRows(stateDb, clock),
    modelStores: createModelStores(stateDb, clock),
    upstreams: createUpstreamRows(stateDb, clock, options.keyring ?? NO_KEYRING),
    transfers: createTransferRows(stateDb, clock),
    uploads: createUploadRows(stateDb, clock),
    control: createSyncControl(stateDb),
    feeds: createFeedRows(stateDb, clock),
    feedUpstreams: createFeedUpstreams(stateDb, clock, options.keyring ?? NO_KEYRING),
    askedFeeds: createAskedFeeds(stateDb, clock),
    feedResends: createFeedResends(stateDb, clock),
    feedSenders: createFeedSenders(stateDb, clock),
    ...fleetRows(stateDb, { clock, keys, keyring: options.keyring ?? NO_KEYRING }),
    nodeKeys: createNodeKeyRows(stateDb, clock, options.keyring ?? NO_KEYRING),
    bundles: createBundleRows(stateDb, clock),
    nodePeers: createNodePeers(stateDb, clock),
    ingest: createIngestStore(stateDb),
    triggers: createTriggerStore(stateDb),
    diskSamples: createDiskSamples(stateDb),
    async check() {
      statement(db, 'SELECT count(*) FROM sqlite_schema').get() // read from the file, not from a cache of this process
    },
    probeWrite: async () => probeWrite(db),
    async housekeep(onSessionEnded = async () => true) {
      isServing = true
      await stateDb.reserve.refill()
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
      if (!db.open) return
      await keys.flushUses()
      await sessions.flushUses(true)
      if (isServing && clock.isTrusted()) await meta.recordTime(clock.nowUs())
      await stateDb.writes.settled()
      db.close()
    },
  }
}

/** Rows of both sides of a fleet. */
function fleetRows(
  stateDb: StateDb,
  {
    clock,
    keys,
    keyring,
  }: { clock: TrustedClock; keys: ReturnType<typeof createKeyStore>; keyring: Keyring },
) {
  return {
    fleetTokens: createJoinTokens(stateDb, keys),
    fleetProfiles: createFleetProfiles(stateDb, clock),
    fleetFiles: createFleetFiles(stateDb, clock),
    installedFiles: createInstalledFiles(stateDb),
    fleetMembers: createFleetMembers(stateDb, clock, keys),
    membership: createMembershipStore(stateDb, clock, keyring),
  }
}

/** Keyring of a state that was opened without a key. */
const NO_KEYRING: Keyring = {
  encrypt: missingKey,
  decrypt: missingKey,
  read: missingKey,
  fingerprint: '',
}

function missingKey(): never {
  throw new Error('the state was opened without a key for encrypted values')
}
