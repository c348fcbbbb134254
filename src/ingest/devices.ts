import type { LoaderTable, TableReader } from '../storage/tables.js'

/** Places of devices, from tables that hold a row for each. */
export interface DevicePlaces {
  /** Begins a group of messages: what a table held for the last one may have changed. */
  refresh(): void
  /**
   * Returns the geometry of the newest row of a device.
   *
   * @returns null for a row without one; why there is none
   */
  find(table: string, keyColumn: string, device: string): Promise<{ geometry: unknown } | { misfit: string }>
}

/** Most devices of a table whose places are kept. */
const MAX_KEPT = 10_000

interface Kept {
  readonly table: LoaderTable
  readonly version: number
  readonly places: Map<string, { geometry: unknown } | { misfit: string }>
}

/** Creates the places of devices. They are kept until their table changes. */
export function createDevicePlaces(
  tables: Pick<TableReader, 'find' | 'dataVersion' | 'pages'>,
): DevicePlaces {
  const kept = new Map<string, Kept>()
  let fresh = new Map<string, Promise<Kept | undefined>>()
  const open = async (name: string): Promise<Kept | undefined> => {
    const table = await tables.find(name)
    if (table === undefined) return undefined
    const version = await tables.dataVersion(table)
    const old = kept.get(name)
    if (old?.table.tableId === table.tableId && old.version === version) return old
    const opened = { table, version, places: new Map() }
    kept.set(name, opened)
    return opened
  }
  return {
    refresh() {
      fresh = new Map()
    },
    async find(name, keyColumn, device) {
      const opening = fresh.get(name) ?? open(name)
      fresh.set(name, opening)
      const opened = await opening
      if (opened === undefined) return { misfit: `position: no table has the name ${JSON.stringify(name)}` }
      const { table, places } = opened
      const known = places.get(`${keyColumn} ${device}`)
      if (known !== undefined) return known
      const found = await readPlace(tables, table, keyColumn, device)
      if (places.size >= MAX_KEPT) places.clear()
      places.set(`${keyColumn} ${device}`, found)
      return found
    },
  }
}

async function readPlace(
  tables: Pick<TableReader, 'pages'>,
  table: LoaderTable,
  keyColumn: string,
  device: string,
): Promise<{ geometry: unknown } | { misfit: string }> {
  const query = { conds: { '=': [keyColumn, device] }, columns: [keyColumn], limit: 1, isFromEnd: true }
  for await (const [row] of tables.pages(table, query))
    if (row !== undefined) return { geometry: row.geometry }
  return {
    misfit: `position: found the device ${JSON.stringify(device)}, expected one of the table ${table.dataName}`,
  }
}
