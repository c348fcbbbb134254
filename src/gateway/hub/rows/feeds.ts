import { randomUUID } from 'node:crypto'
import type { SyncContext } from '../../../api/sync/index.js'
import type { Config } from '../../../config/config.js'
import { type CitationReceiver, createCitationReceiver } from '../../../feeds/citations/receive.js'
import { createFeedGiver, type FeedGiver } from '../../../feeds/give/giver.js'
import { createWaiting } from '../../../feeds/give/waiting.js'
import { createFeedReceiver, type FeedReceiver } from '../../../feeds/receive/receiver.js'
import { createSumsAnswerer } from '../../../feeds/receive/sums.js'
import type { DiskSpace } from '../../../files/disk-space.js'
import type { Log } from '../../../log.js'
import type { FeedIdentity, FeedInbox } from '../../../storage/exchange/feeds.js'
import { readTogether } from '../../../storage/postgres/connection/read-together.js'
import type { WriteHints } from '../../../storage/postgres/connection/write-hints.js'
import { createFeedInbox } from '../../../storage/postgres/feeds/inbox.js'
import { createTableDigests } from '../../../storage/postgres/feeds/table-digests.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import type { TableDefinition } from '../../../storage/tables.js'
import { pauseFor } from '../../exchange/feed-sums.js'
import { notOnHub } from '../apis.js'
import type { HubDatasets } from '../datasets/datasets.js'
import type { HubTables } from './tables.js'

interface HubFeedsOptions {
  readonly config: Config
  readonly log: Log
  readonly state: PostgresState
  readonly loading: HubTables
  /** of writes of rows, between the processes of the hub */
  readonly hints: Pick<WriteHints, 'watch' | 'tell'>
  readonly identity: FeedIdentity
  readonly disk: DiskSpace
  readonly nodeId: string
  readonly datasets: Pick<HubDatasets, 'copies'>
  readonly timeZoneMin: number
}

/** Feeds of a hub: it takes what gateways send, and gives what they ask for. It sends nothing by itself. */
export interface HubFeeds {
  readonly context: Pick<SyncContext, 'feedReceiver' | 'feedGiver' | 'sumsAnswerer' | 'citationReceiver'>
  readonly receiver: FeedReceiver
  readonly giver: FeedGiver
  readonly citations: CitationReceiver
  /** ends waiting requests */
  stop(): void
}

/** Longest time for which a question waits for its rows to be counted, ms: most clients wait for 30 s. */
const SUMS_MS = 15_000

/** Opens the receiver and the giver of feeds. */
export function openHubFeeds(options: HubFeedsOptions): HubFeeds {
  const { config, log, state, loading, disk, nodeId, hints, identity, timeZoneMin } = options
  const { tables, loader } = loading
  const again = async () => Promise.reject(notOnHub('rows that are sent once more'))
  const changes = { ...loading.changes, ofDays: again, countOfDays: again }
  // all gateways offer the same tables when their link is back
  const findTable = readTogether(async (names) => {
    const found = await Promise.all(names.map(async (name) => [name, await tables.find(name)] as const))
    return new Map(found.flatMap(([name, table]) => (table === undefined ? [] : [[name, table] as const])))
  })
  const digests = createTableDigests(loading.context)
  const { feedSenders: senders, askedFeeds: asked, feedResends: resends, clock } = state
  const { valueBytes } = config.limits
  const requireSpace = (bytes: number) => disk.require(bytes)
  const receiver = createFeedReceiver({
    ...{
      inbox: withHints(createFeedInbox(loading.context), hints),
      nodeId,
      senders,
      resends,
      asked,
      findTable,
    },
    register: (definition: TableDefinition) => loader.register(definition),
    ...{ valueBytes, requireSpace },
  })
  const citations = createCitationReceiver({
    ...{ copies: options.datasets.copies, senders, nodeId, valueBytes, requireSpace },
    newId: randomUUID,
    nowUs: () => clock.nowUs(),
  })
  const waiting = createWaiting({
    // a table that was dropped meanwhile has another last change than any
    lastChange: (table) => changes.last(table).catch(() => -1),
    watchWrites: hints.watch,
    changeCount: () => identity.changeCount(),
    pollMs: config.sync.batchWaitS * 1000,
  })
  const giver = createFeedGiver({
    ...{ identity, changes, nodeId, findTable, log, digests, asked, senders, waiting },
    env: () => ({ timeZoneMin, nowUs: BigInt(clock.nowUs()) }),
    nowMs: () => performance.now(),
    sumsLimit: () => AbortSignal.timeout(SUMS_MS),
  })
  const sums = { nowMs: () => performance.now(), pause: pauseFor, digests, senders, nodeId }
  return {
    receiver,
    giver,
    citations,
    context: {
      ...{ feedReceiver: receiver, feedGiver: giver, citationReceiver: citations },
      sumsAnswerer: createSumsAnswerer(sums),
    },
    stop: () => waiting.stop(),
  }
}

/** Tells of each batch that has changed rows, once it is committed. */
function withHints(inbox: FeedInbox, { tell }: Pick<WriteHints, 'tell'>): FeedInbox {
  return {
    ...inbox,
    async take(batch, owner) {
      const written = await inbox.take(batch, owner)
      if (written > 0) tell()
      return written
    },
  }
}
