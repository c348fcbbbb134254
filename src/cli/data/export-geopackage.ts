import { encodeWkb } from '../../geo/wkb.js'
import { isFault, type Stored } from '../../storage/columns/column-type.js'
import { typeOf } from '../../storage/columns/column-types.js'
import { writeGeopackage } from '../../storage/formats/write-geopackage.js'
import { loaderStateColumn } from '../../storage/sqlite/versions/versioned-table.js'
import type { Column, LoaderTable, TableRow } from '../../storage/tables.js'
import type { TableData } from './table-data.js'

/** Writes records as a GeoPackage by the writer of citations; what is encrypted in the table is plain text there. */
export async function writeTableGeopackage(
  file: string,
  table: LoaderTable,
  pages: AsyncIterable<TableRow[]>,
  { timeZoneMin, nowUs }: TableData,
): Promise<void> {
  // the writer takes the first geometry for the feature's
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
    },
    columns: columns.map((column) => ({ ...loaderStateColumn(column), isEncrypted: false })),
    keyColumns: table.uniqueColumns,
    env,
    pages: rows(),
  })
}

/** What was printed is what can be put, so reading it gives what is stored. */
function storedOf(
  column: Column,
  { geometry, properties }: TableRow,
  env: { timeZoneMin: number; nowUs: bigint },
): Stored {
  if (column.name === 'location') return geometry === null ? null : encodeWkb(geometry)
  const json = properties[column.name]
  if (json === null || json === undefined) return null
  const stored = typeOf(column.udtName).read(json, column, env)
  if (isFault(stored)) throw new Error(`a value of ${column.name} does not fit its type: ${stored.found}`)
  return stored
}
