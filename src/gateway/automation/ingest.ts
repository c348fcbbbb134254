import type { Config } from '../../config/config.js'
import type { Ingest } from '../../ingest/ingest.js'
import type { Log } from '../../log.js'
import type { Keyring } from '../../storage/keyring.js'
import { printChanges } from '../../storage/records/print-changes.js'
import { createTableChanges } from '../../storage/sqlite/tables/changed-rows.js'
import type { State } from '../../storage/state.js'
import type { ModelServices } from '../exchange/models.js'
import type { LoaderServices } from '../rows/tables.js'

interface IngestOptions {
  readonly config: Config
  readonly state: State
  readonly loading: LoaderServices
  readonly keyring: Keyring
  /** knows the UUID of this node */
  readonly models: ModelServices
  readonly timeZoneMin: number
  readonly log: Log
}

/**
 * Starts what comes in by itself; its program is loaded only where settings name a broker.
 *
 * @returns undefined where none is named
 */
export async function openIngest(options: IngestOptions): Promise<Ingest | undefined> {
  const { config, state, loading, keyring, timeZoneMin } = options
  if (config.ingest.mqtt.brokers.length === 0) return undefined
  const [{ startIngest }, { SYSTEM_TIMERS }] = await Promise.all([
    import('../../ingest/ingest.js'),
    import('../../ingest/mqtt/timers.js'),
  ])
  const nowUs = () => state.clock.nowUs()
  return await startIngest({
    settings: config.ingest,
    loader: loading.loader,
    tables: loading.tables,
    changes: createTableChanges(loading.data.reader),
    print: (table, rows, columns) =>
      printChanges(table, rows, columns, {
        env: { timeZoneMin, nowUs: BigInt(nowUs()) },
        options: { keyring, readFile: loading.readFile },
      }),
    store: state.ingest,
    nodeId: options.models.register.nodeId,
    arrival: () => ({ nowUs: nowUs(), isClockTrusted: state.clock.isTrusted(), timeZoneMin }),
    watchWrites: (listener) => loading.data.lock.watch(listener),
    timers: SYSTEM_TIMERS,
    random: Math.random,
    log: options.log,
  })
}
