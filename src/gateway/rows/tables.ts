import { unlink } from 'node:fs/promises'
import { addStream } from '../../api/dataloader/add-stream.js'
import type { Config } from '../../config/config.js'
import { createBlobStore } from '../../files/blob-store.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { DataLayout } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { type StreamRequest, spoolingAnswerer } from '../../http/routes/loader-routes.js'
import type { BodyAnswerer } from '../../http/routes/rpc-routes.js'
import type { Log } from '../../log.js'
import type { Keyring } from '../../storage/keyring.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { openSmallReader } from '../../storage/sqlite/tables/small-reader.js'
import { openTables } from '../../storage/sqlite/tables/store.js'
import { createAddColumns } from '../../storage/sqlite/versions/table-columns.js'
import type { SmallReads, TableReader, TableStore } from '../../storage/tables.js'
import { createWriteLock, type WriteLock } from '../../storage/work/write-lock.js'
import { createLoader, type Loader } from '../../tables/loader.js'
import type { WorkerClient } from '../../worker/client.js'
import type { GatewayContext } from '../apis.js'
import { answerSpooled, answerSpooledParams } from '../spooled-calls.js'
import { withNameLimit } from './name-limit.js'

interface LoaderServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  /** `service.timeZone`, minutes east of UTC */
  timeZoneMin: number
  disk: DiskSpace
  keyring: Keyring
  /** client of the job thread */
  jobs: WorkerClient
  /** client of the thread that writes for a crowd of small calls */
  writers: WorkerClient
  /** µs UTC */
  nowUs(): number
}

/** Tables and their records, and the readers of bodies that are too large for memory. */
export interface LoaderServices {
  readonly data: DataDb
  readonly loader: Loader
  readonly tables: TableReader
  /** short reads of tables, which need no thread */
  readonly smallReads: SmallReads
  /** Returns the bytes of a stored file. @throws Error when there are none with this digest */
  readFile(digest: string): Promise<Uint8Array>
  /** Returns the size of a stored file, 0 for a missing one. */
  sizeOfFile(digest: string): Promise<number>
  /** turns of writes that another thread does */
  readonly turns: Pick<TableStore, 'inTurn'>
  /** reader of the bodies of the data loader's path */
  readonly answerBody: BodyAnswerer<GatewayContext>
  /** Adds the features of a stream to a table. Returns the counters. */
  addStream(request: StreamRequest): Promise<unknown>
  close(): void
}

/** Opens `data.db` and the services over its tables. */
export async function openLoaderServices(options: LoaderServicesOptions): Promise<LoaderServices> {
  const { config, layout, log, timeZoneMin, disk, keyring, jobs, writers, nowUs } = options
  const { limits } = config
  const data = await retryBusy(() => openDataDb(layout.dataDb, { valueBytes: limits.valueBytes }))
  const requireSpace = (bytes: number) => disk.require(bytes)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir, requireSpace })
  const readFile = (digest: string) => readBlob(files, digest)
  const { pageRows } = limits
  const reading = { timeZoneMin, pageRows, keyring, readFile, nowUs }
  const tables = openTables(data, reading)
  const small = openSmallReader(layout.dataDb, reading)
  const loadTurns = createWriteLock()
  const stores = { tables: tables.store, addColumns: createAddColumns(data), files, keyring }
  const loader = withNameLimit(
    createLoader({ ...stores, jobs, writers, loadTurns, timeZoneMin, nowUs, requireSpace, log }),
    limits.nameChars,
  )
  const { streamBatch: batchLines, streamLineBytes: lineBytes, gzipRatio } = limits
  const lineLimits = { batchLines, lineBytes, gzipRatio }
  return {
    data,
    loader,
    tables: tables.reader,
    readFile,
    sizeOfFile: async (digest) => (await files.stat(digest))?.sizeBytes ?? 0,
    turns: tables.store,
    answerBody: createBodyAnswerer(config, layout, { jobs, loadTurns }, requireSpace),
    addStream: (request) => addStream(loader, request, lineLimits),
    smallReads: small,
    close() {
      small.close()
      data.close()
    },
  }
}

function createBodyAnswerer(
  { limits }: Config,
  { tempDir }: DataLayout,
  scanners: { jobs: WorkerClient; loadTurns: WriteLock },
  requireSpace: (bytes: number) => Promise<void>,
): BodyAnswerer<GatewayContext> {
  const spooled = { ...scanners, maxEnvelopeBytes: limits.bodyBytes }
  return spoolingAnswerer(
    { maxBytes: limits.loaderBodyBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
    { inlineBytes: limits.inlineBodyBytes, tempDir, requireSpace },
    {
      answerRpc: (file, call) => answerSpooled(file, call, spooled),
      answerParams: (file, method, call) => answerSpooledParams(file, method, call, spooled),
      remove: (file) => unlink(file),
    },
  )
}
