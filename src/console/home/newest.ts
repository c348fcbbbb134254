import { callBatch } from '../core/rpc.js'
import type { EventFeature, TableInfo } from '../core/tables.js'

/** The newest record of a table. */
export interface NewestEvent {
  readonly table: string
  /** ISO 8601 */
  readonly start: string
  readonly text: string
}

/** Tables that are read, in one request. */
export const MOST_TABLES = 24
/** Records that are shown. */
const MOST_EVENTS = 5
const MOST_CHARS = 80

/** Reads the newest records of the first tables, the newest first. @throws CallFault */
export async function readNewest(tables: readonly TableInfo[]): Promise<NewestEvent[]> {
  if (tables.length === 0) return []
  const read = tables.slice(0, MOST_TABLES)
  const conds = { not: { is_null: ['start_datetime'] } }
  const calls = read.map(({ data_name }) => {
    const properties = { table: data_name, order: '-start_datetime', limit: MOST_EVENTS, conds }
    return { method: 'mapserv.eventdata', params: { type: 'Feature', geometry: null, properties } }
  })
  const { results } = await callBatch(calls, new AbortController().signal)
  return results
    .flatMap((result, at) =>
      (result as { features: EventFeature[] }).features.map(({ properties }) => ({
        table: read[at]?.data_name ?? '',
        start: String(properties.start_datetime),
        text: textOf(properties),
      })),
    )
    .sort((a, b) => Date.parse(b.start) - Date.parse(a.start))
    .slice(0, MOST_EVENTS)
}

/** Values of a record in a line. */
function textOf(properties: Readonly<Record<string, unknown>>): string {
  const own = Object.entries(properties).filter(
    ([name, value]) => !/^(table|start_datetime|end_datetime)$/.test(name) && value !== null,
  )
  const text = own.map(([name, value]) => `${name} ${String(value)}`).join(', ')
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
}
