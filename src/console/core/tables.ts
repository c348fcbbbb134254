import { call } from './rpc.js'
import { facts } from './session.js'

export interface ColumnInfo {
  udt_name: string
  data_type: string
  is_nullable: 'YES' | 'NO'
  column_default: string | null
  position: number
}

/** A table of the data loader, as `get_loader_list` tells it. */
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

export async function readTables(): Promise<TableInfo[]> {
  return (await call<{ data: TableInfo[] }>('loaderwebapi.get_loader_list', {})).data
}

export async function readEvents(
  properties: Record<string, unknown>,
  geometry: object | null = null,
  signal?: AbortSignal,
): Promise<EventFeature[]> {
  const params = { type: 'Feature', geometry, properties }
  return (await call<{ features: EventFeature[] }>('mapserv.eventdata', params, signal)).features
}

/** Themes of the risk map: theme → data_name of its table. */
export function themesOf(tables: readonly TableInfo[]): Map<string, string> {
  const { themes, levelColumn } = facts()
  const found = new Map(
    Object.entries(themes).filter(([, name]) => tables.some((table) => table.data_name === name)),
  )
  const isNamed = (name: string) => [...found.values()].includes(name)
  for (const { data_name, record_def } of tables) {
    if (!/^int[248]$/.test(record_def[levelColumn]?.udt_name ?? '') || isNamed(data_name)) continue
    found.set(data_name.replace(/^riskmap_/, ''), data_name)
  }
  return found
}

export function boxPolygon([west, south, east, north]: readonly [number, number, number, number]): object {
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ]
  return { type: 'Polygon', coordinates: [ring] }
}
