import type { Test } from 'tap'
import type { AddColumns } from '../../../../src/storage/add-columns.js'
import type { DayRows } from '../../../../src/storage/exchange/day-rows.js'
import type { FeatureSources } from '../../../../src/storage/features.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { type DataDb, openDataDb } from '../../../../src/storage/sqlite/connection/data-db.js'
import { createFeatureSources } from '../../../../src/storage/sqlite/features/sources.js'
import { createTableChanges } from '../../../../src/storage/sqlite/tables/changed-rows.js'
import { createTableReader } from '../../../../src/storage/sqlite/tables/reader.js'
import { createTableStore } from '../../../../src/storage/sqlite/tables/store.js'
import { createAddColumns } from '../../../../src/storage/sqlite/versions/table-columns.js'
import type {
  Column,
  Counters,
  IfExists,
  LoaderTable,
  PutOptions,
  RecordEnv,
  TableChanges,
  TableQuery,
  TableReader,
  TableReaderOptions,
  TableRow,
  TableStore,
} from '../../../../src/storage/tables.js'
import { columnOf, NOW_US, TIME_ZONE_MIN } from '../../tables.js'

/** Ports of loader tables of one engine. */
export interface TablePorts {
  readonly store: TableStore
  readonly reader: TableReader
  readonly changes: TableChanges & DayRows
  readonly addColumns: AddColumns
  features(isOpen: boolean): FeatureSources
}

export interface WorldOptions {
  readonly pageRows?: number
  /** most bytes of the values of one record */
  readonly valueBytes?: number
}

/** Loader tables of one engine, empty, with short forms for tests. */
export interface TablesWorld extends TablePorts {
  /** digest → bytes, in place of a blob store */
  readonly files: Map<string, Uint8Array>
  readonly env: RecordEnv
  register(dataName: string, columns: Partial<Column>[], uniqueColumns: string[]): Promise<LoaderTable>
  put(
    table: LoaderTable,
    records: Iterable<unknown>,
    ifExists?: IfExists,
    more?: Partial<PutOptions>,
  ): Promise<Counters>
  /** options of a put */
  options(ifExists: IfExists, more?: Partial<PutOptions>): PutOptions
  read(table: LoaderTable, query?: TableQuery): Promise<TableRow[]>
  /** values of a column of the rows of a query */
  values(table: LoaderTable, name: string, query?: TableQuery): Promise<unknown[]>
}

/** Opens an engine: ports over tables that are empty. */
export type OpenTables = (t: Test, options?: WorldOptions) => Promise<TablesWorld>

/** Makes the short forms over the ports of an engine. */
export function worldOf(
  options: WorldOptions,
  openPorts: (reading: TableReaderOptions) => TablePorts,
): TablesWorld {
  const keyring = createKeyring(new Uint8Array(32).fill(7))
  const files = new Map<string, Uint8Array>()
  const ports = openPorts({
    ...{ timeZoneMin: TIME_ZONE_MIN, pageRows: options.pageRows ?? 50, keyring, nowUs: () => NOW_US },
    async readFile(digest) {
      const bytes = files.get(digest)
      if (bytes === undefined) throw new Error(`no file ${digest}`)
      return bytes
    },
  })
  const { store, reader } = ports
  let nextPath = 1
  const env = {
    ...{ timeZoneMin: TIME_ZONE_MIN, nowUs: BigInt(NOW_US), keyring },
    newPathId: () => `path${nextPath++}`,
  }
  const putFile = async (bytes: Uint8Array) => {
    const digest = `digest of ${Buffer.from(bytes).toString('hex')}`
    files.set(digest, bytes)
    return digest
  }
  const read = async (table: LoaderTable, query: TableQuery = {}) => {
    const rows: TableRow[] = []
    // a page is let go of when the next one is asked for
    for await (const page of reader.pages(table, query)) rows.push(...page.map((row) => ({ ...row })))
    return rows
  }
  const optionsOf = (ifExists: IfExists, more: Partial<PutOptions> = {}): PutOptions => ({
    ...{ ifExists, env, putFile },
    ...more,
  })
  return {
    ...ports,
    ...{ files, env, read, options: optionsOf },
    register: (dataName, columns, uniqueColumns) =>
      store.register({ dataName, schema: 'event', columns: columns.map(columnOf), uniqueColumns }, NOW_US),
    put: async (table, records, ifExists = 'skip', more = {}) =>
      (await store.put(table, records, optionsOf(ifExists, more))).counters,
    values: async (table, name, query) =>
      (await read(table, query)).map(({ properties }) => properties[name]),
  }
}

/** Opens loader tables in SQLite, in memory. */
export async function openSqliteTables(
  t: { teardown(work: () => unknown): unknown },
  options: WorldOptions = {},
): Promise<TablesWorld & { readonly data: DataDb }> {
  const { valueBytes } = options
  const data = openDataDb(':memory:', valueBytes === undefined ? {} : { valueBytes })
  t.teardown(() => data.close())
  const world = worldOf(options, (reading) => {
    const reader = createTableReader(data.reader, reading)
    return {
      store: createTableStore(data),
      reader,
      changes: createTableChanges(data.reader),
      addColumns: createAddColumns(data),
      features: (isOpen) => createFeatureSources(data.reader, { ...reading, tables: reader, isOpen }),
    }
  })
  return { ...world, data }
}
