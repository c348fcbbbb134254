import type { DataLoaderContext } from '../../api/dataloader/context.js'
import type { Config } from '../../config/config.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { Log } from '../../log.js'
import { startRetention } from '../../retention/runner.js'
import { sentRowsOf } from '../../retention/sent-rows.js'
import { createFeedIdentity } from '../../storage/sqlite/feeds/identity.js'
import { createRetentionStore } from '../../storage/sqlite/retention/store.js'
import type { State } from '../../storage/state.js'
import { createRetention, setRuleByJob } from '../../tables/retention.js'
import type { WorkerClient } from '../../worker/client.js'
import { pauseFor } from '../exchange/feed-sums.js'
import { createDiskLife, type DiskLife } from '../health/disk-life.js'
import type { LoaderServices } from './tables.js'

interface RetentionOptions {
  readonly config: Config
  readonly state: State
  readonly loading: LoaderServices
  readonly jobs: WorkerClient
  readonly disk: DiskSpace
  readonly log: Log
}

/** Removal of old rows, for the methods of the loader and for metrics. */
export type RetentionServices = DataLoaderContext['retention'] & {
  /** rows removed since the start of the program */
  removedRows(): number
  isShort(): boolean
  diskLife: DiskLife['forecast']
  stop(): Promise<void>
}

/** Opens the rules of tables, and starts to remove their old rows. */
export function openRetention(options: RetentionOptions): RetentionServices {
  const { config, state, loading, jobs, disk, log } = options
  const { data, loader } = loading
  const store = createRetentionStore(data, loading.sizeOfFile)
  const sending = {
    ...{ feeds: state.feeds, asked: state.askedFeeds, resends: state.feedResends },
    identity: createFeedIdentity(data),
  }
  const life = createDiskLife({ state, disk, store, reserveBytes: config.limits.diskReserveBytes })
  const runner = startRetention({
    ...{ store, log, clock: state.clock, pause: pauseFor },
    sentRows: (table) => sentRowsOf(sending, table),
    findTable: (name) => loading.tables.find(name),
    diskFree: () => disk.freeBytes(),
    mark: () => config.retention,
    sweepFiles: async () => void (await loader.sweepFiles()),
    sampleDisk: life.sample,
  })
  const rules = createRetention({ loader, store, setRule: setRuleByJob(loading.turns, jobs) })
  return { ...rules, ...runner, diskLife: life.forecast }
}
