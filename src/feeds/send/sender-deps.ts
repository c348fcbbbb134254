import type { Log } from '../../log.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { CitedState } from '../../storage/datasets/citations.js'
import type { DayRows } from '../../storage/exchange/day-rows.js'
import type { FeedResend, FeedResends } from '../../storage/exchange/feed-resends.js'
import type {
  FeedIdentity,
  FeedRecord,
  FeedRows,
  FeedUpstream,
  FeedUpstreams,
} from '../../storage/exchange/feeds.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { WaitSettings } from '../../sync/lanes.js'
import type { Throttle } from '../../sync/throttle.js'
import type { AskedBatch, FeedLink } from './link.js'

/** Result of a turn: whether something was sent or found, so that another turn may follow at once. */
export type TurnResult = 'went on' | 'nothing to send'

/** Dependencies of the sender of feeds. */
export interface SenderDeps {
  readonly feeds: FeedRows
  readonly resends: FeedResends
  readonly upstreams: FeedUpstreams
  readonly identity: FeedIdentity
  readonly changes: TableChanges & DayRows
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** Finds a citation by its long form. */
  findCitation(longForm: string): Promise<CitedState | undefined>
  /**
   * Opens the connections to an upstream.
   *
   * @throws AppError BAD_ENDPOINT, or when its secret cannot be read
   */
  connect(upstream: FeedUpstream): FeedLink
  /** Asks for the next batch of a feed down, as `fetchNext` does. */
  fetchNext(link: FeedLink, state: FeedState, waitS: number, signal: AbortSignal): Promise<TurnResult>
  /** Waits before a batch of rows of this gateway until its writers leave time, within limits. */
  giveWay(signal: AbortSignal): Promise<void>
  /** how long an upstream may wait for a row, s */
  readonly waitS: number
  /** Waits. Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** UUID of this node */
  readonly nodeId: string
  /** shared with the outbox of models */
  readonly throttle: Throttle
  /** throttle of a feed with a rate of its own */
  throttleOf(bytesPerSecond: number): Throttle
  readonly waits: WaitSettings
  /** `sync.batchWaitS` */
  readonly batchWaitMs: number
  /** `sync.feedCheckS`: time without a batch after which the receiver is asked what it has */
  readonly checkMs: number
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

/** Dependencies of reading the rows of a batch. */
export type CollectDeps = Pick<SenderDeps, 'nodeId' | 'env'> & { readonly changes: TableChanges }

/** A feed as far as its rows are read. */
export interface CollectState {
  readonly record: Pick<FeedRecord, 'feedId' | 'conds' | 'columns' | 'start'>
  /** changes of rows that the receiver refused */
  readonly aside: ReadonlySet<number>
  /** most rows of the next batch: fewer after one whose text was too long */
  maxRows: number
  /** false: gives up after many changes without a row of the feed */
  readonly isPatient?: boolean
  /** Waits until the rows of a batch may take so many bytes. */
  hold?(bytes: number): Promise<void>
}

/** Agreement with the other node about a feed. A failure ends it; the next try makes another. */
export interface Session {
  /** UUID of the other node */
  readonly peer: string
  readonly tableUuid: string
  readonly tableId: number
  readonly epoch: number
  readonly digest: string
  /** last change that the receiver has stored */
  cursor: number
  /** last change that was read; what lies between holds no row to send */
  scanned: number
}

/** A batch to send. */
export interface OutgoingBatch {
  /** change of each row */
  readonly changes: readonly number[]
  readonly body: Uint8Array
  readonly last: number
  /** it held all that was there to send */
  readonly isEnd: boolean
}

/** Batch that was read while the one before it was on its way. */
interface AheadBatch {
  readonly batch: OutgoingBatch
  /** change after which it begins */
  readonly after: number
  /** agreement and feed for which it was made */
  readonly session: Session
  readonly record: FeedRecord
}

/** Rows of a feed that go once more. */
export interface ResendState {
  request: FeedResend
  /** changes that the receiver has refused since it was asked for */
  readonly refused: Set<number>
  /** the last batch was one of these: the next one is one of new rows */
  hadTurn: boolean
}

/** State of a feed in memory. */
export interface FeedState extends CollectState {
  record: FeedRecord
  session: Session | undefined
  /** batch that was read while the one before it was on its way */
  ahead: AheadBatch | undefined
  /** of a feed down: answer that was asked for while the batch before it was stored */
  fetched: FetchedAhead | undefined
  /** rows that go once more */
  resend: ResendState | undefined
  /** changes of rows that the receiver refused */
  aside: Set<number>
  throttle: Throttle | undefined
  failures: number
  /** answers in a row that sent the feed elsewhere */
  detours: number
  /** end of the wait after a failure, monotonic clock */
  waitUntilMs: number
  /** of a feed up that has sent all: rows that come are collected until then, monotonic clock */
  collectUntilMs: number
  isSending: boolean
  /** the last turn has not found the end of its rows */
  hasMore: boolean
  /** of a feed up: the table is offered again, whether the agreement still holds */
  mustOffer: boolean
  /** of a feed up: when the receiver has told last what it has, monotonic clock */
  agreedAtMs: number
  rowsSent: number
  bytesSent: number
  /** bytes and time of the last batches */
  rate: { bytes: number; ms: number }
  /** of a feed down: last change at the upstream, as it last answered */
  upstreamLast: number
  /** of a feed down: the request that waits at the upstream */
  watch: AbortController | undefined
  behindSinceUs: number | null
  lastError: string | null
  stopped: string | null
  /** when progress was noted last, monotonic clock */
  notedAtMs: number
  /** last change that was looked at, as it was noted last */
  notedScanned: number
}

/** Answer of an upstream to the question for the batch behind one that is being stored. */
export interface FetchedAhead {
  readonly answer: AskedBatch
  /** change after which it begins */
  readonly after: number
  /** agreement under which it was asked for */
  readonly session: Session
}

/** Feeds to one upstream; one batch is on its way at a time. */
export interface Lane {
  readonly upstream: string
  link: FeedLink | undefined
  isRunning: boolean
  /** feeds that had nothing to send since rows last changed */
  readonly idle: Set<string>
  /** grows when rows have changed */
  looks: number
  failures: number
  waitUntilMs: number
}
