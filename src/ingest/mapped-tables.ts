import type { LoaderTable } from '../storage/tables.js'
import type { ColumnKinds, Mapping } from './map-message.js'

/** A table that mappings name, as it is now. */
export interface MappedTable {
  readonly table: LoaderTable
  readonly kinds: ColumnKinds
}

/** What is wrong with a mapping, given the tables that exist. */
export interface MappingReport {
  /** what keeps its messages from being stored; undefined when nothing does */
  readonly fault: string | undefined
  /** what may go wrong */
  readonly warning: string | undefined
}

/** Types of columns that take text of any kind. */
const TEXT_TYPES: readonly string[] = ['varchar', 'bpchar', 'text']

/** Returns a table with the kinds of its columns. */
export function mappedTable(table: LoaderTable): MappedTable {
  const kinds = new Map(table.columns.map(({ name, udtName }) => [name, TEXT_TYPES.includes(udtName)]))
  return { table, kinds }
}

/** Compares a mapping with its table. @param found undefined where no table has the name */
export function reportOf(mapping: Mapping, found: LoaderTable | undefined): MappingReport {
  const { filter, table: name, time } = mapping.settings
  const what = `the map of ${filter}`
  if (found === undefined)
    return { fault: `${what} waits for the table ${name}, which does not exist`, warning: undefined }
  const unknown = mapping.columns.find((column) => !found.columnByName.has(column))
  if (unknown !== undefined)
    return {
      fault: `${what} names the column ${unknown}, which the table ${name} does not have`,
      warning: undefined,
    }
  return { fault: undefined, warning: warningOf(what, mapping, found, time) }
}

function warningOf(
  what: string,
  { settings }: Mapping,
  { dataName, uniqueColumns }: LoaderTable,
  time: Mapping['settings']['time'],
): string | undefined {
  if (uniqueColumns.length === 0)
    return `${what}: the table ${dataName} has no unique columns, so that a message that comes again is there twice`
  const isOfArrival = time.path === undefined && settings.preset === undefined
  if (isOfArrival && uniqueColumns.includes('start_datetime'))
    return `${what}: start_datetime is the time of arrival and part of the key, so that a message that comes again is there twice`
  return undefined
}
