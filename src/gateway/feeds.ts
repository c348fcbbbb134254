import { setTimeout as sleep } from 'node:timers/promises'
import type { SyncContext } from '../api/sync/index.js'
import type { Config } from '../config/config.js'
import { AppError } from '../errors.js'
import { createFeedReceiver, type FeedReceiver } from '../feeds/receive/receiver.js'
import { createFeedLink } from '../feeds/send/link.js'
import { type FeedSender, startFeedSender } from '../feeds/send/sender.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { Log } from '../log.js'
import type { ValueEnv } from '../storage/columns/column-type.js'
import type { FeedUpstream } from '../storage/feeds.js'
import { createFeedIdentity } from '../storage/sqlite/feeds/identity.js'
import { createFeedInbox } from '../storage/sqlite/feeds/inbox.js'
import { createTableChanges } from '../storage/sqlite/tables/changed-rows.js'
import type { State } from '../storage/state.js'
import type { LoaderTable } from '../storage/tables.js'
import { baseUrlOf } from '../sync/endpoint.js'
import { createUpstreamClient } from '../sync/http-client.js'
import { clientSettings, closedReasonOf } from '../sync/open-outbox.js'
import { createThrottle, type Throttle } from '../sync/throttle.js'
import { isWithinWindows } from '../sync/windows.js'
import type { ModelServices } from './models.js'
import type { LoaderServices } from './tables.js'

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
  readonly context: Omit<SyncContext, 'caller' | 'timeZoneMin' | 'clock' | 'config' | 'newId'>
  readonly sender: FeedSender
  readonly receiver: FeedReceiver
}

/** Opens the receiver of feeds, and starts the sender. */
export function openFeedServices(options: FeedServicesOptions): FeedServices {
  const { config, state, loading, disk, timeZoneMin } = options
  const { nodeId } = options.models.register
  const identity = createFeedIdentity(loading.data)
  const changes = createTableChanges(loading.data.reader)
  const env = (): ValueEnv => ({ timeZoneMin, nowUs: BigInt(state.clock.nowUs()) })
  const receiver = createFeedReceiver({
    inbox: createFeedInbox(loading.data),
    senders: state.feedSenders,
    nodeId,
    valueBytes: config.limits.valueBytes,
    findTable: (name) => loading.tables.find(name),
    register: (definition) => loading.loader.register(definition),
    requireSpace: (bytes) => disk.require(bytes),
  })
  const sender = startFeedSender({
    ...senderSettings(options),
    feeds: state.feeds,
    upstreams: state.feedUpstreams,
    identity,
    changes,
    findTable: (name) => loading.tables.find(name),
    stateChanges: () => state.control.changeCount(),
    wakeCount: () => state.control.wakeCount(),
    nodeId,
    env,
    nowMs: () => performance.now(),
    nowUs: () => state.clock.nowUs(),
    random: Math.random,
    log: options.log,
  })
  return {
    sender,
    receiver,
    context: {
      feeds: state.feeds,
      feedUpstreams: state.feedUpstreams,
      feedIdentity: identity,
      tableChanges: changes,
      feedSender: sender,
      feedReceiver: receiver,
      findTable: (name) => loading.loader.find(name),
      async checkConds(table: LoaderTable, conds: unknown) {
        await changes.matching(table, await changes.last(table), 1, { conds, env: env() })
      },
    },
  }
}

/** Settings of sending. */
function senderSettings({ config, state, throttle, timeZoneMin, version }: FeedServicesOptions) {
  const { sync } = config
  const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal })
  const settings = clientSettings(sync, version)
  return {
    throttle,
    throttleOf: (bytesPerSecond: number) => createThrottle(bytesPerSecond, () => performance.now(), pause),
    waits: { baseMs: sync.retryBaseS * 1000, capMs: sync.retryCapS * 1000 },
    batchWaitMs: sync.batchWaitS * 1000,
    async closedReason() {
      if (await state.control.isPaused()) return 'paused by an operator'
      return closedReasonOf(sync, state.clock.nowUs(), timeZoneMin)
    },
    isInWindow: (windows: readonly string[]) => isWithinWindows(windows, state.clock.nowUs(), timeZoneMin),
    connect({ name, endpoint, apikey, secret }: FeedUpstream) {
      if (secret === null) {
        const message = `The secret of the upstream ${name} was encrypted with another key file: make it again`
        throw new AppError('UPSTREAM_REFUSED', {}, { message })
      }
      const base = baseUrlOf(endpoint, sync.allowInsecure)
      return createFeedLink(createUpstreamClient(base, { apikey, secret }, settings))
    },
  }
}

/** Creates the throttle of everything that is sent to other nodes. */
export function createSyncThrottle({ sync }: Config): Throttle {
  const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal })
  return createThrottle(sync.maxBytesPerSecond, () => performance.now(), pause)
}
