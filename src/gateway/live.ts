import type { Ingest } from '../ingest/ingest.js'
import { createLiveChanges, type LiveChanges } from '../live/changes.js'
import { createTableChanges } from '../storage/sqlite/tables/changed-rows.js'
import { printChanges } from '../storage/sqlite/tables/print-changes.js'
import { openIngest } from './ingest.js'

type FlowsOptions = Parameters<typeof openIngest>[0]

/** Opens what comes in by itself, and what goes out as it happens. */
export async function openFlows(
  options: FlowsOptions,
): Promise<{ ingest: Ingest | undefined; live: LiveChanges }> {
  return { ingest: await openIngest(options), live: openLive(options) }
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
