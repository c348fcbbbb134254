import type { DataLoaderContext } from '../../../api/dataloader/index.js'
import type { Log } from '../../../log.js'
import type { Pace } from '../../../retention/pass.js'
import { createRounds } from '../../../retention/rounds.js'
import { sentRowsOf } from '../../../retention/sent-rows.js'
import type { FeedIdentity } from '../../../storage/exchange/feeds.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import type { WriteHints } from '../../../storage/postgres/connection/write-hints.js'
import { prepareTables } from '../../../storage/postgres/retention/age-index.js'
import { createPassStates, type PassStates } from '../../../storage/postgres/retention/pass-states.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import { createRetention } from '../../../tables/retention.js'
import { pauseFor } from '../../exchange/feed-sums.js'
import type { LeaderTask } from '../leader.js'
import type { HubTables } from './tables.js'

interface HubRetentionOptions {
  readonly db: PostgresDb
  readonly state: PostgresState
  readonly loading: Pick<HubTables, 'context' | 'loader' | 'rules'>
  readonly hints: Pick<WriteHints, 'tell'>
  readonly identity: FeedIdentity
  readonly log: Log
}

/** Rows of a hub that go by themselves. */
export interface HubRetention {
  readonly context: DataLoaderContext['retention']
  /** what the last passes of the process with the task have left */
  readonly passes: PassStates['all']
  /** what one process does at a time */
  readonly tasks: readonly LeaderTask[]
}

/**
 * Steps are round trips, during which the writers of their table wait. A hub takes rows of many gateways, and has to remove them as
 * fast: a quarter of the time of one table's lock.
 */
const PACE: Pace = { stepMs: 25, maxRows: 4096, share: 0.25 }
/** Time between two rounds, ms: rules hold within a minute. */
const ROUND_MS = 30_000
const PREPARE_MS = 60_000

/** Opens the rules of tables, and the removal of their old rows, which the process with the task does. */
export function openHubRetention({
  db,
  state,
  loading,
  hints,
  identity,
  log,
}: HubRetentionOptions): HubRetention {
  const { context, loader, rules } = loading
  const sending = { feeds: state.feeds, asked: state.askedFeeds, resends: state.feedResends, identity }
  const states = createPassStates(db)
  const rounds = createRounds({
    ...{ store: rules, log, clock: state.clock, pause: pauseFor, pace: PACE },
    sentRows: (table) => sentRowsOf(sending, table),
  })
  const round = async (signal: AbortSignal) => {
    const { removed } = await rounds.run(signal)
    await states.keep(rounds.states())
    if (removed > 0) hints.tell() // summaries have rows
  }
  return {
    context: {
      ...createRetention({ loader, store: rules, setRule: rules.set }),
      wake: () => undefined, // another process may have the task: it looks within half a minute
      stateOf: states.find,
    },
    passes: states.all,
    tasks: [
      { name: 'old rows', everyMs: ROUND_MS, run: round },
      {
        name: 'indexes of old rows',
        everyMs: PREPARE_MS,
        run: (signal) => prepareTables(db, context.catalog, signal),
      },
    ],
  }
}
