import type { TriggerContext } from '../../api/dataproc/index.js'
import type { Config } from '../../config/config.js'
import type { ModuleCall } from '../../dataproc/call.js'
import type { ModuleEngine } from '../../dataproc/engine.js'
import { parseExact } from '../../json/exact-json.js'
import type { Log } from '../../log.js'
import { createTableChanges } from '../../storage/sqlite/tables/changed-rows.js'
import type { State } from '../../storage/state.js'
import { type DueDeps, markNow, nextDueUs } from '../../triggers/due.js'
import { startTriggers } from '../../triggers/scheduler.js'
import { pauseFor } from '../exchange/feed-sums.js'
import type { LoaderServices } from '../rows/tables.js'
import { openDataprocServices } from './dataproc.js'

type ModulesOptions = Parameters<typeof openDataprocServices>[0] & Omit<TriggerServicesOptions, 'modules'>

/** Opens the modules and starts their triggers. */
export async function openModules(options: ModulesOptions) {
  const dataproc = await openDataprocServices(options)
  const triggers = await openTriggers({ ...options, modules: dataproc.context.modules })
  return {
    context: { ...dataproc.context, triggers: triggers.context },
    endSession: dataproc.endSession,
    /** Ends the runs of triggers, and waits for all others, whose signals have fired by then. */
    async close() {
      await triggers.stop()
      await dataproc.close()
    },
  }
}

interface TriggerServicesOptions {
  readonly config: Config
  readonly state: State
  readonly loading: LoaderServices
  readonly modules: ModuleEngine
  readonly timeZoneMin: number
  readonly log: Log
}

/** Starts the triggers of modules; none where another backend runs the modules. */
async function openTriggers(
  options: TriggerServicesOptions,
): Promise<{ context: TriggerContext; stop(): Promise<void> }> {
  const { config, state, loading, modules, timeZoneMin, log } = options
  const { clock, keys } = state
  const isHere = config.dataproc.backend === 'embedded'
  const store = isHere
    ? state.triggers
    : { ...state.triggers, list: async () => [], endInterrupted: async () => [] }
  const changes = createTableChanges(loading.data.reader)
  const due: DueDeps = {
    ...{ store, clock },
    async tableState(name) {
      const table = await loading.tables.find(name)
      return table === undefined ? undefined : { tableId: table.tableId, change: await changes.last(table) }
    },
  }
  const nowUs = () => clock.nowUs()
  const scheduler = await startTriggers({
    ...{ ...due, store, modules, readCall, nowUs, log },
    async callerOf(keyId) {
      const key = await keys.findActive(keyId)
      if (key === undefined) return undefined
      const { keyName, scopes } = key
      return { keyId, keyName, scopes, sessionId: null, endsAtUs: null }
    },
    sleep: pauseFor,
    watchWrites: (listener) => loading.data.lock.watch(listener),
    nowMs: () => performance.now(),
  })
  return {
    context: {
      ...{ ...scheduler, store, nowUs, timeZoneMin },
      markNow: (on) => markNow(due, on),
      nextUs: nextDueUs,
      isClockTrusted: () => clock.isTrusted(),
    },
    stop: scheduler.stop,
  }
}

/** Reads the call of a trigger; its params have their numbers as they were supplied. */
function readCall(text: string): ModuleCall {
  const { params } = parseExact(text) as Pick<ModuleCall, 'params'> // `create_trigger` wrote it
  return { ...JSON.parse(text), params }
}
