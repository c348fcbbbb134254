import { setTimeout as sleep } from 'node:timers/promises'
import type { SyncContext } from '../../api/sync/index.js'
import type { Config } from '../../config/config.js'
import { AppError } from '../../errors.js'
import { connectUpstream } from '../../feeds/connect.js'
import { createSumsAnswerer } from '../../feeds/receive/sums.js'
import type { FeedSender } from '../../feeds/send/sender.js'
import { startSumsKeeper } from '../../feeds/verify/keeper.js'
import { askResendDown } from '../../feeds/verify/resend-down.js'
import { verifyFeed } from '../../feeds/verify/verify.js'
import type { Log } from '../../log.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { FeedIdentity, FeedUpstream } from '../../storage/exchange/feeds.js'
import { createTableDigests } from '../../storage/sqlite/feeds/table-digests.js'
import type { State } from '../../storage/state.js'
import type { TableChanges } from '../../storage/tables.js'
import type { LoaderServices } from '../rows/tables.js'
import type { ModelServices } from './models.js'

interface SumsOptions {
  readonly config: Config
  readonly state: State
  readonly loading: LoaderServices
  /** knows the UUID of this node */
  readonly models: ModelServices
  readonly version: string
  readonly log: Log
}

interface SumsParts {
  readonly identity: FeedIdentity
  readonly changes: TableChanges
  env(): ValueEnv
  readonly live: FeedSender['live']
}

/** Comparison of tables with other nodes. */
interface FeedSums {
  readonly context: Pick<SyncContext, 'sumsAnswerer' | 'verifyFeed' | 'resendDown'>
  /** Ends the counting of rows in the background. */
  stop(): Promise<void>
}

/** Opens the comparison of tables, and starts to count their rows. */
export function openFeedSums(
  { config, state, loading, models, version, log }: SumsOptions,
  { live, ...parts }: SumsParts,
): FeedSums {
  const { nodeId } = models.register
  const digests = createTableDigests(loading.data)
  const times = { nowMs: () => performance.now(), pause: pauseFor }
  const deps = { ...parts, ...times, digests, findTable: (name: string) => loading.tables.find(name) }
  const keeper = startSumsKeeper({ ...deps, feeds: state.feeds, log })
  const verifying = {
    ...deps,
    nodeId,
    connect: async (name: string) => connectUpstream(await findUpstream(state, name), config, version),
    findFeed: (feedId: string) => state.feeds.find(feedId),
    progress: async (feedId: string) => ((await live(feedId)) ?? (await state.feeds.find(feedId)))?.progress,
  }
  return {
    context: {
      sumsAnswerer: createSumsAnswerer({ ...times, digests, senders: state.feedSenders, nodeId }),
      resendDown: (record, days, signal) =>
        askResendDown({ ...verifying, resends: state.feedResends }, record, days, signal),
      verifyFeed: (record, isRecount, signal) => verifyFeed(verifying, record, isRecount, signal),
    },
    stop: () => keeper.stop(),
  }
}

async function findUpstream({ feedUpstreams }: State, name: string): Promise<FeedUpstream> {
  const upstream = await feedUpstreams.find(name)
  if (upstream !== undefined) return upstream
  throw new AppError('UNKNOWN_UPSTREAM', { upstream: name }) // no test: a foreign key keeps it
}

/** Waits. @throws when `signal` fires */
export async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal })
}
