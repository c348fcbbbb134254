import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/config.js'
import { createDatasets, type Datasets } from '../../datasets/datasets.js'
import { datasetReads } from '../../datasets/reads.js'
import { readBlob } from '../../files/read-blob.js'
import type { Log } from '../../log.js'
import type { RowStates } from '../../storage/datasets/citations.js'
import type { Keyring } from '../../storage/keyring.js'
import type { MetaStore } from '../../storage/meta.js'
import { openDatasetStores } from '../../storage/sqlite/dataset-stores.js'
import { openArchive } from '../../storage/sqlite/open-archive.js'
import type { Readers } from '../../worker/reader-pool.js'
import { createReadsHere } from '../../worker/reads-here.js'
import { notOnHub } from './apis.js'
import type { HubObjects } from './connect.js'
import { readLimits } from './read-limits.js'

/** Note of the database: SHA-256 of the archive of datasets and citations. */
export const ARCHIVE = 'dataset_archive'

interface HubDatasetsOptions {
  readonly meta: Pick<MetaStore, 'noted'>
  readonly objects: Pick<HubObjects, 'store'>
  readonly keyring: Keyring
  readonly log: Log
  readonly timeZoneMin: number
  readonly config: Config
  nowUs(): number
}

/** Datasets and citations of a hub, which are read alone. */
export interface HubDatasets {
  readonly datasets: Datasets
  /** reads of records, by the names of `datasetReads` */
  readonly readers: Readers
  close(): Promise<void>
}

/**
 * Opens the datasets and citations that a move has brought. They never change, so they are one object of the bucket: a
 * database of SQLite, of which each process keeps a copy, and which is read by the same code as on a gateway.
 *
 * @throws Error for an object that is missing; AppError OBJECTS_UNAVAILABLE, STORAGE_DAMAGED
 */
export async function openHubDatasets(options: HubDatasetsOptions): Promise<HubDatasets> {
  const { objects, keyring, log, timeZoneMin, nowUs, config } = options
  const { pageRows } = config.limits
  const bytes = objects.store('datasets')
  const sha256 = await options.meta.noted(ARCHIVE)
  const file = sha256 === undefined ? undefined : await bytes.localFile(sha256)
  if (sha256 !== undefined && file === undefined)
    throw new Error(
      `the bucket lacks the object datasets/${sha256} with the datasets and citations of this hub`,
    )
  const data = openArchive(file)
  const found = openDatasetStores(data)
  const stores = { ...found, rows: withoutTables(found.rows) }
  const readFile = (digest: string) => readBlob(bytes, digest)
  const parts = { keyring, timeZoneMin, pageRows, nowUs, readFile }
  const datasets = createDatasets({ ...parts, stores, log, lock: data.lock, newId: randomUUID })
  const handlers = datasetReads({ ...parts, citations: stores.citations, states: stores.rows })
  const nothing = () => undefined // the archive never changes: there is no state to begin with or to let go
  const openSession = () => ({ handlers, begin: nothing, end: nothing, close: nothing })
  const readers = createReadsHere(openSession, { log, ...readLimits(config) })
  return {
    datasets,
    readers,
    async close() {
      await readers.stop()
      await datasets.close()
      data.close()
    },
  }
}

/** Loader tables of the archive are as they were when it was made: a citation of them is read, and nothing else. */
function withoutTables(rows: RowStates): RowStates {
  return {
    async find(label, nowUs) {
      const state = await rows.find(label, nowUs)
      if (state?.kind === 'loader') throw notOnHub('records of loader tables by dataset methods')
      return state
    },
  }
}
