import Database from 'better-sqlite3'
import { type DatasetColumn, parseDataType } from '../columns/data-type.js'
import type { StateColumn } from '../columns/state-column.js'
import { type Db, identifier } from '../sqlite/connection/database.js'
import { nativeBinding } from '../sqlite/connection/native.js'
import type { ImportFile } from './import-file.js'
import { type Description, isObject, parseJson, readDescription } from './read-description.js'

const PAGE_ROWS = 500

interface Layer {
  name: string
  /** column of the geometry, null for none */
  geometry: string | null
  srid: number
  /** integer primary key, which is not a column of the dataset */
  fid: string
}

/**
 * Opens the first layer of a GeoPackage. A file of `cite export` describes its columns in the metadata; for
 * any other file the types are those of its table.
 *
 * @throws Error in one line when the file is no GeoPackage, has no layer, or describes its columns wrongly; it
 *   is closed then
 */
export function openGeopackage(file: string): ImportFile {
  return inFile(file, () => {
    const native = nativeBinding()
    const db = new Database(file, {
      readonly: true,
      fileMustExist: true,
      ...(native === undefined ? {} : { nativeBinding: native as unknown as string }),
    })
    try {
      return openLayer(db, file)
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Does work on a file; errors of SQLite do not name it, so they are given its name. */
function inFile<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    throw new Error(`${file} cannot be read as a GeoPackage: ${error.message}`, { cause: error })
  }
}

function openLayer(db: Db, file: string): ImportFile {
  const layer = findLayer(db, file)
  const description = findDescription(db, file)
  return {
    columns: description?.columns ?? columnsOfLayer(db, file, layer),
    keyColumns: description?.keyColumns ?? [],
    records: (columns) => readRecords(db, file, layer, columns),
    close: () => void db.close(),
  }
}

function hasTable(db: Db, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
}

function findLayer(db: Db, file: string): Layer {
  if (!hasTable(db, 'gpkg_contents'))
    throw new Error(`${file}: found no table gpkg_contents, expected a GeoPackage`)
  // a file without features may lack this table
  const geometries = hasTable(db, 'gpkg_geometry_columns')
    ? 'gpkg_geometry_columns'
    : '(SELECT NULL AS table_name, NULL AS column_name, NULL AS srs_id)'
  const row = db
    .prepare<unknown[], { name: string; geometry: string | null; srid: number | null }>(
      `SELECT c.table_name AS name, g.column_name AS geometry, g.srs_id AS srid FROM gpkg_contents AS c
       LEFT JOIN ${geometries} AS g USING (table_name)
       WHERE c.data_type IN ('features', 'attributes') AND typeof(c.table_name) = 'text' ORDER BY c.data_type = 'features' DESC, c.rowid LIMIT 1`,
    )
    .get()
  if (row === undefined) throw new Error(`${file} has no table of features or attributes`)
  const columns = tableInfo(db, row.name)
  if (columns.length === 0)
    throw new Error(`${file}: found no table ${row.name}, expected the one that gpkg_contents lists`)
  const fid = columns.find(({ pk }) => pk === 1)?.name ?? 'rowid'
  return { name: row.name, geometry: row.geometry, srid: row.srid ?? 4326, fid }
}

function findDescription(db: Db, file: string): Description | undefined {
  if (!hasTable(db, 'gpkg_metadata')) return undefined
  const rows = db
    .prepare<unknown[], { id: number; metadata: string }>(
      "SELECT id, coalesce(CAST(metadata AS TEXT), '') AS metadata FROM gpkg_metadata WHERE mime_type = 'application/json' ORDER BY id",
    )
    .all()
  for (const { id, metadata } of rows) {
    const where = `${file}, gpkg_metadata ${id}`
    const value = parseJson(metadata, where, 'JSON, as its mime_type states')
    const description = isObject(value) ? readDescription(value.citation, `${where}, citation`) : undefined
    if (description !== undefined) return description
  }
  return undefined
}

function tableInfo(db: Db, table: string): { name: string; type: string; notnull: number; pk: number }[] {
  return db.pragma(`table_info(${identifier(table)})`) as ReturnType<typeof tableInfo>
}

const TYPE_NAMES: Record<string, string> = {
  BOOLEAN: 'boolean',
  TINYINT: 'smallint',
  SMALLINT: 'smallint',
  MEDIUMINT: 'integer',
  INT: 'bigint',
  INTEGER: 'bigint',
  FLOAT: 'real',
  DOUBLE: 'double precision',
  REAL: 'double precision',
  DATE: 'date',
  DATETIME: 'timestamptz',
  BLOB: 'bytea',
}

function columnsOfLayer(db: Db, file: string, { name, geometry, srid, fid }: Layer): DatasetColumn[] {
  return tableInfo(db, name)
    .filter((column) => column.name !== fid)
    .map((column) => {
      const isGeometry = column.name === geometry
      const typeText = isGeometry
        ? `geometry(Geometry,${srid > 0 ? srid : 4326})`
        : (TYPE_NAMES[column.type.replace(/\(.*/, '').toUpperCase()] ?? 'text')
      const type = parseDataType(typeText)
      if (type === undefined)
        // all names above are known, so it is the system
        throw new Error(
          `${file}: found the system ${srid} (srs_id) of the column ${column.name}, expected a code of EPSG`,
        )
      return { name: column.name, type, isNullable: column.notnull === 0 }
    })
}

async function* readRecords(
  db: Db,
  file: string,
  layer: Layer,
  columns: readonly StateColumn[],
): AsyncGenerator<unknown[]> {
  const present = new Set(tableInfo(db, layer.name).map(({ name }) => name))
  const select = columns.map(({ name }) => (present.has(name) ? identifier(name) : 'NULL'))
  const fid = identifier(layer.fid)
  const page = inFile(file, () =>
    db
      .prepare<unknown[], [bigint, ...unknown[]]>(
        `SELECT ${[fid, ...select].join(', ')} FROM ${identifier(layer.name)} WHERE ${fid} > ? ORDER BY ${fid} LIMIT ?`,
      )
      .raw()
      .safeIntegers(),
  )
  const notedValue = notedValues(db, layer.name)
  for (let after = -(2n ** 62n); ; ) {
    const rows = inFile(file, () => page.all(after, PAGE_ROWS))
    for (const [rowId, ...values] of rows) {
      after = rowId
      yield columns.map((column, at) => {
        const value = values[at]
        if (value === null) return notedValue(column.name, rowId)
        const where = () => `${file}, table ${layer.name}, row ${rowId}, column ${column.name}`
        return importedValue(column, value, column.name === layer.geometry, where)
      })
    }
    if (rows.length < PAGE_ROWS) return
  }
}

/** Returns a function that gives the value that a null stands for: NaN, an infinity, else null. */
function notedValues(db: Db, table: string): (column: string, rowId: bigint) => string | null {
  const references = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'gpkg_metadata_reference'").get()
  if (references === undefined) return () => null
  const find = db
    .prepare<unknown[], string>(
      `SELECT json_extract(m.metadata, '$.value') FROM gpkg_metadata_reference AS r
       JOIN gpkg_metadata AS m ON m.id = r.md_file_id
       WHERE r.reference_scope = 'row/col' AND r.table_name = ? AND r.column_name = ? AND r.row_id_value = ?
       AND m.metadata IN ('{"value":"NaN"}', '{"value":"infinity"}', '{"value":"-infinity"}')`,
    )
    .pluck()
  const hasAny = db.prepare("SELECT 1 FROM gpkg_metadata_reference WHERE reference_scope = 'row/col'").get()
  return (column, rowId) => (hasAny === undefined ? null : (find.get(table, column, rowId) ?? null))
}

/** Returns a value as `dataset.record.put` takes it. */
function importedValue(
  column: StateColumn,
  value: unknown,
  isGeometry: boolean,
  where: () => string,
): unknown {
  if (value instanceof Uint8Array) {
    if (isGeometry) return Buffer.from(wkbOf(value, where)).toString('hex')
    return Buffer.from(value).toString('base64')
  }
  if (typeof value === 'bigint') return column.udtName === 'bool' ? value !== 0n : String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  return column.udtName.startsWith('json') ? parseJson(value as string, where(), 'a JSON value') : value
}

/** Sizes of envelopes by their code in the flags. */
const ENVELOPE_BYTES = [0, 32, 48, 48, 64]

/** Returns the WKB after the header of a GeoPackageBinary. */
function wkbOf(blob: Uint8Array, where: () => string): Uint8Array {
  const [g, p, , flags = 0] = blob
  if (g !== 0x47 || p !== 0x50)
    throw new Error(`${where()}: found a geometry without the magic GP, expected a GeoPackageBinary`)
  const code = (flags >> 1) & 7
  const envelope = ENVELOPE_BYTES[code]
  if (envelope === undefined)
    throw new Error(`${where()}: found a geometry with the envelope code ${code}, expected 0 to 4`)
  return blob.subarray(8 + envelope)
}
