import { isFault } from '../../geo/fault.js'
import { decodeWkb } from '../../geo/wkb.js'
import { fileFault } from '../faults.js'
import { BATCH_ROWS, type FileRow, type RowFile } from '../row-file.js'
import {
  openSqliteFile,
  type SqliteFile,
  type SqliteRow,
  type SqliteTable,
  type SqliteValue,
} from './sqlite-file.js'

const WGS84 = 4326

interface Layer {
  readonly name: string
  /** column of the geometry, `undefined` for a layer of attributes alone */
  readonly geometry: string | undefined
}

/**
 * Opens a layer of a GeoPackage, the first one unless another is named.
 *
 * @throws FileFault BAD_DATABASE, BAD_CRS
 * @see OGC 12-128r18, GeoPackage Encoding Standard 1.3.1
 */
export async function openGeopackage(blob: Blob, wanted: string | undefined): Promise<RowFile> {
  const file = await openSqliteFile(blob)
  const layers = await layersOf(file)
  const layer = layers.find(({ name }) => name === wanted) ?? layers[0]
  const table = layer === undefined ? undefined : file.table(layer.name)
  if (layer === undefined || table === undefined) throw bad('it has no layer of features')
  if (layer.geometry !== undefined) await requireWgs84(file, layer.name)
  async function* batches(onRead?: (share: number) => void): AsyncGenerator<FileRow[]> {
    if (table === undefined || layer === undefined) return
    let [batch, place] = [[] as FileRow[], 0]
    for await (const rows of file.rows(table, onRead)) {
      for (const row of rows) batch.push(rowOf(table, layer, row, ++place))
      if (batch.length < BATCH_ROWS) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }
  const names = layers.map(({ name }) => name)
  return { format: 'gpkg', places: 'records', layer: layer.name, layers: names, batches }
}

async function layersOf(file: SqliteFile): Promise<Layer[]> {
  const geometries = new Map<string, string>()
  for (const row of await recordsOf(file, 'gpkg_geometry_columns'))
    geometries.set(String(row.table_name), String(row.column_name))
  const contents = await recordsOf(file, 'gpkg_contents')
  return contents
    .filter(({ data_type }) => data_type === 'features' || data_type === 'attributes')
    .map(({ table_name }) => String(table_name))
    .filter((name) => file.table(name) !== undefined)
    .map((name) => ({ name, geometry: geometries.get(name) }))
    .sort((a, b) => Number(a.geometry === undefined) - Number(b.geometry === undefined))
}

/** The reference system by its EPSG code, which the file may number otherwise. */
async function requireWgs84(file: SqliteFile, layer: string): Promise<void> {
  const geometries = await recordsOf(file, 'gpkg_geometry_columns')
  const id = geometries.find(({ table_name }) => table_name === layer)?.srs_id
  const systems = await recordsOf(file, 'gpkg_spatial_ref_sys')
  const code = systems.find(({ srs_id }) => srs_id === id)?.organization_coordsys_id ?? id
  if (code !== WGS84) throw fileFault('BAD_CRS', { srid: String(code) })
}

/** All rows of a small table of the standard. */
async function recordsOf(file: SqliteFile, name: string): Promise<Record<string, SqliteValue>[]> {
  const table = file.table(name)
  if (table === undefined) throw bad(`it has no table ${name}`)
  const records: Record<string, SqliteValue>[] = []
  for await (const rows of file.rows(table))
    for (const { values } of rows)
      records.push(
        Object.fromEntries(table.columns.map(({ name: column }, at) => [column, values[at] ?? null])),
      )
  return records
}

function rowOf({ columns }: SqliteTable, { geometry }: Layer, { values }: SqliteRow, place: number): FileRow {
  const entries: [string, unknown][] = []
  let own: unknown = null
  for (const [at, { name, definition }] of columns.entries()) {
    if (values.length <= at && /\bdefault\b/i.test(definition))
      throw bad(
        `its column ${name} was added later with a default: write the layer anew, for example with ogr2ogr`,
      )
    const value = values[at] ?? null
    if (name === geometry) own = geometryOf(value)
    else if (!isRowId(definition)) entries.push([name, plainValue(value, definition)])
  }
  return { place, values: Object.fromEntries(entries), geometry: own }
}

/** The row id is no column of the data. */
function isRowId(definition: string): boolean {
  return /\binteger\b[\s\S]*\bprimary\s+key\b/i.test(definition)
}

function plainValue(value: SqliteValue, definition: string): unknown {
  if (value instanceof Uint8Array) return btoa(String.fromCharCode(...value.subarray(0, 60_000)))
  return /\sboolean\b/i.test(definition) && (value === 0 || value === 1) ? value === 1 : value
}

const ENVELOPE_BYTES = [0, 32, 48, 48, 64]

/** Geometry of the standard's binary form: a header, then WKB; text that tells what is wrong with it. */
function geometryOf(value: SqliteValue): unknown {
  if (!(value instanceof Uint8Array)) return value
  if (value[0] !== 0x47 || value[1] !== 0x50) throw bad('found a geometry of another form')
  const flags = value[3] ?? 0
  const envelope = ENVELOPE_BYTES[(flags >> 1) & 7]
  if (envelope === undefined || (flags & 0x20) !== 0) throw bad('found a geometry of another form')
  if ((flags & 0x10) !== 0) return null // empty
  const geometry = decodeWkb(value.subarray(8 + envelope))
  if (isFault(geometry))
    throw bad(`found a damaged geometry: ${geometry.found}, expected ${geometry.expected}`)
  return geometry
}

function bad(reason: string): Error {
  return fileFault('BAD_DATABASE', { reason })
}
