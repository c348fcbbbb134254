import type { Log } from '../../log.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { FeedIdentity, FeedRecord, FeedRows, FeedUpstream, FeedUpstreams } from '../../storage/feeds.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { WaitSettings } from '../../sync/lanes.js'
import type { Throttle } from '../../sync/throttle.js'
import type { FeedLink } from './link.js'

/** Dependencies of the sender of feeds. */
export interface SenderDeps {
  readonly feeds: FeedRows
  readonly upstreams: FeedUpstreams
  readonly identity: FeedIdentity
  readonly changes: TableChanges
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** Opens the connections to an upstream. @throws AppError BAD_ENDPOINT, or when its secret cannot be read */
  connect(upstream: FeedUpstream): FeedLink
  /** UUID of this node */
  readonly nodeId: string
  /** shared with the outbox of models */
  readonly throttle: Throttle
  /** throttle of a feed with a rate of its own */
  throttleOf(bytesPerSecond: number): Throttle
  readonly waits: WaitSettings
  /** `sync.batchWaitS` */
  readonly batchWaitMs: number
  /** Returns why nothing is sent now; null if sending is allowed. */
  closedReason(): Promise<string | null>
  /** Reports whether the windows of a feed allow sending now. */
  isInWindow(windows: readonly string[]): boolean
  /** Returns a number that changes when another program has written feeds. */
  stateChanges(): Promise<number>
  /** Returns the number of times an operator asked for a try now. */
  wakeCount(): Promise<number>
  /** for conditions */
  env(): ValueEnv
  /** monotonic clock */
  nowMs(): number
  /** wall clock */
  nowUs(): number
  random(): number
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Agreement with the receiver about a feed. A failure ends it; the next try makes another. */
export interface Session {
  /** UUID of the receiving node */
  readonly receiver: string
  readonly tableUuid: string
  readonly tableId: number
  readonly epoch: number
  readonly digest: string
  /** last change that the receiver has stored */
  cursor: number
  /** last change that was read; what lies between holds no row to send */
  scanned: number
}

/** State of a feed in memory. */
export interface FeedState {
  record: FeedRecord
  session: Session | undefined
  /** changes of rows that the receiver refused */
  aside: Set<number>
  throttle: Throttle | undefined
  /** most rows of the next batch: fewer after one whose text was too long */
  maxRows: number
  failures: number
  /** answers in a row that sent the feed elsewhere */
  detours: number
  /** end of the wait after a failure, monotonic clock */
  waitUntilMs: number
  isSending: boolean
  rowsSent: number
  bytesSent: number
  /** bytes and time of the last batches */
  rate: { bytes: number; ms: number }
  behindSinceUs: number | null
  lastError: string | null
  stopped: string | null
  /** when progress was noted last, monotonic clock */
  notedAtMs: number
}

/** Feeds to one upstream; one batch is on its way at a time. */
export interface Lane {
  readonly upstream: string
  link: FeedLink | undefined
  isRunning: boolean
  /** feeds that had nothing to send since rows last changed */
  readonly idle: Set<string>
  failures: number
  waitUntilMs: number
}
