import { randomUUID } from 'node:crypto'
import { createLog } from '../../src/log.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { type DataDb, openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { type DatasetColumn, parseDataType } from '../../src/storage/sqlite/datasets/column.js'
import {
  createDatasetStore,
  type DatasetStore,
  type DatasetStoreOptions,
} from '../../src/storage/sqlite/datasets/store.js'
import { NOW_US, TIME_ZONE_MIN } from './tables.js'

export interface Datasets {
  data: DataDb
  store: DatasetStore
  /** the clock of the store, µs; stands until it is set */
  clock: { us: number }
  close(): Promise<void>
}

/** A dataset store in memory, or in a file. */
export function openDatasets(
  file = ':memory:',
  pageRows = 7,
  more: Partial<DatasetStoreOptions> = {},
): Datasets {
  const data = openDataDb(file)
  const clock = { us: NOW_US }
  const store = createDatasetStore({
    data,
    log: createLog('silent'),
    nowUs: () => clock.us,
    newId: randomUUID,
    timeZoneMin: TIME_ZONE_MIN,
    pageRows,
    keyring: createKeyring(new Uint8Array(32).fill(7)),
    readFile: async (digest) => Buffer.from(`bytes of ${digest}`),
    ...more,
  })
  return {
    data,
    store,
    clock,
    async close() {
      await store.close()
      data.close()
    },
  }
}

/** Columns from `name type` texts; `?` after the type makes one nullable. */
export function columns(...texts: string[]): DatasetColumn[] {
  return texts.map((text) => {
    const [, name = '', typeText = '', nullable] = /^(\S+) (.*?)(\?)?$/.exec(text) ?? []
    const type = parseDataType(typeText)
    if (type === undefined) throw new Error(`no type ${typeText}`)
    return { name, type, isNullable: nullable !== undefined }
  })
}

export function definition(name: string, defined: DatasetColumn[], keyColumns: string[] = []) {
  return { name, columns: defined, keyColumns, usename: 'tester' }
}

/** Every record of a reading. */
export async function allRecords(
  store: DatasetStore,
  label: string,
  query: Parameters<DatasetStore['read']>[1] = {},
): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for await (const page of await store.read(label, query)) records.push(...page)
  return records
}
