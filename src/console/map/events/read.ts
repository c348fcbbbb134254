import { request } from '../../core/rpc.js'
import { clampedPolygon, type EventFeature, readEvents, type TableInfo } from '../../core/tables.js'
import { mapState } from '../state.js'

/** Records of one request, and most records of one table in a view: more would load the device. */
export const PAGE = 2000
export const MOST_RECORDS = 20_000

/** Comparisons of the filter, as conditions name them. */
export const OPERATORS = ['=', '<>', '>', '>=', '<', '<=', 'like'] as const

/** West, south, east, north, degrees. */
type Box = readonly [number, number, number, number]

/**
 * Reads the records of a table in an area, page by page.
 *
 * @param onPage receives all records so far
 * @returns whether there may be more than were read
 * @throws CallFault, or DOMException when `signal` aborts
 */
export async function readPages(
  table: TableInfo,
  area: Box,
  signal: AbortSignal,
  onPage: (records: readonly EventFeature[]) => void,
): Promise<boolean> {
  const records: EventFeature[] = []
  const question = { table: table.data_name, ...periodNow(), ...condsOf(table) }
  while (records.length < MOST_RECORDS) {
    const properties = { ...question, limit: PAGE, offset: records.length }
    const page = await readEvents(properties, clampedPolygon(area), signal)
    records.push(...page)
    onPage(records)
    if (page.length < PAGE) return false
  }
  return true
}

/**
 * Number of records of a table in an area, from its OGC collection; undefined where the gateway does not tell
 * it, or under a filter.
 */
export async function countRecords(
  { data_name }: TableInfo,
  area: Box,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (mapState.recordFilter !== undefined) return undefined
  const { start_datetime, end_datetime } = periodNow()
  const box = [Math.max(-180, area[0]), Math.max(-90, area[1]), Math.min(180, area[2]), Math.min(90, area[3])]
  const query = new URLSearchParams({ resultType: 'hits', f: 'json', bbox: box.join(',') })
  if (start_datetime !== undefined) query.set('datetime', `${start_datetime}/${end_datetime}`)
  const response = await request(
    `/ogc/collections/${encodeURIComponent(`table.${data_name}`)}/items?${query}`,
    { signal },
  )
  if (!response.ok) return undefined
  const { numberMatched } = (await response.json()) as { numberMatched?: number }
  return numberMatched
}

/** Period of the records that are shown; empty for all times. */
function periodNow(): { start_datetime?: string; end_datetime?: string } {
  const { recordTimes, brushMs, atMs } = mapState
  if (recordTimes === 'all' || (recordTimes === 'brush' && brushMs === undefined)) return {}
  const [from, to] = recordTimes === 'brush' && brushMs !== undefined ? brushMs : [atMs, atMs + 1000]
  return { start_datetime: new Date(from).toISOString(), end_datetime: new Date(to).toISOString() }
}

/** Condition of the filter on a table that has its column; all records of the others are shown. */
function condsOf({ record_def }: TableInfo): { conds?: object } {
  const { recordFilter } = mapState
  const type = recordFilter === undefined ? undefined : record_def[recordFilter.column]?.udt_name
  if (recordFilter === undefined || type === undefined) return {}
  return { conds: conditionOf(recordFilter, type) }
}

/**
 * Condition of a filter. Numbers and truth values are compared as such.
 *
 * @param type of the column, as PostgreSQL names it
 */
export function conditionOf(
  { column, operator, value }: { column: string; operator: string; value: string },
  type: string,
): object {
  if (operator === 'like') {
    const pattern = value.replace(/[\\%_]/g, (sign) => `\\${sign}`)
    return { like: [column, `%${pattern}%`] }
  }
  const isNumber = /^(int|float|numeric)/.test(type) && value.trim() !== '' && !Number.isNaN(Number(value))
  const isTruth = type === 'bool' && /^(true|false)$/.test(value)
  return { [operator]: [column, isNumber ? Number(value) : isTruth ? value === 'true' : value] }
}
