import { randomUUID } from 'node:crypto'
import type { SyncContext } from '../../api/sync/index.js'
import { readColumns } from '../../api/sync/read-columns.js'
import type { Config } from '../../config/config.js'
import { type CitationReceiver, createCitationReceiver } from '../../feeds/citations/receive.js'
import { connectUpstream } from '../../feeds/connect.js'
import { type FetchDeps, fetchNext } from '../../feeds/fetch/turn.js'
import { createFeedGiver, type FeedGiver } from '../../feeds/give/giver.js'
import { createWaiting, type Waiting } from '../../feeds/give/waiting.js'
import { createFeedReceiver, type FeedReceiver } from '../../feeds/receive/receiver.js'
import { createGiveWay } from '../../feeds/send/give-way.js'
import { type FeedSender, startFeedSender } from '../../feeds/send/sender.js'
import { type FeedStatus, readFeedStatus } from '../../feeds/status.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { Log } from '../../log.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { FeedIdentity, FeedRecord, FeedUpstream } from '../../storage/exchange/feeds.js'
import { createCitationCopies } from '../../storage/sqlite/citations/copies.js'
import { openDatasetStores } from '../../storage/sqlite/dataset-stores.js'
import { createFeedIdentity } from '../../storage/sqlite/feeds/identity.js'
import { createFeedInbox } from '../../storage/sqlite/feeds/inbox.js'
import { createTableDigests } from '../../storage/sqlite/feeds/table-digests.js'
import { createTableChanges } from '../../storage/sqlite/tables/changed-rows.js'
import type { State } from '../../storage/state.js'
import type { LoaderTable, TableChanges, TableDefinition } from '../../storage/tables.js'
import { closedReasonOf } from '../../sync/open-outbox.js'
import { createThrottle, type Throttle } from '../../sync/throttle.js'
import { isWithinWindows } from '../../sync/windows.js'
import type { LoaderServices } from '../rows/tables.js'
import { openFeedSums, pauseFor } from './feed-sums.js'
import type { ModelServices } from './models.js'
import { createTurnstile } from './turnstile.js'

interface FeedServicesOptions {
  readonly config: Config
  readonly state: State
  readonly loading: LoaderServices
  readonly disk: DiskSpace
  /** knows the UUID of this node */
  readonly models: ModelServices
  /** shared with the outbox of models */
  readonly throttle: Throttle
  readonly timeZoneMin: number
  readonly version: string
  readonly log: Log
}

/** Feeds of tables, both ways. */
export interface FeedServices {
  readonly context: Omit<SyncContext, 'caller' | 'signal' | 'timeZoneMin' | 'clock' | 'config' | 'newId'>
  readonly sender: FeedSender
  readonly receiver: FeedReceiver
  readonly giver: FeedGiver
  readonly citations: CitationReceiver
  /** ends waiting requests and stops sending */
  stop(): Promise<void>
  tableOf(name: string): Promise<LoaderTable | undefined>
  /** Reads where a feed is. */
  status(record: FeedRecord): Promise<FeedStatus>
}

/** Opens the receiver and the giver of feeds, and starts the sender. */
export function openFeedServices(options: FeedServicesOptions): FeedServices {
  const { config, state, loading, timeZoneMin } = options
  const { nodeId } = options.models.register
  const reading = {
    identity: createFeedIdentity(loading.data),
    changes: createTableChanges(loading.data.reader),
    nodeId,
    findTable: (name: string) => loading.tables.find(name),
    env: (): ValueEnv => ({ timeZoneMin, nowUs: BigInt(state.clock.nowUs()) }),
    nowMs: () => performance.now(),
    log: options.log,
  }
  const { identity, changes, env } = reading
  const receiving = receivingOf(options, reading.findTable)
  const receiver = createFeedReceiver(receiving)
  const waiting = openWaiting(loading, identity, changes, config)
  const { asked, senders } = receiving
  const cited = openDatasetStores(loading.data).citations
  const citations = openCitationReceiver(options, receiving)
  const giver = createFeedGiver({ ...reading, ...givenSumsOf(loading), asked, senders, waiting })
  const fetching: FetchDeps = {
    ...receiving,
    ...{ feeds: state.feeds, throttle: options.throttle, nowMs: reading.nowMs, readColumns },
    log: options.log,
    oneAtATime: createTurnstile(),
  }
  const sender = startFeedSender({
    ...senderSettings(options),
    ...reading,
    findCitation: (longForm) => cited.find(longForm),
    fetchNext: (link, feed, waitS, signal) => fetchNext(fetching, link, feed, waitS, signal),
  })
  const sums = openFeedSums(options, { identity, changes, env, live: sender.live })
  return {
    sender,
    receiver,
    giver,
    citations,
    async stop() {
      waiting.stop()
      await sums.stop()
      await sender.stop()
    },
    tableOf: (name) => loading.tables.find(name),
    status: async (record) =>
      readFeedStatus(record, await sender.live(record.feedId), {
        ...{ findTable: (name) => loading.tables.find(name), tableChanges: changes, feedIdentity: identity },
        citedRows: async (longForm) => (await cited.find(longForm))?.rowCount ?? undefined,
        nowUs: state.clock.nowUs(),
      }),
    context: {
      ...sums.context,
      feedResends: state.feedResends,
      feeds: state.feeds,
      feedUpstreams: state.feedUpstreams,
      feedIdentity: identity,
      tableChanges: changes,
      feedSender: sender,
      feedReceiver: receiver,
      citationReceiver: citations,
      findCitation: (label) => cited.find(label),
      feedGiver: giver,
      askedFeeds: state.askedFeeds,
      findTable: (name) => loading.loader.find(name),
      async checkConds(table: LoaderTable, conds: unknown) {
        await changes.matching(table, await changes.last(table), 1, { conds, env: env() })
      },
    },
  }
}

/** Sums of what other nodes ask for. */
function givenSumsOf({ data }: LoaderServices) {
  return { digests: createTableDigests(data), sumsLimit: () => AbortSignal.timeout(SUMS_MS) }
}

/** Parts of what stores rows of other nodes. */
function receivingOf(
  { config, state, loading, disk, models }: FeedServicesOptions,
  findTable: (name: string) => Promise<LoaderTable | undefined>,
) {
  return {
    inbox: createFeedInbox(loading.data),
    nodeId: models.register.nodeId,
    senders: state.feedSenders,
    resends: state.feedResends,
    asked: state.askedFeeds,
    valueBytes: config.limits.valueBytes,
    findTable,
    register: (definition: TableDefinition) => loading.loader.register(definition),
    requireSpace: (bytes: number) => disk.require(bytes),
  }
}

/** Opens the receiver of citations. */
function openCitationReceiver(
  { state, loading }: FeedServicesOptions,
  receiving: ReturnType<typeof receivingOf>,
): CitationReceiver {
  const nowUs = () => state.clock.nowUs()
  const copies = createCitationCopies(loading.data, nowUs)
  return createCitationReceiver({ ...receiving, copies, newId: randomUUID, nowUs })
}

/** Opens the requests of other nodes that wait for rows. */
function openWaiting(
  { data }: LoaderServices,
  identity: FeedIdentity,
  changes: TableChanges,
  { sync }: Config,
): Waiting {
  return createWaiting({
    // a table that was dropped meanwhile has another last change than any
    lastChange: (table) => changes.last(table).catch(() => -1),
    watchWrites: (listener) => data.lock.watch(listener),
    changeCount: () => identity.changeCount(),
    pollMs: sync.batchWaitS * 1000,
  })
}

/** Longest time for which a question waits for its rows to be counted, ms: most clients wait for 30 s. */
const SUMS_MS = 15_000
/** Longest wait of a request at an upstream, s. */
const MAX_WAIT_S = 25

/** Settings of sending. */
function senderSettings({ config, state, loading, throttle, timeZoneMin, version }: FeedServicesOptions) {
  const { sync } = config
  const writingMs = loading.data.lock.heldMs
  return {
    feeds: state.feeds,
    upstreams: state.feedUpstreams,
    resends: state.feedResends,
    stateChanges: () => state.control.changeCount(),
    wakeCount: () => state.control.wakeCount(),
    nowUs: () => state.clock.nowUs(),
    random: Math.random,
    throttle,
    throttleOf: (bytesPerSecond: number) => createThrottle(bytesPerSecond, () => performance.now(), pauseFor),
    waits: { baseMs: sync.retryBaseS * 1000, capMs: sync.retryCapS * 1000 },
    batchWaitMs: sync.batchWaitS * 1000,
    // gateways of a fleet do not ask at once
    checkMs: sync.feedCheckS * 1000 * (0.75 + 0.5 * Math.random()),
    // half of the silence that is taken for a dead upstream
    waitS: Math.max(1, Math.min(MAX_WAIT_S, Math.floor(sync.idleTimeoutS / 2))),
    sleep: pauseFor,
    giveWay: createGiveWay({ writingMs, nowMs: () => performance.now(), sleep: pauseFor }),
    async closedReason() {
      if (await state.control.isPaused()) return 'paused by an operator'
      return closedReasonOf(sync, state.clock.nowUs(), timeZoneMin)
    },
    isInWindow: (windows: readonly string[]) => isWithinWindows(windows, state.clock.nowUs(), timeZoneMin),
    connect: (upstream: FeedUpstream) => connectUpstream(upstream, config, version),
  }
}

/** Creates the throttle of everything that is sent to other nodes. @param bytesPerSecond 0 for no limit */
export function createSyncThrottle(bytesPerSecond: () => number): Throttle {
  return createThrottle(bytesPerSecond, () => performance.now(), pauseFor)
}
