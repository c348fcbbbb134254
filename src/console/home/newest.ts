import { readEvents, type TableInfo } from '../core/tables.js'

/** The newest record of a table. */
export interface NewestEvent {
  readonly table: string
  /** ISO 8601 */
  readonly start: string
  readonly text: string
}

/** Tables that are looked at, and records that are shown. */
const MOST_TABLES = 8
const MOST_EVENTS = 5
const MOST_CHARS = 80

/** Reads the newest records of some tables, the newest first. @throws CallFault */
export async function readNewest(tables: readonly TableInfo[]): Promise<NewestEvent[]> {
  const found = await Promise.all(
    tables.slice(0, MOST_TABLES).map(async ({ data_name }) => {
      const query = { table: data_name, order: '-start_datetime', limit: MOST_EVENTS }
      const conds = { not: { is_null: ['start_datetime'] } }
      const rows = await readEvents({ ...query, conds })
      return rows.map(({ properties }) => ({
        table: data_name,
        start: String(properties.start_datetime),
        text: textOf(properties),
      }))
    }),
  )
  return found
    .flat()
    .sort((a, b) => Date.parse(b.start) - Date.parse(a.start))
    .slice(0, MOST_EVENTS)
}

/** Values of a record in a line. */
function textOf(properties: Readonly<Record<string, unknown>>): string {
  const own = Object.entries(properties).filter(
    ([name, value]) => !/^(table|start_datetime|end_datetime)$/.test(name) && value !== null,
  )
  return own
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
    .slice(0, MOST_CHARS)
}
