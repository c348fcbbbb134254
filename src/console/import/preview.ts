import type { ImportPlan } from '../../tabular/plan.js'
import { recordOf } from '../../tabular/record.js'
import type { FileRow } from '../../tabular/row-file.js'
import { t } from '../core/i18n.js'
import { table } from '../core/parts.js'

const MAX_CHARS = 60

/** The first records of a file as they would be stored. */
export function previewTable(plan: ImportPlan, rows: readonly FileRow[]): HTMLElement {
  const records = rows.map((row) => recordOf(plan, row))
  const names = Object.keys(records[0]?.properties ?? {})
  const hasPlace = plan.place !== undefined
  return table(
    t('importPreview'),
    [...names, ...(hasPlace ? [t('geometry')] : [])],
    records.map(({ properties, geometry }) => [
      ...names.map((name) => cellText(properties[name])),
      ...(hasPlace ? [geometryText(geometry)] : []),
    ]),
  )
}

function cellText(value: unknown): string {
  return value === null || value === undefined ? '' : String(value).slice(0, MAX_CHARS)
}

/** `lng, lat` of a point; the type of any other geometry. */
export function geometryText(geometry: unknown): string {
  if (typeof geometry !== 'object' || geometry === null) return cellText(geometry)
  const { type, coordinates }: { type?: unknown; coordinates?: unknown } = geometry
  if (type !== 'Point' || !Array.isArray(coordinates)) return String(type)
  return coordinates
    .map((each) => (typeof each === 'number' ? Math.round(each * 1e6) / 1e6 : String(each)))
    .join(', ')
}
