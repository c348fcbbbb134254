import Database from 'better-sqlite3'
import { formatDatetime, isInfinite, withoutOffset } from '../../datetime.js'
import { bboxOf } from '../../geo/bbox.js'
import type { Bbox } from '../../geo/types.js'
import { encodeWkt } from '../../geo/wkt.js'
import { decodeStored } from '../columns/byte-types.js'
import type { Stored, ValueEnv } from '../columns/column-type.js'
import type { StateColumn } from '../columns/state-column.js'
import { type Db, identifier } from '../sqlite/connection/database.js'
import { nativeBinding } from '../sqlite/connection/native.js'
import type { ExportedState, ExportRow } from './exported-state.js'
import { GEOPACKAGE_SCHEMA, SRS_ROWS } from './geopackage-schema.js'
import { describeCitation } from './write-geojson.js'

/** 'GPKG' */
const APPLICATION_ID = 0x47504b47
/** GeoPackage 1.3 */
const USER_VERSION = 10_300

/**
 * Writes rows as a GeoPackage: a feature table with the name of the dataset, or an attribute table when there
 * is no geometry. The first geometry column is the geometry, further ones are WKT. Times with a zone are
 * DATETIME in UTC, exact decimals and JSON are text.
 *
 * `gpkg_metadata` holds the description of the citation, the types of the columns, and each value that the
 * column of the file cannot hold and has null for: NaN, which SQLite cannot store, and the infinities of DATE
 * and DATETIME.
 *
 * @param file must not exist
 * @see OGC 12-128r18, GeoPackage Encoding Standard 1.3.1
 */
export async function writeGeopackage(file: string, state: ExportedState): Promise<void> {
  const native = nativeBinding()
  const db = new Database(file, native === undefined ? {} : { nativeBinding: native as unknown as string })
  try {
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${USER_VERSION}`)
    db.pragma('journal_mode = MEMORY') // an incomplete file is deleted anyway
    db.pragma('synchronous = OFF') // whoever keeps the file syncs it
    db.exec('BEGIN')
    db.exec(GEOPACKAGE_SCHEMA)
    const table = createTable(db, state)
    const writer = createRowWriter(db, state, table)
    for await (const rows of state.pages) writer.add(rows)
    describeTable(db, state, table, writer.found())
    db.exec('COMMIT')
  } finally {
    db.close()
  }
}

interface GeopackageTable {
  readonly name: string
  readonly fid: string
  /** position of the geometry column, -1 for none */
  readonly place: number
  /** EPSG code of the geometry column, 0 for none */
  readonly srid: number
}

/** Facts found while rows are written. */
interface Found {
  extent: Bbox | undefined
  hasHeights: boolean
}

function createTable(db: Db, { citation, columns }: ExportedState): GeopackageTable {
  const isReserved = /^(?:gpkg_|rtree_|sqlite_)/i.test(citation.datasetName)
  const name = isReserved ? `_${citation.datasetName}` : citation.datasetName
  const taken = new Set(columns.map((column) => column.name.toLowerCase()))
  let fid = 'fid'
  for (let n = 1; taken.has(fid); n++) fid = `fid_${n}`
  const place = columns.findIndex(({ srid }) => srid !== null)
  const lines = columns.map((column, at) => {
    const type = at === place ? geometryType(column) : columnType(column)
    // a column whose values may have to be written as null cannot be NOT NULL
    const isNullable = column.isNullable || hasNotedValues(column)
    return `${identifier(column.name)} ${type}${isNullable ? '' : ' NOT NULL'}`
  })
  const head = `${identifier(fid)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL`
  db.exec(`CREATE TABLE ${identifier(name)} (${[head, ...lines].join(', ')})`)
  return { name, fid, place, srid: columns[place]?.srid ?? 0 }
}

/** Most values that one statement inserts, unless a row has more: fewer statements take less time. */
const STATEMENT_VALUES = 128

function createRowWriter(db: Db, { columns, env }: ExportedState, table: GeopackageTable) {
  const names = [table.fid, ...columns.map(({ name }) => name)].map(identifier)
  const marks = `(${names.map(() => '?').join(', ')})`
  const prepare = (count: number) =>
    db.prepare(
      `INSERT INTO ${identifier(table.name)} (${names.join(', ')}) VALUES ${Array(count).fill(marks).join(', ')}`,
    )
  const together = Math.max(1, Math.floor(STATEMENT_VALUES / names.length))
  const insertOne = prepare(1)
  const insertSome = prepare(together)
  const note = createNotes(db, table)
  const found: Found = { extent: undefined, hasHeights: false }
  const writers = columns.map((column) => valueWriter(column, env))
  const blobs = Array.from({ length: together }, () => createGeometryBlobs(table.srid, found))
  const noting = columns.flatMap((column, at) => (hasNotedValues(column) ? [{ column, at }] : []))
  const write = ({ rowId, values }: ExportRow, slot: number, params: unknown[]) => {
    params.push(rowId)
    for (let at = 0; at < writers.length; at++) {
      const stored = values[at] ?? null
      const writer = at === table.place ? blobs[slot] : writers[at]
      params.push(stored === null ? null : writer?.(stored))
    }
    for (const { column, at } of noting) {
      const value = notedValue(column, values[at] ?? null)
      if (value !== undefined) note(value, column.name, rowId)
    }
  }
  return {
    add(rows: readonly ExportRow[]) {
      for (let from = 0; from < rows.length; ) {
        const count = rows.length - from >= together ? together : 1
        const params: unknown[] = []
        for (let slot = 0; slot < count; slot++) write(rows[from + slot] as ExportRow, slot, params)
        if (count === 1) insertOne.run(params)
        else insertSome.run(params)
        from += count
      }
    },
    found: () => found,
  }
}

/** Values that are written as null and noted, at the ids of their metadata rows from 2 on. */
const NOTED_VALUES = ['NaN', 'infinity', '-infinity']

/** True for a column that may have such values. A `timestamp` is TEXT, which holds its infinities. */
function hasNotedValues({ udtName }: StateColumn): boolean {
  return udtName.startsWith('float') || udtName === 'date' || udtName === 'timestamptz'
}

/** Returns the text of a value that is written as null; undefined for other values. */
function notedValue(column: StateColumn, stored: Stored): string | undefined {
  if (stored === null || !hasNotedValues(column)) return undefined
  if (typeof stored !== 'bigint') return NOTED_VALUES.find((value) => value === stored)
  return isInfinite(stored) ? formatDatetime(stored, 0) : undefined
}

/**
 * Returns a function that notes a value: one metadata row means the value, each place refers to it with scope
 * `row/col`.
 */
function createNotes(db: Db, table: GeopackageTable): (value: string, column: string, rowId: number) => void {
  const define = db.prepare(
    `INSERT OR IGNORE INTO gpkg_metadata (id, md_scope, md_standard_uri, mime_type, metadata)
     VALUES (?, 'attribute', 'https://www.rfc-editor.org/rfc/rfc8259', 'application/json', ?)`,
  )
  const refer = db.prepare(
    `INSERT INTO gpkg_metadata_reference (reference_scope, table_name, column_name, row_id_value, md_file_id)
     VALUES ('row/col', ?, ?, ?, ?)`,
  )
  return (value, column, rowId) => {
    const id = 2 + NOTED_VALUES.indexOf(value)
    define.run(id, JSON.stringify({ value }))
    refer.run(table.name, column, rowId, id)
  }
}

function describeTable(db: Db, state: ExportedState, table: GeopackageTable, found: Found): void {
  const column = state.columns[table.place]
  const { srid } = table
  const srs = db.prepare('INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, ?)')
  for (const row of SRS_ROWS) srs.run(...row)
  srs.run(`EPSG:${srid}`, srid, 'EPSG', srid, 'undefined', null)
  const { citation } = state
  db.prepare(
    `INSERT INTO gpkg_contents (table_name, data_type, identifier, description, last_change, min_x, min_y, max_x, max_y, srs_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    table.name,
    column === undefined ? 'attributes' : 'features',
    table.name,
    citation.longForm === citation.datasetName
      ? citation.datasetName // uncited rows of `data export`
      : `${citation.datasetName} as cited by ${citation.longForm}`,
    new Date(citation.createdAtUs / 1000).toISOString(),
    ...(found.extent ?? [null, null, null, null]),
    srid,
  )
  if (column !== undefined) {
    db.prepare('INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, ?, ?, 0)').run(
      table.name,
      column.name,
      geometryType(column),
      srid,
      found.hasHeights ? 2 : 0, // z: 2 optional, 0 prohibited
    )
  }
  db.prepare(
    `INSERT INTO gpkg_metadata (id, md_scope, md_standard_uri, mime_type, metadata)
     VALUES (1, 'dataset', 'https://www.rfc-editor.org/rfc/rfc8259', 'application/json', ?)`,
  ).run(JSON.stringify({ citation: describeCitation(state) }))
  db.prepare(
    "INSERT INTO gpkg_metadata_reference (reference_scope, table_name, md_file_id) VALUES ('table', ?, 1)",
  ).run(table.name)
}

function geometryType({ typeText }: StateColumn): string {
  return /^geometry\((\w+),/.exec(typeText)?.[1]?.toUpperCase() ?? 'GEOMETRY'
}

function columnType(column: StateColumn): string {
  const { udtName, rules } = column
  if (column.isFile) return 'BLOB'
  switch (udtName) {
    case 'bool':
      return 'BOOLEAN'
    case 'int2':
      return 'SMALLINT'
    case 'int4':
      return 'MEDIUMINT'
    case 'int8':
      return 'INTEGER'
    case 'float4':
      return 'FLOAT'
    case 'float8':
      return 'DOUBLE'
    case 'date':
      return 'DATE'
    case 'timestamptz':
      return 'DATETIME'
    case 'bytea':
    case 'raster':
      return 'BLOB'
    default:
      return rules.length === null ? 'TEXT' : `TEXT(${rules.length})`
  }
}

type ValueWriter = (stored: Exclude<Stored, null>) => unknown

/** Returns the function that converts the values of a column to those of the file. */
function valueWriter(column: StateColumn, env: ValueEnv): ValueWriter {
  if (column.srid !== null) return (stored) => encodeWkt(decodeStored(stored as Uint8Array))
  const write = plainWriter(column, env)
  if (!hasNotedValues(column)) return write
  return (stored) => (notedValue(column, stored) === undefined ? write(stored) : null)
}

function plainWriter(column: StateColumn, env: ValueEnv): ValueWriter {
  switch (column.udtName) {
    case 'timestamptz': {
      // milliseconds as in the standard, microseconds where the value has them
      const utc = { ...env, timeZoneMin: 0 }
      return latest((stored) => utcText(String(column.type.print(stored, utc))))
    }
    case 'timestamp':
      return latest((stored) => column.type.print(stored, env))
    case 'float4':
    case 'float8':
      return (stored) => (typeof stored === 'number' ? stored : Number(stored))
    default:
      return (stored) => stored
  }
}

/** Keeps the last result: rows that follow one another often have the same time. */
function latest(write: ValueWriter): ValueWriter {
  let last: Stored = null
  let written: unknown
  return (stored) => {
    if (stored !== last) {
      written = write(stored)
      last = stored
    }
    return written
  }
}

/** Returns `2025-01-02T03:04:05.678Z` for a time printed with `+00:00`. */
function utcText(printed: string): string {
  const [head = '', fraction = ''] = withoutOffset(printed).split('.')
  return `${head}.${fraction.padEnd(3, '0').replace(/^(\d{3})0+$/, '$1')}Z`
}

const HEAD_BYTES = 8
const ENVELOPE_BYTES = 32
/** of a point without height: byte order, type, two coordinates */
const POINT_BYTES = 21
const POINT_CODE = 1

/**
 * Returns a function that makes GeoPackageBinary: a header with the envelope, then the stored WKB. It extends
 * `found`. Bytes of its result are valid until the next call. A point has no envelope, which would say its place twice more.
 */
function createGeometryBlobs(srid: number, found: Found): ValueWriter {
  let blob = Buffer.alloc(0)
  return (stored) => {
    const wkb = stored as Uint8Array
    const view = new DataView(wkb.buffer, wkb.byteOffset, wkb.byteLength)
    const code = view.getUint32(1, true)
    const box = boxOf(view, code)
    const hasEnvelope = box !== undefined && code % 1000 !== POINT_CODE
    const headBytes = HEAD_BYTES + (hasEnvelope ? ENVELOPE_BYTES : 0)
    if (blob.length !== headBytes + wkb.length) blob = Buffer.alloc(headBytes + wkb.length)
    blob.write('GP', 0, 'latin1')
    // flags: little endian; an xy envelope or none; the flag of an empty geometry
    blob[3] = box === undefined ? 0b1_0001 : hasEnvelope ? 0b0_0011 : 0b0_0001
    blob.writeInt32LE(srid, 4)
    if (box !== undefined) found.extent = joined(found.extent, box)
    if (hasEnvelope) {
      const [west, south, east, north] = box
      blob.writeDoubleLE(west, 8)
      blob.writeDoubleLE(east, 16)
      blob.writeDoubleLE(south, 24)
      blob.writeDoubleLE(north, 32)
    }
    blob.set(wkb, headBytes)
    found.hasHeights ||= code > 1000
    return blob
  }
}

/** Returns the box of stored WKB; undefined for an empty geometry. Points, the most frequent, are not decoded. */
function boxOf(wkb: DataView, code: number): Bbox | undefined {
  if (code === POINT_CODE && wkb.byteLength === POINT_BYTES && wkb.getUint8(0) === 1) {
    const x = wkb.getFloat64(5, true)
    const y = wkb.getFloat64(13, true)
    if (!Number.isNaN(x + y)) return [x, y, x, y]
  }
  return bboxOf(decodeStored(new Uint8Array(wkb.buffer, wkb.byteOffset, wkb.byteLength)))
}

function joined(a: Bbox | undefined, b: Bbox): Bbox {
  if (a === undefined) return b
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]
}
