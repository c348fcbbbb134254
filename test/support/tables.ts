import { createKeyring } from '../../src/storage/keyring.js'
import { type DataDb, openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { transaction } from '../../src/storage/sqlite/connection/database.js'
import { registerTable } from '../../src/storage/sqlite/tables/catalog.js'
import { putRecords } from '../../src/storage/sqlite/tables/put.js'
import { createTableReader } from '../../src/storage/sqlite/tables/reader.js'
import type {
  Column,
  Counters,
  IfExists,
  LoaderTable,
  PutOptions,
  TableQuery,
  TableReader,
  TableRow,
} from '../../src/storage/tables.js'

/** A time zone that is not a whole number of hours shows what depends on it. */
export const TIME_ZONE_MIN = 9 * 60
/** 2025-01-02T03:04:05.678901Z */
export const NOW_US = 1_735_787_045_678_901

export interface Tables {
  data: DataDb
  reader: TableReader
  /** digest → bytes, in place of a blob store */
  files: Map<string, Uint8Array>
  register(dataName: string, columns: Partial<Column>[], uniqueColumns: string[]): LoaderTable
  put(
    table: LoaderTable,
    records: Iterable<unknown>,
    ifExists?: IfExists,
    more?: Partial<PutOptions>,
  ): Promise<Counters>
  read(table: LoaderTable, query?: TableQuery): Promise<TableRow[]>
}

/** Loader tables in memory, or in a file. */
export function openTables(file = ':memory:', pageRows = 50): Tables {
  const data = openDataDb(file)
  const keyring = createKeyring(new Uint8Array(32).fill(7))
  const files = new Map<string, Uint8Array>()
  const reader = createTableReader(data.reader, {
    timeZoneMin: TIME_ZONE_MIN,
    pageRows,
    keyring,
    nowUs: () => NOW_US,
    async readFile(digest) {
      const bytes = files.get(digest)
      if (bytes === undefined) throw new Error(`no file ${digest}`)
      return bytes
    },
  })
  let nextPath = 1
  return {
    data,
    reader,
    files,
    register: (dataName, columns, uniqueColumns) =>
      transaction(data.writer, () =>
        registerTable(
          data.writer,
          { dataName, schema: 'event', columns: columns.map(columnOf), uniqueColumns },
          NOW_US,
        ),
      ),
    async put(table, records, ifExists = 'skip', more = {}) {
      const env = {
        timeZoneMin: TIME_ZONE_MIN,
        nowUs: BigInt(NOW_US),
        keyring,
        newPathId: () => `path${nextPath++}`,
      }
      const putFile = async (bytes: Uint8Array) => {
        const digest = `digest of ${Buffer.from(bytes).toString('hex')}`
        files.set(digest, bytes)
        return digest
      }
      const { counters } = await putRecords(data.writer, table, records, {
        ifExists,
        env,
        putFile,
        maxMergeRows: 4096,
        ...more,
      })
      return counters
    },
    async read(table, query = {}) {
      const rows: TableRow[] = []
      for await (const page of reader.pages(table, query)) rows.push(...page)
      return rows
    },
  }
}

/** A column with the usual settings where none are given. */
export function columnOf(given: Partial<Column>): Column {
  return {
    name: 'column',
    udtName: 'text',
    isNullable: true,
    columnDefault: null,
    length: null,
    srid: given.udtName === 'geometry' ? 4326 : null,
    isEncrypted: false,
    file: null,
    ...given,
  }
}

/** A Feature with a point, or with any geometry. */
export function feature(geometry: unknown, properties: Record<string, unknown> = {}): unknown {
  const point = Array.isArray(geometry) ? { type: 'Point', coordinates: geometry } : geometry
  return { type: 'Feature', geometry: point, properties }
}
