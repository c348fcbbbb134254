import type { AuditNotes } from './access/audit.js'
import type { KeyStore } from './access/keys.js'
import type { SessionStore } from './access/sessions.js'
import type { DiskSamples } from './disk-samples.js'
import type { BundleRows } from './exchange/bundles.js'
import type { FeedResends } from './exchange/feed-resends.js'
import type { AskedFeeds, FeedRows, FeedSenders, FeedUpstreams } from './exchange/feeds.js'
import type { FleetFiles, FleetMembers, FleetProfiles, JoinTokens } from './exchange/fleet.js'
import type { FleetOverview } from './exchange/fleet-overview.js'
import type { InstalledFiles, MembershipStore } from './exchange/membership.js'
import type { NodeKeyRows, NodePeers } from './exchange/node-keys.js'
import type { IngestStore } from './ingest.js'
import type { MetaStore } from './meta.js'
import type { ModelStores } from './models/model-stores.js'
import type { ModelRows } from './models/models.js'
import type { SyncControl } from './models/sync-control.js'
import type { TransferRows } from './models/transfers.js'
import type { UploadRows } from './models/uploads.js'
import type { UpstreamRows } from './models/upstreams.js'
import type { TriggerStore } from './triggers.js'
import type { TrustedClock } from './work/clock.js'

/** Rows of the model store and the outbox. */
interface ModelTables {
  readonly models: ModelRows
  readonly modelStores: ModelStores
  readonly upstreams: UpstreamRows
  readonly transfers: TransferRows
  readonly uploads: UploadRows
  readonly control: SyncControl
  readonly feeds: FeedRows
  readonly feedUpstreams: FeedUpstreams
  readonly feedSenders: FeedSenders
  readonly askedFeeds: AskedFeeds
  readonly feedResends: FeedResends
}

/** State of a gateway: its identity, the callers it knows, its models and its outbox. */
export interface State extends ModelTables {
  readonly clock: TrustedClock
  readonly meta: MetaStore
  readonly keys: KeyStore
  readonly sessions: SessionStore
  readonly audit: AuditNotes
  readonly nodeKeys: NodeKeyRows
  readonly nodePeers: NodePeers
  readonly fleetTokens: JoinTokens
  readonly fleetProfiles: FleetProfiles
  readonly fleetMembers: FleetMembers & FleetOverview
  readonly fleetFiles: FleetFiles
  /** what profiles installed on this gateway */
  readonly installedFiles: InstalledFiles
  readonly membership: MembershipStore
  readonly bundles: BundleRows
  readonly ingest: IngestStore
  readonly triggers: TriggerStore
  readonly diskSamples: DiskSamples
  /** Reads one page of the database. @throws Error if it cannot be read */
  check(): Promise<void>
  /** Commits a page as it is, unless another program writes. @throws Error if it cannot be written */
  probeWrite(): Promise<void>
  /**
   * Writes the last uses of keys and sessions, records the time, and removes ended sessions. Called about once a minute.
   *
   * @param onSessionEnded removes whatever belongs to a session before its row; false keeps the row for the
   *   next call
   */
  housekeep(onSessionEnded?: (sessionId: string) => Promise<boolean>): Promise<void>
  /** Writes pending uses of keys and sessions and closes the database. A second call does nothing. */
  close(): Promise<void>
}
