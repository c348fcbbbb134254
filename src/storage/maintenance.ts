import type { FleetSummary } from './exchange/fleet.js'
import type { InstalledFile, ProfileItem } from './exchange/membership.js'
import type { BrokerStatus, NotedBus } from './ingest.js'
import type { Keyring } from './keyring.js'
import type { SweepLease } from './work/sweep-lease.js'

/**
 * Maintenance of a gateway's databases: copies, checks and facts, for backups, `doctor` and command lines.
 *
 * `dir` is a folder that holds databases: the data directory of a gateway, which may be running, or a folder
 * of a backup. Databases are opened for one call and closed again; except where a function says so, nothing
 * is written and no schema is migrated.
 */
export interface Maintenance {
  readonly databases: Databases
  readonly facts: StoredFacts
  readonly locks: DirectoryLocks
}

/**
 * `state.db` holds keys, sessions, models, upstreams and transfers; `data.db` holds tables, datasets and
 * citations. Manifests of backups record these names.
 */
export type DatabaseName = 'state.db' | 'data.db'

/** Schema version and size of a database, without the meaning of its tables. */
export interface DatabaseFacts {
  schemaVersion: number
  /** number of rows by table */
  rows: Record<string, number>
}

export interface CopyOptions {
  readonly signal?: AbortSignal | undefined
  /** reading speed, bytes per second; 0 for no limit. With a limit the calling thread sleeps between reads */
  readonly bytesPerSecond: number
  onProgress?(doneBytes: number, totalBytes: number): void
}

/** Copies of databases, and checks of a database as a whole. */
export interface Databases {
  /** schema versions that this program writes; it reads no other without a migration */
  readonly knownVersions: Readonly<Record<DatabaseName, number>>
  /**
   * Reports the databases that are missing although other files show that they existed: one line each, with
   * what to do.
   */
  lost(dir: string): Promise<string[]>
  /** names of the databases that exist in `dir`, `state.db` first */
  list(dir: string): Promise<DatabaseName[]>
  /**
   * True where the file system is read-only, as worn disks become; false where only the permission is
   * missing.
   */
  isReadOnlyDisk(dir: string): Promise<boolean>
  /**
   * Copies databases as they are at one instant, while other connections, of this and other processes, go on
   * writing. The copies are synced.
   *
   * @param to folder that receives the copies, under the same names
   * @throws AppError DISK_FULL, CANCELLED, BUSY
   */
  copy(dir: string, names: readonly DatabaseName[], to: string, options: CopyOptions): Promise<void>
  schemaVersion(dir: string, name: DatabaseName): Promise<number>
  /** Counts the rows of every table: reads the whole database. */
  facts(dir: string, name: DatabaseName): Promise<DatabaseFacts>
  /**
   * Checks the structure of a database.
   *
   * @param depth `quick` leaves out the slowest part, the comparison of indexes with their rows
   * @returns one line per fault, at most 20
   */
  check(dir: string, name: DatabaseName, depth: 'quick' | 'full'): Promise<string[]>
  /** Bytes on disk: of the database, and of the log of changes that have not been moved into it yet. */
  sizes(dir: string, name: DatabaseName): Promise<{ mainBytes: number; logBytes: number }>
}

/** Bytes that rows of models refer to. */
export interface NamedModel {
  sha256: string
  sizeBytes: number
  /** true when the gateway found the bytes damaged and quarantined them */
  isDamaged: boolean
}

/** An API key that has not been revoked. */
export interface StoredKey {
  keyId: string
  name: string
  scopes: string[]
  /** null when it never expires */
  expiresAtUs: number | null
  /** time of its newest secret, µs; null for none */
  secretAtUs: number | null
}

/** Feed as it was last noted: up to ten seconds old while the gateway runs. */
export interface StoredFeed {
  /** name of the table, or long form of the citation */
  readonly name: string
  readonly upstream: string
  readonly isEnabled: boolean
  /** why it goes on only after `sync.update_feed`; null while it goes on */
  readonly stopped: string | null
  readonly lastError: string | null
  /** when the oldest row not sent was noticed, µs UTC; null when none waits */
  readonly behindSinceUs: number | null
  /** rows that the receiver refused for good */
  readonly setAside: number
}

/** Rule by which rows of a table go. */
export interface StoredRetention {
  readonly dataName: string
  readonly ageDays: number | null
  readonly dropsUnsent: boolean
  /** time by which the age of the oldest row counts, µs UTC; null for none */
  readonly oldestUs: number | null
}

/** An upstream with the state of its transfers. */
export interface StoredUpstream {
  endpoint: string
  apikey: string
  /** undefined when it cannot be decrypted with the key file */
  secret: string | undefined
  isEnabled: boolean
  /** transfers that are queued or being sent */
  waiting: number
  /** transfers that are no longer retried */
  failed: number
  /** creation time of the oldest waiting transfer, µs; null when none waits */
  oldestWaitingUs: number | null
  lastError: string | null
}

/** A citation whose rows were read again. */
interface CheckedCitation {
  longForm: string
  /** SHA-256 over the cited rows, hex */
  found: string
  expected: string
}

/** Secrets as they are stored, and in clear text. Never log them. */
export interface StoredSecrets {
  bytes: Uint8Array[]
  texts: string[]
}

/** A trigger of modules. */
export interface StoredTrigger {
  readonly name: string
  readonly isEnabled: boolean
  /** last run that has begun; null for none */
  readonly last: { readonly atUs: number; readonly state: string; readonly message: string | null } | null
  /** starts */
  readonly missed: number
}

/** Notes of the ingest of messages about a broker. */
export interface StoredBroker {
  readonly name: string
  /** null before the first note */
  readonly status: BrokerStatus | null
  /** µs UTC; null before the first note */
  readonly notedAtUs: number | null
  /** messages that could not be stored since an instant, of those that are kept */
  readonly recentRejects: number
  /** why the last one of them could not be stored; null for none */
  readonly lastReason: string | null
}

/** Notes about a Modbus bus. */
export interface StoredBus extends NotedBus {
  /** readings that could not be stored since an instant, of those that are kept */
  readonly recentRejects: number
  /** why the last one of them could not be stored; null for none */
  readonly lastReason: string | null
}

/** Bundles for a gateway whose content nobody has acknowledged, by any way. */
export interface OpenBundles {
  /** name of the gateway; its node id when it is not known any more */
  readonly node: string
  readonly count: number
  readonly oldestUs: number
}

/** Membership of the gateway, as it was last noted. */
export interface StoredMembership {
  readonly hubUrl: string
  readonly state: 'joining' | 'member' | 'refused'
  readonly reason: string | null
  /** 0 before the hub has answered */
  readonly joinedAtUs: number
  /** last answer of the hub since it joined; null for none */
  readonly contactUs: number | null
  /** version of the profile that the hub wants; null before it has answered */
  readonly wanted: number | null
  /** version in force; null for none */
  readonly applied: number | null
  readonly putBack: { readonly version: number; readonly reason: string } | null
  /** parts of the profile that cannot be applied */
  readonly refusedItems: readonly string[]
  /** maps and modules of a profile that are not here yet */
  readonly waitingFiles: readonly Pick<ProfileItem, 'item' | 'reason'>[]
  /** maps and modules that profiles have installed */
  readonly installedFiles: readonly Pick<InstalledFile, 'kind' | 'name'>[]
  /** release of the profile that does not run; null for none */
  readonly release: Pick<ProfileItem, 'state' | 'reason'> | null
}

/** Roles of the gateway in fleets: a member of one, and a hub. */
export interface StoredFleet {
  /** null for none, and when it left */
  readonly membership: StoredMembership | null
  readonly gateways: FleetSummary
  readonly tokens: { readonly active: number; readonly usedUp: number; readonly expired: number }
}

/** Facts read from the rows of a gateway's databases. */
export interface StoredFacts {
  /** UUID of the node; undefined before `fieldgate init` */
  nodeId(dir: string): Promise<string | undefined>
  /** latest time that the gateway recorded, µs; 0 when there is none */
  lastSeenUs(dir: string): Promise<number>
  /** creation time of the oldest API key, which the first start makes, µs; 0 when there is none */
  firstKeyAtUs(dir: string): Promise<number>
  /** value that another room noted under a name; undefined when there is none */
  noted(dir: string, name: string): Promise<string | undefined>
  keys(dir: string): Promise<StoredKey[]>
  /** true when secrets of upstreams, keys of the node, or rows of tables with encrypted columns are stored */
  hasEncrypted(dir: string): Promise<boolean>
  /** in the order of their digests */
  models(dir: string): Promise<NamedModel[]>
  /** number of model rows that are damaged, and hidden for that reason */
  quarantinedModels(dir: string): Promise<number>
  /**
   * Digests of the files that table rows, and former rows seen by citations, refer to: each once, sorted.
   * Requires the known schema version; reads every file column.
   */
  fileDigests(dir: string): Promise<string[]>
  /** Returns the triggers of modules, with the starts that were missed since an instant. */
  triggers(dir: string, sinceUs: number): Promise<StoredTrigger[]>
  /** Returns samples of the free space, in the order of their time, and the bytes within data.db that rows can use. */
  diskSamples(dir: string): Promise<{ samples: { atUs: number; freeBytes: number }[]; reusableBytes: number }>
  /** Returns the rules by which rows of tables go, ordered by table. */
  retention(dir: string): Promise<StoredRetention[]>
  /** Returns the brokers by name, with the messages that could not be stored since an instant. */
  brokers(dir: string, sinceUs: number): Promise<StoredBroker[]>
  /** Returns the Modbus buses by name, with the readings that could not be stored since an instant. */
  buses(dir: string, sinceUs: number): Promise<StoredBus[]>
  /** Returns the bundles whose content nobody has acknowledged, by gateway. */
  openBundles(dir: string): Promise<OpenBundles[]>
  /** Returns the membership, and what a hub has. @param silentBeforeUs as of `FleetMembers.summary` */
  fleet(dir: string, silentBeforeUs: number, nowUs: number): Promise<StoredFleet>
  /** Returns the feeds, oldest first. */
  feeds(dir: string): Promise<StoredFeed[]>
  /** @param keyring decrypts the secrets; undefined when the key file cannot be read */
  upstreams(dir: string, keyring: Keyring | undefined): Promise<StoredUpstream[]>
  /**
   * Every stored secret, for masking: digests of key secrets and session tokens, the secrets of
   * upstreams, and the private keys of the node.
   *
   * @throws Error when `keyring` does not decrypt a secret
   */
  secrets(dir: string, keyring: Keyring | undefined): Promise<StoredSecrets>
  /**
   * Reads the rows of every citation with a recorded checksum, and computes the checksum again.
   * Requires the known schema version.
   */
  checkCitations(dir: string, signal?: AbortSignal): AsyncIterable<CheckedCitation>
  /** Writes: sets unfinished uploads back to their beginning, because their bytes are in no backup. */
  restartUnfinishedUploads(dir: string): Promise<void>
  /**
   * Writes: begins a new incarnation of the change numbers of tables, because a restored database gives
   * numbers again that receivers of feeds have seen.
   *
   * @param nowUs wall clock, µs UTC
   */
  beginEpoch(dir: string, nowUs: number): Promise<void>
}

/** A directory that only this process uses. */
export interface DirectoryLock {
  release(): Promise<void>
}

/** Result of an attempt to lock a directory: the lock, or the reason and its cause. */
type LockAttempt =
  | { readonly lock: DirectoryLock }
  | { readonly fault: 'held' | 'unwritable'; readonly cause: unknown }

/** Locks between processes. The system drops them when the process ends. */
export interface DirectoryLocks {
  /** Takes a directory for this process. The lock's file is created when it is missing. */
  lock(dir: string): Promise<LockAttempt>
  /** True when another process holds the lock of a directory, as a running gateway does. */
  isLocked(dir: string): Promise<boolean>
  /**
   * Lease that decides between a backup, which needs the bytes of a directory, and programs that remove
   * bytes.
   */
  sweepLease(dir: string): SweepLease
}

/**
 * Why a database of a schema version cannot be served by this program; null when it can, if need be after a
 * migration.
 */
export function newerSchemaFault(name: DatabaseName, version: number, known: number): string | null {
  if (version <= known) return null
  return `${name} has schema version ${version}, this Fieldgate reads versions up to ${known}: install a newer Fieldgate`
}
