import { call } from './rpc.js'
import { facts } from './session.js'

export interface ColumnInfo {
  udt_name: string
  data_type: string
  is_nullable: 'YES' | 'NO'
  column_default: string | null
  position: number
}

/** A table of the data loader, as in the result of `get_loader_list`. */
export interface TableInfo {
  data_name: string
  table_name: string
  unique_columns: string[]
  record_def: Record<string, ColumnInfo>
}

export interface EventFeature {
  type: 'Feature'
  geometry: GeoJSON.Geometry | null
  properties: Record<string, unknown>
}

/** Reads all tables. @throws CallFault */
export async function readTables(): Promise<TableInfo[]> {
  return (await call<{ data: TableInfo[] }>('loaderwebapi.get_loader_list', {})).data
}

/**
 * Reads records with `mapserv.eventdata`.
 *
 * @param properties of the request: `table`, `columns`, `order`, `limit`
 * @param geometry area of the records; null for all
 * @throws CallFault, or DOMException when `signal` aborts
 */
export async function readEvents(
  properties: Record<string, unknown>,
  geometry: object | null = null,
  signal?: AbortSignal,
): Promise<EventFeature[]> {
  const params = { type: 'Feature', geometry, properties }
  return (await call<{ features: EventFeature[] }>('mapserv.eventdata', params, signal)).features
}

/**
 * Themes of the risk map: theme → data_name of its table. Any table with an integer level column is a theme.
 */
export function themesOf(tables: readonly TableInfo[]): Map<string, string> {
  const { themes, levelColumn } = facts()
  const found = new Map(
    Object.entries(themes).filter(([, name]) => tables.some((table) => table.data_name === name)),
  )
  const isNamed = (name: string) => [...found.values()].includes(name)
  for (const { data_name, record_def } of tables) {
    if (!/^int[248]$/.test(record_def[levelColumn]?.udt_name ?? '') || isNamed(data_name)) continue
    found.set(themeOf(data_name), data_name)
  }
  return found
}

/** Theme of a table: as the settings name it, else by the name of the table. */
export function themeOf(table: string): string {
  const [named] = Object.entries(facts().themes).find(([, name]) => name === table) ?? []
  return named ?? table.replace(/^riskmap_/, '')
}

/**
 * Polygon of a box: west, south, east, north in degrees, cut at ±180 and ±90, which a view of the map can
 * exceed.
 */
export function clampedPolygon(box: readonly [number, number, number, number]): object {
  const [west, south] = [Math.max(-180, box[0]), Math.max(-90, box[1])]
  const [east, north] = [Math.min(180, box[2]), Math.min(90, box[3])]
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { type: 'Polygon', coordinates: [ring] }
}
