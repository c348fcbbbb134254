import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config/config.js'
import { dataprocJobs } from '../../dataproc/jobs.js'
import { datasetJobs } from '../../datasets/jobs.js'
import { parseOffset } from '../../datetime.js'
import { createBlobStore } from '../../files/blob-store.js'
import { createDiskSpace } from '../../files/disk-space.js'
import type { DataLayout } from '../../files/layout.js'
import { deltaJobs } from '../../models/delta/jobs.js'
import { openKeyring } from '../../storage/keyring.js'
import { openSnapshot } from '../../storage/sqlite/citations/row-states.js'
import { createCitationReader } from '../../storage/sqlite/citations/store.js'
import { openBulkWriter, openDataReader } from '../../storage/sqlite/connection/data-db.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { createBulkDatasetRows } from '../../storage/sqlite/datasets/store.js'
import { createRetentionStore } from '../../storage/sqlite/retention/store.js'
import { createRowBatches } from '../../storage/sqlite/row-batches.js'
import { createTableStore } from '../../storage/sqlite/tables/store.js'
import { createWriteLock } from '../../storage/work/write-lock.js'
import { loaderJobs } from '../../tables/jobs.js'
import { newPathId } from '../../tables/path-id.js'
import { putFile } from '../../tables/put-file.js'
import { serveWork } from '../../worker/host.js'

/** Data that the main thread hands to this thread at its start. */
export interface JobWorkerData {
  readonly config: Config
  readonly layout: DataLayout
}

/**
 * Serves the thread of bulk jobs. The main thread starts it at the first large load and ends it when idle.
 */
export function runJobWorker(port: MessagePort, { config, layout }: JobWorkerData): void {
  offerNativeDir(layout.nativeDir)
  const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
  const files = createBlobStore({
    dir: layout.filesDir,
    tempDir: layout.tempDir,
    requireSpace: (bytes) => disk.require(bytes),
  })
  const db = openBulkWriter(layout.dataDb, config.limits.valueBytes)
  const keyring = openKeyring(layout.keyFile, { hasEncrypted: () => true })
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  // the main thread holds the turn of a job that writes, and jobs run one after another
  const connection = { reader: db, writer: db, lock: createWriteLock() }
  const store = {
    tables: createTableStore(connection),
    retention: createRetentionStore(connection, async () => 0), // which only sets rules here
    keyring,
    files,
    lease: createSweepLease(layout.leaseDb),
    timeZoneMin,
    valueBytes: config.limits.valueBytes,
  }
  serveWork(port, {
    ...loaderJobs(store),
    ...deltaJobs(),
    ...datasetJobs({
      rows: createBulkDatasetRows(db),
      openCitations: () => createCitationReader(openDataReader(layout.dataDb)),
    }),
    ...dataprocJobs({
      batches: createRowBatches(db),
      keyring,
      timeZoneMin,
      files,
      openSnapshot: () => openSnapshot(layout.dataDb),
      putOptions: (nowUs) => ({
        env: { timeZoneMin, nowUs: BigInt(nowUs), keyring, newPathId },
        putFile: (bytes) => putFile(files, bytes),
      }),
    }),
  })
}
