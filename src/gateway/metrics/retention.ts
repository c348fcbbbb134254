import type { DiskForecast } from '../../files/disk-forecast.js'
import type { Family } from '../../http/metrics.js'
import type { PassState } from '../../storage/retention.js'
import type { RetentionServices } from '../rows/retention.js'
import { counter, gauge } from './family.js'

/** Returns the families of old rows that go. */
export async function retentionFamilies(retention: RetentionServices): Promise<Family[]> {
  const all = await retention.list()
  const states = await Promise.all(all.map(({ table }) => retention.stateOf(table.tableId)))
  const life = await retention.diskLife()
  return [
    ...(life === undefined ? [] : lifeFamilies(life)),
    ...passFamilies({ removed: retention.removedRows(), states }),
    gauge(
      'fieldgate_retention_short',
      '1 while the disk is below retention.minFreeBytes and no table may give rows',
      retention.isShort() ? 1 : 0,
    ),
  ]
}

/** Returns the families of the last passes. @param states one of each table with a rule */
export function passFamilies({
  removed,
  states,
}: {
  removed: number
  states: readonly (PassState | undefined)[]
}): Family[] {
  const waiting = states.reduce((sum, state) => sum + (state?.waiting ?? 0), 0)
  const faults = states.filter((state) => state !== undefined && state.fault !== null).length
  return [
    counter('fieldgate_retention_rows_total', 'Old rows that were removed', removed),
    gauge('fieldgate_retention_tables', 'Tables whose old rows go', states.length),
    gauge('fieldgate_retention_waiting_rows', 'Rows that should go and are not sent yet', waiting),
    gauge('fieldgate_retention_faults', 'Tables whose old rows could not be removed', faults),
  ]
}

function lifeFamilies({ bytesPerSecond, daysLeft }: DiskForecast): Family[] {
  return [
    gauge(
      'fieldgate_disk_growth_bytes_per_second',
      'Space that was taken of late, by the samples of the last 24 h; negative where it became free',
      bytesPerSecond,
    ),
    ...(daysLeft === null
      ? []
      : [gauge('fieldgate_disk_days_left', 'Days until the reserve is reached at that rate', daysLeft)]),
  ]
}
