import { encodeWkb } from '../../geo/wkb.js'
import { isFault, type Stored } from '../../storage/columns/column-type.js'
import { typeOf } from '../../storage/columns/column-types.js'
import { writeGeopackage } from '../../storage/formats/write-geopackage.js'
import { loaderStateColumn } from '../../storage/sqlite/versions/versioned-table.js'
import type { Column, LoaderTable, TableRow } from '../../storage/tables.js'
import type { TableData } from './table-data.js'

/** Writes records as a GeoPackage, with the writer of citations. Encrypted columns become plain text. */
export async function writeTableGeopackage(
  file: string,
  table: LoaderTable,
  pages: AsyncIterable<TableRow[]>,
  { timeZoneMin, nowUs }: TableData,
): Promise<void> {
  // the writer uses the first geometry column as that of the feature
  const columns = [...table.columns].sort(
    (a, b) => Number(b.name === 'location') - Number(a.name === 'location'),
  )
  const env = { timeZoneMin, nowUs: BigInt(nowUs()) }
  async function* rows() {
    for await (const page of pages)
      yield page.map((row) => ({
        rowId: row.rowId,
        values: columns.map((column) => storedOf(column, row, env)),
      }))
  }
  const { dataName } = table
  await writeGeopackage(file, {
    citation: {
      citationId: 0,
      shortForm: dataName,
      longForm: dataName,
      datasetName: dataName,
      datasetRealname: `${table.schema}.${table.tableName}`,
      createdAtUs: nowUs(),
      transactionTimeUs: nowUs(),
      checksum: null,
      origin: null,
    },
    columns: columns.map((column) => ({ ...loaderStateColumn(column), isEncrypted: false })),
    keyColumns: table.uniqueColumns,
    env,
    pages: rows(),
  })
}

/** Converts a printed value back to its stored form: a type reads what it prints. */
function storedOf(
  column: Column,
  { geometry, properties }: TableRow,
  env: { timeZoneMin: number; nowUs: bigint },
): Stored {
  if (column.name === 'location') return geometry === null ? null : encodeWkb(geometry)
  const json = properties[column.name]
  if (json === null || json === undefined) return null
  const stored = typeOf(column.udtName).read(json, column, env)
  if (isFault(stored)) throw new Error(`found ${stored.found} in ${column.name}, expected ${stored.expected}`)
  return stored
}
