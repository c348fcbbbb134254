import { randomUUID } from 'node:crypto'
import { createDatasets, type Datasets, type DatasetsOptions } from '../../src/datasets/datasets.js'
import type { DatasetReading } from '../../src/datasets/reads.js'
import { createLog } from '../../src/log.js'
import { type DatasetColumn, parseDataType } from '../../src/storage/columns/data-type.js'
import type { CitationStore, CitationSums, VacuumCounts } from '../../src/storage/datasets/citations.js'
import type { DatasetStore } from '../../src/storage/datasets/datasets.js'
import { computeSums } from '../../src/storage/formats/checksum.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { createRowStates } from '../../src/storage/sqlite/citations/row-states.js'
import { createVacuum } from '../../src/storage/sqlite/citations/vacuum.js'
import { type DataDb, openDataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { openDatasetStores } from '../../src/storage/sqlite/dataset-stores.js'
import { createPause } from '../../src/storage/work/pause.js'
import { NOW_US, TIME_ZONE_MIN } from './tables.js'

export interface OpenedDatasets {
  data: DataDb
  stores: { datasets: DatasetStore; citations: CitationStore }
  store: Datasets
  /** what a reader thread has of it */
  reading: DatasetReading
  /** the clock of the store, µs; stands until it is set */
  clock: { us: number }
  close(): Promise<void>
}

/** A dataset store in memory, or in a file. */
export function openDatasets(
  file = ':memory:',
  pageRows = 7,
  more: Partial<DatasetsOptions> = {},
): OpenedDatasets {
  const data = openDataDb(file)
  const clock = { us: NOW_US }
  const stores = openDatasetStores(data)
  const options: DatasetsOptions = {
    stores,
    lock: data.lock,
    log: createLog('silent'),
    nowUs: () => clock.us,
    newId: randomUUID,
    timeZoneMin: TIME_ZONE_MIN,
    pageRows,
    keyring: createKeyring(new Uint8Array(32).fill(7)),
    readFile: async (digest) => Buffer.from(`bytes of ${digest}`),
    ...more,
  }
  const store = createDatasets(options)
  return {
    data,
    stores,
    store,
    reading: { ...options, citations: stores.citations, states: createRowStates(data.reader) },
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
  store: Datasets,
  label: string,
  query: Parameters<Datasets['read']>[1] = {},
): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for await (const page of await store.read(label, query)) records.push(...page)
  return records
}

/** Sums of a citation, computed from its rows. */
export async function sumsOf({ stores }: OpenedDatasets, label: string): Promise<CitationSums> {
  const citation = await stores.citations.find(label)
  if (citation === undefined) throw new Error(`no citation ${label}`)
  return await computeSums(citation)
}

export async function vacuum(
  { data }: OpenedDatasets,
  onProgress?: (done: VacuumCounts) => void,
): Promise<VacuumCounts> {
  return await createVacuum(data).run(createPause(undefined, 5), onProgress)
}
