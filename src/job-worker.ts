import type { MessagePort } from 'node:worker_threads'
import { loaderJobs } from './api/dataloader/jobs.js'
import { newPathId } from './api/dataloader/path-id.js'
import { putFile } from './api/dataloader/put-file.js'
import { dataprocJobs } from './api/dataproc/jobs.js'
import { datasetJobs } from './api/dataset/jobs.js'
import type { Config } from './config.js'
import { parseOffset } from './datetime.js'
import { createBlobStore } from './files/blob-store.js'
import { createDiskSpace } from './files/disk-space.js'
import type { DataLayout } from './files/layout.js'
import { openKeyring } from './storage/crypto.js'
import { openBulkWriter, openDataReader } from './storage/data-db.js'
import { offerNativeDir } from './storage/native.js'
import { MAX_SEGMENT_ROWS } from './storage/table-index.js'
import { serveWork } from './worker/host.js'

/** What the main thread hands to this thread at its start. */
export interface JobWorkerData {
  readonly config: Config
  readonly layout: DataLayout
}

/** The bulk jobs' thread: started at the first large load, ended by the main thread when it has been idle. */
export function runJobWorker(port: MessagePort, { config, layout }: JobWorkerData): void {
  offerNativeDir(layout.nativeDir)
  const disk = createDiskSpace(layout.root, config.limits.diskReserveBytes)
  const files = createBlobStore({
    dir: layout.filesDir,
    tempDir: layout.tempDir,
    requireSpace: (bytes) => disk.require(bytes),
  })
  const store = {
    db: openBulkWriter(layout.dataDb),
    keyring: openKeyring(layout.keyFile),
    files,
    leaseFile: layout.leaseDb,
    timeZoneMin: parseOffset(config.service.timeZone) ?? 0,
  }
  const { db, keyring, timeZoneMin } = store
  const openReader = () => openDataReader(layout.dataDb)
  serveWork(port, {
    ...loaderJobs(store),
    ...datasetJobs({ db, openReader }),
    ...dataprocJobs({
      ...{ db, keyring, timeZoneMin, files, openReader },
      putOptions: (nowUs) => ({
        env: { timeZoneMin, nowUs: BigInt(nowUs), keyring, newPathId },
        putFile: (bytes) => putFile(files, bytes),
        maxMergeRows: MAX_SEGMENT_ROWS,
      }),
    }),
  })
}
