import type { BusStatus } from '../../storage/ingest.js'
import { type BusDeps, startBus } from './bus.js'

/** Buses whose devices the gateway reads. */
export interface Buses {
  /** Returns how each bus is, by its name. */
  status(): ReadonlyMap<string, BusStatus>
  /** Stores what was read, and ends the connections. */
  stop(): Promise<void>
}

/** Starts to read the devices of all buses. */
export async function startBuses(deps: BusDeps): Promise<Buses> {
  const { buses } = deps.settings.modbus
  const names = new Set(buses.map(({ name }) => name))
  for (const { name } of await deps.store.buses()) if (!names.has(name)) await deps.store.forgetBus(name)
  const started = buses.map((settings) => startBus(deps, settings))
  return {
    status: () => new Map(started.map((bus) => [bus.name, bus.status()])),
    async stop() {
      await Promise.all(started.map((bus) => bus.stop()))
    },
  }
}
