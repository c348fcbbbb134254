import type { LoaderTable } from '../storage/tables.js'
import type { Mapping, TableFacts } from './map-message.js'

/** A table that mappings name, as it is now. */
export interface MappedTable {
  readonly table: LoaderTable
  readonly facts: TableFacts
}

/** Faults of a mapping, given the tables that exist. */
export interface MappingReport {
  /** what keeps its messages from being stored; undefined when nothing does */
  readonly fault: string | undefined
  /** what may go wrong */
  readonly warning: string | undefined
}

/** Types of columns that take text of any kind. */
const TEXT_TYPES: readonly string[] = ['varchar', 'bpchar', 'text']

/** Returns a table with what mappings need of it. */
export function mappedTable(table: LoaderTable): MappedTable {
  const kinds = new Map(table.columns.map(({ name, udtName }) => [name, TEXT_TYPES.includes(udtName)]))
  return { table, facts: { kinds, keyColumns: keyColumnsOf(table) } }
}

/** Key columns that a record must fill: a null in one of them equals nothing, and the key would tell nothing. */
function keyColumnsOf({ uniqueColumns, columnByName }: LoaderTable): string[] {
  return uniqueColumns.filter((name) => name !== 'location' && columnByName.get(name)?.columnDefault === null)
}

/** Compares a mapping with its table. @param found undefined where no table has the name */
export function reportOf(mapping: Mapping, found: LoaderTable | undefined): MappingReport {
  const { settings } = mapping
  const { table: name, time, preset } = settings
  const what = `the map of ${settings.filter}`
  const faulty = (fault: string) => ({ fault: `${what} ${fault}`, warning: undefined })
  if (found === undefined) return faulty(`waits for the table ${name}, which does not exist`)
  const unknown = mapping.columns.find((column) => !found.columnByName.has(column))
  if (unknown !== undefined)
    return faulty(`names the column ${unknown}, which the table ${name} does not have`)
  const filled = [
    'start_datetime',
    ...(time.durationS === undefined ? [] : ['end_datetime']),
    ...mapping.columns,
  ]
  const missing = keyColumnsOf(found).find((column) => !filled.includes(column))
  // the values of a preset are not known before the first message
  if (missing !== undefined && preset === undefined)
    return faulty(`does not fill ${missing}, which is part of the key of the table ${name}`)
  const isOfArrival = time.path === undefined && preset === undefined
  const isInKey = found.uniqueColumns.includes('start_datetime')
  if (!isOfArrival || !isInKey) return { fault: undefined, warning: undefined }
  return {
    fault: undefined,
    warning: `${what}: start_datetime is the time of arrival and part of the key, so that a message that comes again is there twice`,
  }
}
