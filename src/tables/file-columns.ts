import { type FileColumns, RESERVED_COLUMNS } from '../storage/tables.js'
import { type ColumnDef, type DefinitionFault, NAME, NAME_RULE } from './column-def.js'
import { PATH_ID_CHARS } from './path-id.js'

/** Members that a column of type `file` must have, and no other column may have. */
export const FILE_KEYS = [
  'file_name_column',
  'file_type_column',
  'file_prefixid_column',
  'file_pathid_column',
  'file_relativepath_property',
] as const

/** Types that each companion column may have. */
const COMPANION_TYPES = {
  file_name_column: ['varchar', 'bpchar', 'text'],
  file_type_column: ['varchar', 'bpchar', 'text'],
  file_prefixid_column: ['int2', 'int4', 'int8'],
  file_pathid_column: ['varchar', 'bpchar', 'text'],
} as const

/**
 * Returns the companions of a column; null when it is not of type `file`.
 *
 * @param def checked by `checkFileColumns`
 */
export function fileColumnsOf(def: ColumnDef): FileColumns | null {
  if (def.udt_name !== 'file') return null
  return {
    nameColumn: def.file_name_column ?? '',
    typeColumn: def.file_type_column ?? '',
    prefixIdColumn: def.file_prefixid_column ?? '',
    pathIdColumn: def.file_pathid_column ?? '',
    relativePathProperty: def.file_relativepath_property ?? '',
  }
}

/**
 * Checks that each file column has companions of its own with the right types, and a property that is not a
 * column.
 *
 * @param faults receives the faults
 */
export function checkFileColumns(defs: ReadonlyMap<string, ColumnDef>, faults: DefinitionFault[]): void {
  const owners = new Map<string, string>()
  for (const [name, def] of defs) {
    if (def.udt_name !== 'file') continue
    for (const key of FILE_KEYS) {
      const value = def[key]
      const message = faultOfKey(key, value, defs, owners)
      if (message !== undefined) faults.push({ path: ['record_def', name, key], message })
      if (value !== undefined) owners.set(value, `${name}.${key}`)
    }
  }
}

function faultOfKey(
  key: (typeof FILE_KEYS)[number],
  value: string | undefined,
  defs: ReadonlyMap<string, ColumnDef>,
  owners: ReadonlyMap<string, string>,
): string | undefined {
  if (value === undefined) return 'found nothing, expected a value on type file'
  const fault =
    key === 'file_relativepath_property' ? faultOfProperty(value, defs) : faultOfCompanion(key, value, defs)
  const owner = owners.get(value)
  if (fault !== undefined || owner === undefined) return fault
  return `found ${JSON.stringify(value)}, which ${owner} already uses`
}

/**
 * `get_file` searches by companions, so they must be readable and able to hold the values that the gateway
 * sets.
 */
function faultOfCompanion(
  key: keyof typeof COMPANION_TYPES,
  value: string,
  defs: ReadonlyMap<string, ColumnDef>,
): string | undefined {
  const types: readonly string[] = COMPANION_TYPES[key]
  const companion = defs.get(value)
  const found = `found ${JSON.stringify(value)}`
  if (companion === undefined) return `${found}, expected a column of record_def of type ${types.join(', ')}`
  if (!types.includes(companion.udt_name))
    return `${found} of type ${companion.udt_name}, expected ${types.join(', ')}`
  if (companion.need_crypto) return `${found}, which is encrypted, expected a column that is not`
  const length = companion.length ?? PATH_ID_CHARS
  if (key === 'file_pathid_column' && length < PATH_ID_CHARS)
    return `${found} of length ${length}, expected ${PATH_ID_CHARS} or more, the length of path ids`
  return undefined
}

/** The property carries a path into the record and is not stored. */
function faultOfProperty(value: string, defs: ReadonlyMap<string, ColumnDef>): string | undefined {
  const found = `found ${JSON.stringify(value)}`
  if (!NAME.test(value)) return `${found}, expected ${NAME_RULE}`
  const isColumn = defs.has(value) || RESERVED_COLUMNS.some((column) => column.name === value)
  return isColumn ? `${found}, which is a column, expected the name of a property that is not` : undefined
}
