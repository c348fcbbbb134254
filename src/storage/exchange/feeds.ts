import type { Stored } from '../columns/column-type.js'
import type { LoaderTable, TableRef } from '../tables.js'

/** Context of the encrypted secret: another encrypted value in its place cannot be decrypted. */
export const FEED_SECRET_CONTEXT = 'sync_upstream.secret'

/** Node to which feeds of tables go. Contains the secret in the clear: never log it. */
export interface FeedUpstream {
  readonly name: string
  /** base URL; empty for a node that is reached by bundles alone */
  readonly endpoint: string
  readonly apikey: string
  /** null when it was encrypted with another key than that of the key file */
  readonly secret: string | null
  readonly createdAtUs: number
}

/** Upstreams of feeds, by name. Secrets are encrypted at rest. */
export interface FeedUpstreams {
  /** @returns undefined when the name is taken */
  create(
    upstream: Omit<FeedUpstream, 'createdAtUs' | 'secret'> & { secret: string },
  ): Promise<FeedUpstream | undefined>
  find(name: string): Promise<FeedUpstream | undefined>
  /** Returns all, ordered by name. */
  list(): Promise<FeedUpstream[]>
  /** Removes an upstream that no feed uses. @returns undefined for an unknown name */
  remove(name: string): Promise<FeedUpstream | undefined>
}

/** Settings of a feed by the operator. */
export interface FeedSettings {
  /** unchecked condition; null for every row */
  readonly conds: unknown
  /** larger goes first */
  readonly priority: number
  /** 0 for no limit of its own */
  readonly maxBytesPerSecond: number
  /** as `sync.windows`; empty for any time */
  readonly windows: readonly string[]
  readonly isEnabled: boolean
}

/** Beginning of a feed. */
export interface FeedStart {
  /** UUID of the table for which the numbers below hold: a table made anew is sent from its first row */
  readonly tableUuid: string
  /** rows that changed later travel */
  readonly afterChange: number
  /** rows that had changed by `afterChange` travel when they start at or after it, µs UTC; null for none */
  readonly fromUs: number | null
  readonly untilChange: number
  /** long form of a citation that is sent in place of a table; its rows are numbered from 0 */
  readonly citation?: string
}

/** Progress of a feed as it was last noted. The cursor of the receiver wins. */
export interface FeedProgress {
  /** UUID of the table for which the numbers below hold */
  readonly tableUuid: string
  /** incarnation of the change numbers for which the numbers below hold; absent where it was not noted */
  readonly epoch?: number | undefined
  /** last change that the receiver has */
  readonly cursor: number
  /** last change that was looked at: up to it no row is missing at the receiver */
  readonly scanned: number
  readonly rowsSent: number
  readonly bytesSent: number
  /** of the last batches, bytes per second; 0 when none was measured */
  readonly bytesPerSecond: number
  /** when the oldest row not sent was noticed, µs UTC; null when none waits */
  readonly behindSinceUs: number | null
  readonly lastError: string | null
  /** of a feed down: last change of the table at the upstream, as it last answered */
  readonly upstreamLast?: number
  /** why the feed goes on only after `update_feed`; null while it goes on */
  readonly stopped: string | null
}

/** Way of a feed's rows, as seen from this node. */
export type FeedDirection = 'up' | 'down'

export interface FeedRecord extends FeedSettings {
  /** UUID */
  readonly feedId: string
  readonly dataName: string
  /** `up`: rows go to the upstream; `down`: they are asked for there */
  readonly direction: FeedDirection
  readonly upstream: string
  /** null for all columns */
  readonly columns: readonly string[] | null
  /** text of `from` as it was given */
  readonly from: string
  readonly start: FeedStart
  readonly progress: FeedProgress
  readonly createdAtUs: number
}

/** A row that a receiver refused for good. */
export interface SetAsideRow {
  readonly change: number
  /** values of the unique key, as JSON text */
  readonly rowKey: string
  readonly reason: string
  readonly atUs: number
}

/** Feeds of this node, to others and from them. */
export interface FeedRows {
  /** @returns undefined when the table has such a feed with the upstream, or the upstream is unknown */
  create(feed: Omit<FeedRecord, 'progress' | 'createdAtUs'>): Promise<FeedRecord | undefined>
  find(feedId: string): Promise<FeedRecord | undefined>
  /** Returns all in the order of their creation. */
  list(): Promise<FeedRecord[]>
  /** Changes settings and ends a stop. @returns undefined for an unknown id */
  update(feedId: string, change: Partial<FeedSettings>): Promise<FeedRecord | undefined>
  remove(feedId: string): Promise<FeedRecord | undefined>
  /** Notes where a feed down begins, as the upstream has answered; of a removed feed nothing. */
  noteStart(feedId: string, start: FeedStart): Promise<void>
  /** Notes progress; of a removed feed nothing. */
  noteProgress(feedId: string, progress: FeedProgress): Promise<void>
  setAside(feedId: string, rows: readonly Omit<SetAsideRow, 'atUs'>[]): Promise<void>
  /** Returns the newest first. */
  listSetAside(feedId: string, limit: number): Promise<SetAsideRow[]>
  countSetAside(feedId: string): Promise<number>
  /** Returns the change numbers of all rows that were set aside. */
  changesSetAside(feedId: string): Promise<number[]>
  /** Forgets rows that were set aside: the receiver has taken them. */
  forgetAside(feedId: string, changes: readonly number[]): Promise<void>
}

/** Which node sends with which key. */
export interface FeedSenders {
  /**
   * Returns the node to which a key is bound, undefined for none, and another key that may sign in and is
   * bound to `nodeId`.
   */
  find(keyId: string, nodeId: string): Promise<{ nodeId: string | undefined; otherKeyId: string | null }>
  /** Binds a key to a node, at its first use; of a bound key nothing. */
  bind(keyId: string, nodeId: string): Promise<void>
}

/** A feed that another node asks for. */
export interface AskedFeed {
  /** UUID of the feed there */
  readonly feedId: string
  /** UUID of the node that asks */
  readonly node: string
  readonly dataName: string
  /** null for all columns */
  readonly columns: readonly string[] | null
  /** condition, checked when it was asked for; null for every row */
  readonly conds: unknown
  readonly start: FeedStart
}

/** Where a node has a feed that it asks for, as it told last. */
export interface ToldCursor {
  /** UUID of the table here */
  readonly table: string
  readonly epoch: number
  /** last change that it has */
  readonly cursor: number
}

/** Feeds that other nodes ask for, and the tables that their keys may read and send. */
export interface AskedFeeds {
  /**
   * Keeps what a key asks for, in place of an earlier form. A key has at most 1,000 feeds; beyond them the
   * one that was asked for longest ago is forgotten, and must be asked for again.
   */
  keep(keyId: string, feed: AskedFeed): Promise<void>
  find(keyId: string, feedId: string): Promise<AskedFeed | undefined>
  /** Returns what a node asks for, with the key that asks; in the order of the feeds' ids. */
  ofNode(node: string): Promise<{ keyId: string; feed: AskedFeed; told: ToldCursor | null }[]>
  /** Returns what keys that are not revoked ask for of a table, in the order of the feeds' ids. */
  ofTable(dataName: string): Promise<{ feed: AskedFeed; told: ToldCursor | null }[]>
  /** Notes where a node has a feed that it asks for. */
  noteTold(node: string, feedId: string, told: ToldCursor): Promise<void>
  /** Allows a key these tables and no others; `*` stands for all. */
  grant(keyId: string, tables: readonly string[]): Promise<void>
  /** Returns the tables of a key in the order of their names; empty for a key without a grant. */
  granted(keyId: string): Promise<string[]>
}

/** A row of another node, its values checked against the columns of the table. */
export interface ReceivedRow {
  /** UUID of the node at which the row was first put */
  readonly origin: string
  /** UTC day of its last write there, days since 1970; 0 where it is not known */
  readonly day: number
  /** grows with each write at its origin; 0 where it is not known */
  readonly version: number
  /** stored values in column order */
  readonly values: readonly Stored[]
}

/** Names a feed of another node, and the state of its table there. */
export interface SenderState {
  /** UUID of the node that sends */
  readonly sender: string
  /** UUID of the feed */
  readonly feed: string
  /** UUID of the table there */
  readonly senderTable: string
  /** incarnation of the change numbers there */
  readonly epoch: number
  /** digest of the definition that both sides have */
  readonly digest: string
}

/** Position of a feed of another node. */
export interface ReceivedFeed extends SenderState {
  readonly cursor: number
  readonly table: LoaderTable
}

/** Rows of a range of changes at the sender. */
export interface ReceivedBatch extends SenderState {
  /** change after which it begins */
  readonly after: number
  /** change with which it ends */
  readonly last: number
  /** read while they are stored, and once more where that is to be repeated; what reading them throws is thrown, and nothing is stored */
  readonly rows: Iterable<ReceivedRow>
  /** origin of all rows; absent where they may have several */
  readonly origin?: string
}

/** Receives the feeds of other nodes. */
export interface FeedInbox {
  /**
   * Opens a feed, or finds how far it is. A new table or a greater epoch at the sender begins at `start`.
   *
   * @param range `start`, and the last change at the sender: a cursor beyond it begins again. Absent where the
   *   sender does not tell
   * @returns the cursor
   * @throws AppError STALE_EPOCH for a smaller epoch than that of an earlier offer
   */
  open(
    state: SenderState,
    table: TableRef,
    range: { readonly start: number; readonly last?: number },
  ): Promise<number>
  /** @throws AppError STALE_EPOCH, as `open` does */
  check(state: SenderState): Promise<void>
  /** Finds a feed that was opened. */
  find(sender: string, feed: string): Promise<ReceivedFeed | undefined>
  /** Returns the feeds of a node that were opened. */
  ofSender(sender: string): Promise<ReceivedFeed[]>
  /**
   * Stores rows and cursor in one transaction; they are on disk when it resolves. Rows override those with
   * the same key and origin; equal ones change nothing.
   *
   * @param owner key that sends: owners have turns at the database
   * @returns rows that were put or overridden
   * @throws AppError UNKNOWN_FEED; CURSOR_MISMATCH (`data`: `{ cursor }`) unless the batch begins at the
   *   cursor; DISK_FULL, BUSY
   */
  take(batch: ReceivedBatch, owner: string): Promise<number>
}

/** Names of tables and of the incarnation of the data, for other nodes. */
export interface FeedIdentity {
  /** Returns the UUID of a table; undefined when it was dropped. */
  tableUuid(table: TableRef): Promise<string | undefined>
  /** Returns the incarnation of the change numbers. */
  epoch(): Promise<number>
  /** Begins a new incarnation, greater than the last one. @returns it */
  beginEpoch(nowUs: number): Promise<number>
  /** Returns a number that changes with each commit of another connection. Cost: some microseconds. */
  changeCount(): number
}
