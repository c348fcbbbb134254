import { isFault } from '../storage/columns/column-type.js'
import { typeOf } from '../storage/columns/column-types.js'
import { type Column, ORIGIN_COLUMN, RESERVED_COLUMNS } from '../storage/tables.js'
import { type ColumnDef, type DefinitionFault, MAX_TEXT_LENGTH, NAME, NAME_RULE } from './column-def.js'
import { checkFileColumns, FILE_KEYS, fileColumnsOf } from './file-columns.js'

/** Definition of a table, with the names of the contract. */
interface DefinitionInput {
  readonly data_name: string
  readonly schema: string
  /** column name → definition, unchecked */
  readonly record_def: Readonly<Record<string, unknown>>
  readonly unique_columns: readonly string[]
}

/** Reads the definition of one column by itself; the paths of faults begin at the column. */
type ReadColumnDef = (json: unknown) => { def: ColumnDef } | { faults: readonly DefinitionFault[] }

/** Defaults are checked in this environment; the value of `now()` is that of each call. */
const DEFAULT_ENV = { timeZoneMin: 0, nowUs: 0n }

const SRID_WGS84 = 4326

/**
 * Checks a table definition as a whole.
 *
 * @param readColumn reads the definition of one column
 * @returns the columns in their order, or every fault
 */
export function readDefinition(
  input: DefinitionInput,
  readColumn: ReadColumnDef,
): { columns: Column[] } | { faults: DefinitionFault[] } {
  const faults: DefinitionFault[] = []
  checkTableName(input.data_name, 'data_name', faults)
  checkTableName(input.schema, 'schema', faults)
  const defs = new Map<string, ColumnDef>()
  for (const [name, json] of Object.entries(input.record_def)) {
    checkColumnName(name, defs, faults)
    const read = readColumn(json)
    if ('def' in read) defs.set(name, read.def)
    else {
      for (const { path, message } of read.faults)
        faults.push({ path: ['record_def', name, ...path], message })
    }
  }
  for (const [name, def] of defs) checkColumn(name, def, faults)
  checkFileColumns(defs, faults)
  checkUnique(input, defs, faults)
  if (faults.length > 0) return { faults }
  return { columns: [...defs].map(([name, def]) => columnOf(name, def)) }
}

/**
 * Checks columns that are added to a table.
 *
 * @param defs column name → definition, unchecked; paths of faults begin with `add_columns`
 * @returns the columns in their order, or every fault
 */
export function readAddedColumns(
  defs: Readonly<Record<string, unknown>>,
  readColumn: ReadColumnDef,
): { columns: Column[] } | { faults: DefinitionFault[] } {
  const input = { data_name: 'x', schema: 'x', record_def: defs, unique_columns: ['start_datetime'] }
  const read = readDefinition(input, readColumn)
  const found = 'faults' in read ? read.faults.filter(({ path }) => path[0] === 'record_def') : []
  const faults = found.map(({ path, message }) => ({ path: ['add_columns', ...path.slice(1)], message }))
  if (Object.keys(defs).length === 0)
    faults.push({ path: ['add_columns'], message: 'found no column, expected at least one' })
  if ('faults' in read) return { faults }
  for (const { name, isNullable, columnDefault, file } of read.columns) {
    const fault = (key: string, message: string) => faults.push({ path: ['add_columns', name, key], message })
    if (!isNullable)
      fault('is_nullable', 'found false, expected true: rows that are stored have no value of it')
    if (columnDefault !== null)
      fault('column_default', 'found a default, expected none: rows that are stored have no value of it')
    if (file !== null)
      fault('udt_name', 'found file, expected another type: files need a table that is registered with them')
  }
  return faults.length > 0 ? { faults } : { columns: read.columns }
}

/** Returns a column as it is stored, with the defaults of members that the definition omits. */
function columnOf(name: string, def: ColumnDef): Column {
  return {
    name,
    udtName: def.udt_name,
    isNullable: def.is_nullable,
    columnDefault: def.column_default ?? null,
    length: def.length ?? null,
    srid: sridOf(def),
    isEncrypted: def.need_crypto,
    file: fileColumnsOf(def),
  }
}

function sridOf({ udt_name, srid }: ColumnDef): number | null {
  return udt_name === 'geometry' ? (srid ?? SRID_WGS84) : null
}

/** The prefix sqlite_ is reserved by the database. */
function checkTableName(name: string, key: 'data_name' | 'schema', faults: DefinitionFault[]): void {
  if (!NAME.test(name)) faults.push({ path: [key], message: `found ${shown(name)}, expected ${NAME_RULE}` })
  else if (/^sqlite_/i.test(name))
    faults.push({
      path: [key],
      message: `found ${shown(name)}, expected a name that does not begin with sqlite_`,
    })
}

/** Names that differ in the case of ASCII letters only are the same name to many databases, and to files. */
function checkColumnName(
  name: string,
  earlier: ReadonlyMap<string, unknown>,
  faults: DefinitionFault[],
): void {
  const path = ['record_def', name]
  if (!NAME.test(name)) faults.push({ path, message: `found the name ${shown(name)}, expected ${NAME_RULE}` })
  const reserved = [...RESERVED_COLUMNS, ORIGIN_COLUMN].find((column) => isSameName(column.name, name))
  if (reserved !== undefined)
    faults.push({ path, message: `found the reserved column ${reserved.name}, which every table has` })
  const twin = [...earlier.keys()].find((other) => isSameName(other, name))
  if (twin !== undefined)
    faults.push({
      path,
      message: `found a name that differs from ${shown(twin)} in the case of letters only, expected another name`,
    })
}

/** Checks what depends on the type of the column alone. */
function checkColumn(name: string, def: ColumnDef, faults: DefinitionFault[]): void {
  const type = typeOf(def.udt_name)
  const fault = (key: string, message: string) => faults.push({ path: ['record_def', name, key], message })
  const length = def.length ?? null
  if (length !== null && type.lengthUnit === null)
    fault(
      'length',
      `found a length on ${def.udt_name}, expected one on varchar, bpchar, text, bytea or file only`,
    )
  if (length !== null && type.lengthUnit === 'characters' && length > MAX_TEXT_LENGTH)
    fault('length', `found ${length}, expected at most ${MAX_TEXT_LENGTH} characters`)
  if (def.srid !== undefined && def.srid !== null && def.udt_name !== 'geometry')
    fault('srid', `found a srid on ${def.udt_name}, expected one on geometry only`)
  if (def.udt_name !== 'file') {
    for (const key of FILE_KEYS)
      if (def[key] !== undefined) fault(key, `found ${key} on ${def.udt_name}, expected it on file only`)
  }
  if (def.need_crypto) checkCrypto(def, fault)
  else if (typeof def.column_default === 'string') checkDefault(def, def.column_default, fault)
}

type AddFault = (key: string, message: string) => void

/** The platform's rules: a length would count characters of encrypted text. */
function checkCrypto(def: ColumnDef, fault: AddFault): void {
  if (def.udt_name !== 'varchar' && def.udt_name !== 'text')
    fault('need_crypto', `found need_crypto on ${def.udt_name}, expected it on varchar or text only`)
  if (def.length !== undefined && def.length !== null)
    fault('length', 'found a length beside need_crypto, expected one of the two')
  if (def.column_default !== undefined && def.column_default !== null)
    fault('column_default', 'found a default beside need_crypto, expected one of the two')
}

/** Reads the default as a record would carry it, so that a default never fails when records are stored. */
function checkDefault(def: ColumnDef, text: string, fault: AddFault): void {
  if (def.udt_name === 'file') {
    fault('column_default', 'found a default on type file, expected none')
    return
  }
  const rules = { length: def.length ?? null, srid: sridOf(def) }
  const value = typeOf(def.udt_name).read(text, rules, DEFAULT_ENV)
  if (isFault(value)) fault('column_default', `found ${value.found}, expected ${value.expected}`)
}

/** An encrypted value differs each time it is encrypted, so it cannot be part of a key. */
function checkUnique(
  { unique_columns: names, record_def: recordDef }: DefinitionInput,
  defs: ReadonlyMap<string, ColumnDef>,
  faults: DefinitionFault[],
): void {
  if (names.length === 0)
    faults.push({ path: ['unique_columns'], message: 'found none, expected at least one column' })
  for (const [index, name] of names.entries()) {
    const path = ['unique_columns', index]
    const isKnown = Object.hasOwn(recordDef, name) || RESERVED_COLUMNS.some((column) => column.name === name)
    if (!isKnown)
      faults.push({
        path,
        message: `found ${shown(name)}, expected a column of record_def or a reserved column`,
      })
    else if (names.indexOf(name) !== index)
      faults.push({ path, message: `found ${shown(name)} twice, expected it once` })
    else if (defs.get(name)?.need_crypto === true)
      faults.push({
        path,
        message: `found the encrypted column ${shown(name)}, expected one that is not encrypted`,
      })
  }
}

function isSameName(a: string, b: string): boolean {
  return lowerAscii(a) === lowerAscii(b)
}

/** Folds ASCII letters and no others, as SQLite compares names. */
function lowerAscii(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
}
