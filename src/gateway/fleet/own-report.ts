import { decodeWkb } from '../../geo/wkb.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import type { ServicesOptions } from '../options.js'

/** Time for which the findings of doctor stand in reports, ms. */
const DOCTOR_MS = 3_600_000

/**
 * Makes the reader of the worst finding of doctor, for reports. Only checks that read no whole file are made,
 * once an hour.
 *
 * @param nowMs monotonic clock
 * @returns null when all is well
 */
export function createDoctorLine(
  options: Pick<ServicesOptions, 'config' | 'layout' | 'version' | 'configFile'>,
  nowMs: () => number,
): () => Promise<string | null> {
  let line: string | null = null
  let examinedAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (nowMs() - examinedAtMs < DOCTOR_MS) return line
    const { examineLightly } = await import('../../doctor/examine.js')
    const checks = await examineLightly({
      ...{ config: options.config, layout: options.layout, version: options.version },
      configFile: options.configFile ?? null,
      maintenance: createMaintenance(),
      nowUs: Date.now() * 1000,
      isOnline: false,
    })
    const bad =
      checks.find(({ state }) => state === 'error') ?? checks.find(({ state }) => state === 'warning')
    const finding = bad?.findings.find(({ state }) => state === bad.state)
    line = bad === undefined ? null : `${bad.state} of ${bad.name}: ${finding?.message}`.slice(0, 300)
    examinedAtMs = nowMs()
    return line
  }
}

/**
 * Returns the point of the row that changed last in a table: longitude and latitude.
 *
 * @returns null for an empty table, and for a row without a point
 */
export async function lastPosition(
  table: LoaderTable,
  changes: Pick<TableChanges, 'last' | 'after'>,
): Promise<readonly [number, number] | null> {
  const last = await changes.last(table)
  const [row] = last === 0 ? [] : await changes.after(table, last - 1, 1)
  const at = table.columns.findIndex(({ name }) => name === 'location')
  const stored = row?.values[at]
  const geometry = stored instanceof Uint8Array ? decodeWkb(stored) : undefined
  if (geometry === undefined || !('type' in geometry) || geometry.type !== 'Point') return null
  const [lng, lat] = geometry.coordinates
  const isPlace =
    typeof lng === 'number' && typeof lat === 'number' && Math.abs(lng) <= 180 && Math.abs(lat) <= 90
  return isPlace ? [lng, lat] : null
}
