import type { Family } from '../../http/metrics.js'
import type { BusStatus } from '../../storage/ingest.js'
import { labelled } from './family.js'

/** Families of a Modbus bus: name, help, type, value. */
const FAMILIES: readonly (readonly [string, string, Family['type'], (status: BusStatus) => number])[] = [
  ['connected', '1 while the bus is connected', 'gauge', ({ isConnected }) => (isConnected ? 1 : 0)],
  ['faults', 'Devices that cannot be read, and what keeps rows from being stored', 'gauge', faultsOf],
  ['readings_total', 'Readings of devices', 'counter', ({ readings }) => readings],
  ['failures_total', 'Readings that failed', 'counter', ({ failures }) => failures],
  ['rows_total', 'Rows of readings that were stored', 'counter', ({ rows }) => rows],
  ['rejects_total', 'Readings that could not be stored', 'counter', ({ rejects }) => rejects],
  ['lost_rows_total', 'Rows that were lost while none could be stored', 'counter', ({ lost }) => lost],
  ['waiting', 'Rows that wait to be stored', 'gauge', ({ waiting }) => waiting],
]

function faultsOf({ faults }: BusStatus): number {
  return faults.length
}

/** Returns the families of the buses; the settings bound their number. */
export function busFamilies(buses: ReadonlyMap<string, BusStatus> | undefined): Family[] {
  if (buses === undefined) return []
  return FAMILIES.map(([name, help, type, of]) => {
    const values = Object.fromEntries([...buses].map(([bus, status]) => [bus, of(status)]))
    return labelled({ name: `fieldgate_modbus_${name}`, help, type }, 'bus', values)
  })
}
