import { randomUUID } from 'node:crypto'
import { createDatasets, type Datasets } from '../../datasets/datasets.js'
import { bulkWorkBy } from '../../datasets/jobs.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { Keyring } from '../../storage/keyring.js'
import { openDatasetStores } from '../../storage/sqlite/dataset-stores.js'
import type { WorkerClient } from '../../worker/client.js'
import type { ServicesOptions } from '../options.js'
import { createNameLimit } from './name-limit.js'
import type { LoaderServices } from './tables.js'

export interface DatasetsOptions extends Pick<ServicesOptions, 'config' | 'log'> {
  /** tables that citations are made of, and their files */
  loading: LoaderServices
  jobs: WorkerClient
  disk: DiskSpace
  keyring: Keyring
  timeZoneMin: number
  nowUs(): number
}

/** Opens the datasets and citations, whose new names are held to `limits.nameChars`. */
export function openDatasets(options: DatasetsOptions): Datasets {
  const { config, log, loading, jobs, disk, keyring, timeZoneMin, nowUs } = options
  const { limits } = config
  const { data } = loading
  const datasets = createDatasets({
    stores: openDatasetStores(data),
    lock: data.lock,
    readFile: loading.readFile,
    bulk: bulkWorkBy(jobs),
    requireSpace: (bytes) => disk.require(bytes),
    pageRows: limits.pageRows,
    newId: randomUUID,
    keyring,
    timeZoneMin,
    nowUs,
    log,
  })
  const names = createNameLimit(limits.nameChars)
  return {
    ...datasets,
    async create(definition) {
      names.check('dataset_name', definition.name)
      return await datasets.create(definition)
    },
    async cite(label, source, requireReading) {
      names.check('citation_label', label)
      return await datasets.cite(label, source, requireReading)
    },
  }
}
