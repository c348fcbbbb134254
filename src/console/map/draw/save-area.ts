import { call } from '../../core/rpc.js'
import { facts } from '../../core/session.js'
import { readTables, type TableInfo } from '../../core/tables.js'

/** Column with the name of an area, which is its key together with the start. */
const NAME_COLUMN = 'area'

/** An area with one level of risk, for a time. */
export interface DrawnArea {
  readonly name: string
  /** 0 to 10 */
  readonly level: number
  /** lng, lat in degrees, at least three; not closed */
  readonly corners: readonly [number, number][]
  readonly startMs: number
  /** undefined for an open end */
  readonly endMs: number | undefined
}

/**
 * Stores an area in the table of a theme, which is made when there is none.
 *
 * @returns false for a table with other columns: nothing is stored then
 * @throws CallFault
 */
export async function saveArea(table: string, area: DrawnArea): Promise<boolean> {
  const { levelColumn } = facts()
  const known = (await readTables()).find(({ data_name }) => data_name === table)
  if (known === undefined)
    await call('loaderwebapi.register_loader', {
      data_name: table,
      record_def: { [NAME_COLUMN]: { udt_name: 'text' }, [levelColumn]: { udt_name: 'int2' } },
      unique_columns: [NAME_COLUMN, 'start_datetime'],
    })
  else if (!isDrawn(known, levelColumn)) return false
  await call('loaderwebapi.add_record', {
    data_name: table,
    record_set: [recordOf(area, levelColumn)],
    options: { if_exists: 'error' },
  })
  return true
}

/** True for a table that a drawn area fits into. */
export function isDrawn({ record_def, unique_columns }: TableInfo, levelColumn: string): boolean {
  const isFree = (name: string) =>
    /^(start_datetime|end_datetime|location)$/.test(name) || record_def[name]?.is_nullable === 'YES'
  return (
    record_def[NAME_COLUMN]?.udt_name === 'text' &&
    /^int[248]$/.test(record_def[levelColumn]?.udt_name ?? '') &&
    unique_columns.every((name) => name === NAME_COLUMN || name === 'start_datetime') &&
    Object.keys(record_def).every((name) => name === NAME_COLUMN || name === levelColumn || isFree(name))
  )
}

function recordOf({ name, level, corners, startMs, endMs }: DrawnArea, levelColumn: string): object {
  const ring = [...corners, ...corners.slice(0, 1)]
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: {
      start_datetime: new Date(startMs).toISOString(),
      end_datetime: endMs === undefined ? null : new Date(endMs).toISOString(),
      [NAME_COLUMN]: name,
      [levelColumn]: level,
    },
  }
}
