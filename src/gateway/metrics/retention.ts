import type { DiskForecast } from '../../files/disk-forecast.js'
import type { Family } from '../../http/metrics.js'
import type { RetentionServices } from '../rows/retention.js'
import { counter, gauge } from './family.js'

/** Returns the families of old rows that go. */
export async function retentionFamilies(retention: RetentionServices): Promise<Family[]> {
  const states = (await retention.list()).map(({ table }) => retention.stateOf(table.tableId))
  const waiting = states.reduce((sum, state) => sum + (state?.waiting ?? 0), 0)
  const faults = states.filter((state) => state !== undefined && state.fault !== null).length
  const life = await retention.diskLife()
  return [
    ...(life === undefined ? [] : lifeFamilies(life)),
    counter('fieldgate_retention_rows_total', 'Old rows that were removed', retention.removedRows()),
    gauge('fieldgate_retention_tables', 'Tables whose old rows go', states.length),
    gauge('fieldgate_retention_waiting_rows', 'Rows that should go and are not sent yet', waiting),
    gauge('fieldgate_retention_faults', 'Tables whose old rows could not be removed', faults),
    gauge(
      'fieldgate_retention_short',
      '1 while the disk is below retention.minFreeBytes and no table may give rows',
      retention.isShort() ? 1 : 0,
    ),
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
