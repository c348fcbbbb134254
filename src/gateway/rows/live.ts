import type { ModuleEngine } from '../../dataproc/engine.js'
import { messageOf } from '../../errors.js'
import { publishAnswer } from '../../ingest/answers.js'
import type { Ingest } from '../../ingest/ingest.js'
import type { Buses } from '../../ingest/modbus/buses.js'
import { createLiveChanges, type LiveChanges } from '../../live/changes.js'
import { printChanges } from '../../storage/records/print-changes.js'
import { createTableChanges } from '../../storage/sqlite/tables/changed-rows.js'
import { openIngest } from '../automation/ingest.js'
import { openModbus } from '../automation/modbus.js'
import { openRetention, type RetentionServices } from './retention.js'

type FlowsOptions = Parameters<typeof openIngest>[0] &
  Parameters<typeof openRetention>[0] & {
    readonly dataproc: { readonly context: { readonly modules: Pick<ModuleEngine, 'watchEnds'> } }
  }

interface Flows {
  /** undefined where settings name no broker */
  readonly ingest: Ingest | undefined
  /** undefined where settings name no Modbus bus */
  readonly buses: Buses | undefined
  readonly live: LiveChanges
  readonly retention: RetentionServices
}

/** Opens what comes in by itself, what goes by itself, and what goes out as it happens. */
export async function openFlows(options: FlowsOptions): Promise<Flows> {
  const ingest = await openIngest(options)
  if (ingest !== undefined) publishAnswers(options, ingest)
  const buses = await openModbus(options)
  return { ingest, buses, live: openLive(options), retention: openRetention(options) }
}

/** Publishes the answers of modules where settings say so. */
function publishAnswers({ config, state, dataproc, log }: FlowsOptions, ingest: Ingest): void {
  const { brokers } = config.ingest.mqtt
  dataproc.context.modules.watchEnds((run) => {
    publishAnswer(state.ingest, brokers, run)
      .then((count) => count > 0 && ingest.wake())
      .catch((error: unknown) =>
        log.warn({ runId: run.runId, reason: messageOf(error) }, 'the answer of a module was not published'),
      )
  })
}

function openLive({ config, state, loading, keyring, timeZoneMin, log }: FlowsOptions): LiveChanges {
  const env = () => ({ timeZoneMin, nowUs: BigInt(state.clock.nowUs()) })
  const { changeReaders: readers, changeReadersPerKey: readersPerKey } = config.limits
  return createLiveChanges({
    changes: createTableChanges(loading.data.reader),
    findTable: (name) => loading.tables.find(name),
    print: (table, rows, columns) =>
      printChanges(table, rows, columns, { env: env(), options: { keyring, readFile: loading.readFile } }),
    watchWrites: (listener) => loading.data.lock.watch(listener),
    limits: { readers, readersPerKey },
    ...{ env, log },
  })
}
