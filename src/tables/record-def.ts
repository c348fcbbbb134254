import { ColumnDef, type ColumnDefInput, MAX_TEXT_LENGTH, NAME, NAME_RULE } from '../api/dataloader/schema.js'
import { faultText } from '../rpc/define-method.js'
import { isFault } from '../storage/columns/column-type.js'
import { typeOf } from '../storage/columns/column-types.js'
import { type Column, RESERVED_COLUMNS } from '../storage/tables.js'
import { checkFileColumns, FILE_KEYS, fileColumnsOf } from './record-def-files.js'

/** One fault of a definition. */
export interface DefinitionFault {
  path: (string | number)[]
  message: string
}

export interface DefinitionInput {
  data_name: string
  schema: string
  record_def: Record<string, unknown>
  unique_columns: string[]
}

/** Defaults are read with these; `now()` is worked out at each call. */
const DEFAULT_ENV = { timeZoneMin: 0, nowUs: 0n }

const SRID_WGS84 = 4326

/**
 * Checks a table definition as a whole.
 *
 * @returns the columns in their order, or every fault
 */
export function readDefinition(
  input: DefinitionInput,
): { columns: Column[] } | { faults: DefinitionFault[] } {
  const faults: DefinitionFault[] = []
  checkTableName(input.data_name, 'data_name', faults)
  checkTableName(input.schema, 'schema', faults)
  const defs = new Map<string, ColumnDefInput>()
  for (const [name, json] of Object.entries(input.record_def)) {
    checkColumnName(name, defs, faults)
    const parsed = ColumnDef.safeParse(json, { reportInput: true })
    if (parsed.success) defs.set(name, parsed.data)
    for (const issue of parsed.error?.issues ?? []) {
      faults.push({
        path: ['record_def', name, ...(issue.path as (string | number)[])],
        message: faultText(issue),
      })
    }
  }
  for (const [name, def] of defs) checkColumn(name, def, faults)
  checkFileColumns(defs, faults)
  checkUnique(input.unique_columns, input.record_def, defs, faults)
  if (faults.length > 0) return { faults }
  return { columns: [...defs].map(([name, def]) => columnOf(name, def)) }
}

/** As it is stored: what was left out has its default. */
function columnOf(name: string, def: ColumnDefInput): Column {
  return {
    name,
    udtName: def.udt_name,
    isNullable: def.is_nullable,
    columnDefault: def.column_default ?? null,
    length: def.length ?? null,
    srid: def.udt_name === 'geometry' ? (def.srid ?? SRID_WGS84) : null,
    isEncrypted: def.need_crypto,
    file: fileColumnsOf(def),
  }
}

/** SQLite keeps names that begin with sqlite_ for itself. */
function checkTableName(name: string, key: 'data_name' | 'schema', faults: DefinitionFault[]): void {
  if (!NAME.test(name)) faults.push({ path: [key], message: `found ${shown(name)}, expected ${NAME_RULE}` })
  else if (/^sqlite_/i.test(name))
    faults.push({
      path: [key],
      message: `found ${shown(name)}, expected a name that does not begin with sqlite_`,
    })
}

/** SQLite does not tell column names apart by the case of ASCII letters, and neither would a table that is exported. */
function checkColumnName(
  name: string,
  earlier: ReadonlyMap<string, unknown>,
  faults: DefinitionFault[],
): void {
  const path = ['record_def', name]
  if (!NAME.test(name)) faults.push({ path, message: `found the name ${shown(name)}, expected ${NAME_RULE}` })
  const reserved = RESERVED_COLUMNS.find((column) => isSameName(column.name, name))
  if (reserved !== undefined)
    faults.push({ path, message: `${reserved.name} is a reserved column, it is made by itself` })
  const twin = [...earlier.keys()].find((other) => isSameName(other, name))
  if (twin !== undefined)
    faults.push({
      path,
      message: `differs from ${shown(twin)} by the case of letters only, expected another name`,
    })
}

/** What of a column depends on its type alone. */
function checkColumn(name: string, def: ColumnDefInput, faults: DefinitionFault[]): void {
  const type = typeOf(def.udt_name)
  const fault = (key: string, message: string) => faults.push({ path: ['record_def', name, key], message })
  const length = def.length ?? null
  if (length !== null && type.lengthUnit === null)
    fault(
      'length',
      `found a length on ${def.udt_name}, expected it on varchar, bpchar, text, bytea or file only`,
    )
  if (length !== null && type.lengthUnit === 'characters' && length > MAX_TEXT_LENGTH)
    fault('length', `found ${length}, expected at most ${MAX_TEXT_LENGTH} characters`)
  if (def.srid !== undefined && def.srid !== null && def.udt_name !== 'geometry')
    fault('srid', `found a srid on ${def.udt_name}, expected it on geometry only`)
  if (def.udt_name !== 'file') {
    for (const key of FILE_KEYS)
      if (def[key] !== undefined) fault(key, `found on ${def.udt_name}, expected on type file only`)
  }
  if (def.need_crypto) checkCrypto(def, fault)
  else if (typeof def.column_default === 'string') checkDefault(def, def.column_default, fault)
}

type AddFault = (key: string, message: string) => void

/** The platform's rules: a length would have to count characters that are no longer seen. */
function checkCrypto(def: ColumnDefInput, fault: AddFault): void {
  if (def.udt_name !== 'varchar' && def.udt_name !== 'text')
    fault('need_crypto', `found on ${def.udt_name}, expected on varchar or text only`)
  if (def.length !== undefined && def.length !== null)
    fault('length', 'found beside need_crypto, expected one of the two')
  if (def.column_default !== undefined && def.column_default !== null)
    fault('column_default', 'found beside need_crypto, expected one of the two')
}

/** By the type's own reading, so that a default can never fail when records come. */
function checkDefault(def: ColumnDefInput, text: string, fault: AddFault): void {
  if (def.udt_name === 'file') {
    fault('column_default', 'found a default on type file, expected none: each file comes with its record')
    return
  }
  const rules = {
    length: def.length ?? null,
    srid: def.udt_name === 'geometry' ? (def.srid ?? SRID_WGS84) : null,
  }
  const value = typeOf(def.udt_name).read(text, rules, DEFAULT_ENV)
  if (isFault(value)) fault('column_default', `found ${value.found}, expected ${value.expected}`)
}

/** Encrypted values differ each time, so no key can be made of them. */
function checkUnique(
  names: readonly string[],
  recordDef: Record<string, unknown>,
  defs: ReadonlyMap<string, ColumnDefInput>,
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
        message: `found ${shown(name)}, expected a column of record_def or a reserved one`,
      })
    else if (names.indexOf(name) !== index)
      faults.push({ path, message: `found ${shown(name)} a second time` })
    else if (defs.get(name)?.need_crypto === true)
      faults.push({
        path,
        message: `found the encrypted column ${shown(name)}, expected one that can be compared`,
      })
  }
}

function isSameName(a: string, b: string): boolean {
  return lowerAscii(a) === lowerAscii(b)
}

/** SQLite folds these letters and no others. */
function lowerAscii(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
}
