import { type ColumnDefInput, NAME, NAME_RULE } from '../api/dataloader/schema.js'
import { type FileColumns, RESERVED_COLUMNS } from '../storage/tables.js'
import type { DefinitionFault } from './record-def.js'

/** Keys that a column of type `file` must have, and no other column may. */
export const FILE_KEYS = [
  'file_name_column',
  'file_type_column',
  'file_prefixid_column',
  'file_pathid_column',
  'file_relativepath_property',
] as const

/** Types of the columns beside a file, by the key that names them. */
const COMPANIONS = {
  file_name_column: ['varchar', 'bpchar', 'text'],
  file_type_column: ['varchar', 'bpchar', 'text'],
  file_prefixid_column: ['int2', 'int4', 'int8'],
  file_pathid_column: ['varchar', 'bpchar', 'text'],
} as const

/** Path ids that the gateway gives have so many characters. */
export const PATH_ID_CHARS = 16

/** @param def checked already */
export function fileColumnsOf(def: ColumnDefInput): FileColumns | null {
  if (def.udt_name !== 'file') return null
  return {
    nameColumn: def.file_name_column ?? '',
    typeColumn: def.file_type_column ?? '',
    prefixIdColumn: def.file_prefixid_column ?? '',
    pathIdColumn: def.file_pathid_column ?? '',
    relativePathProperty: def.file_relativepath_property ?? '',
  }
}

/** Each file has its own companions, of the right types, and a property that is no column. */
export function checkFileColumns(defs: ReadonlyMap<string, ColumnDefInput>, faults: DefinitionFault[]): void {
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
  defs: ReadonlyMap<string, ColumnDefInput>,
  owners: ReadonlyMap<string, string>,
): string | undefined {
  if (value === undefined) return 'found nothing, expected it on type file'
  const fault =
    key === 'file_relativepath_property' ? faultOfProperty(value, defs) : faultOfCompanion(key, value, defs)
  const owner = owners.get(value)
  if (fault !== undefined || owner === undefined) return fault
  return `found ${JSON.stringify(value)}, which belongs to ${owner} already`
}

/** A companion is looked up by `get_file`, so it must be readable and hold what the gateway gives. */
function faultOfCompanion(
  key: keyof typeof COMPANIONS,
  value: string,
  defs: ReadonlyMap<string, ColumnDefInput>,
): string | undefined {
  const types: readonly string[] = COMPANIONS[key]
  const companion = defs.get(value)
  const found = `found ${JSON.stringify(value)}`
  if (companion === undefined) return `${found}, expected a column of record_def of type ${types.join(', ')}`
  if (!types.includes(companion.udt_name))
    return `${found} of type ${companion.udt_name}, expected ${types.join(', ')}`
  if (companion.need_crypto) return `${found}, which is encrypted, expected one that can be looked up`
  const length = companion.length ?? PATH_ID_CHARS
  if (key === 'file_pathid_column' && length < PATH_ID_CHARS)
    return `${found} of length ${length}, expected ${PATH_ID_CHARS} or more, the length of path ids`
  return undefined
}

/** The property carries a path into the record and is no column afterwards. */
function faultOfProperty(value: string, defs: ReadonlyMap<string, ColumnDefInput>): string | undefined {
  const found = `found ${JSON.stringify(value)}`
  if (!NAME.test(value)) return `${found}, expected ${NAME_RULE}`
  const isColumn = defs.has(value) || RESERVED_COLUMNS.some((column) => column.name === value)
  return isColumn ? `${found}, which is a column, expected a property that is none` : undefined
}
