import type { Buses } from '../../ingest/modbus/buses.js'
import type { openIngest } from './ingest.js'

/**
 * Starts to read Modbus devices; its program is loaded only where settings name a bus.
 *
 * @returns undefined where none is named
 */
export async function openModbus({
  config,
  state,
  loading,
  log,
}: Parameters<typeof openIngest>[0]): Promise<Buses | undefined> {
  if (config.ingest.modbus.buses.length === 0) return undefined
  const [{ startBuses }, { openLink }, { SYSTEM_TIMERS }] = await Promise.all([
    import('../../ingest/modbus/buses.js'),
    import('../../ingest/modbus/link.js'),
    import('../../ingest/mqtt/timers.js'),
  ])
  return await startBuses({
    settings: config.ingest,
    loader: loading.loader,
    tables: loading.tables,
    store: state.ingest,
    arrival: () => ({ nowUs: state.clock.nowUs() }),
    openLink,
    timers: SYSTEM_TIMERS,
    log,
  })
}
