import { unlink } from 'node:fs/promises'
import type { Hono } from 'hono'
import type { Config } from '../config.js'
import { createBlobStore } from '../files/blob-store.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import { readBlob } from '../files/read-blob.js'
import type { HttpEnv } from '../http/env.js'
import { addStreamRoute, spoolingAnswerer } from '../http/loader-routes.js'
import type { BodyAnswerer, RpcDeps } from '../http/rpc-routes.js'
import type { Log } from '../log.js'
import type { Api } from '../rpc/dispatch.js'
import type { Keyring } from '../storage/keyring.js'
import { type DataDb, openDataDb } from '../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../storage/sqlite/connection/database.js'
import { createTableReader } from '../storage/sqlite/tables/reader.js'
import type { TableReader } from '../storage/tables.js'
import { answerSpooled, answerSpooledParams } from '../tables/ingest/answer-spooled.js'
import { receiveStream } from '../tables/ingest/receive-stream.js'
import { createLoader, type Loader } from '../tables/loader.js'
import type { WorkerClient } from '../worker/client.js'
import type { GatewayContext } from './apis.js'
import { createNameLimit } from './name-limit.js'

export interface LoaderServicesOptions {
  config: Config
  layout: DataLayout
  log: Log
  timeZoneMin: number
  disk: DiskSpace
  keyring: Keyring
  jobs: WorkerClient
  nowUs(): number
}

/** Tables and their records, and the routes for bodies that are too large for memory. */
export interface LoaderServices {
  readonly data: DataDb
  readonly loader: Loader
  readonly tables: TableReader
  /** bytes of a stored file by its digest */
  readFile(digest: string): Promise<Uint8Array>
  /** reads the bodies of the data loader's path */
  readonly answerBody: BodyAnswerer<GatewayContext>
  addRoutes(app: Hono<HttpEnv>, api: Api<GatewayContext>, rpc: RpcDeps<GatewayContext>): void
  close(): void
}

/** Opens data.db and what lies on it. */
export async function openLoaderServices(options: LoaderServicesOptions): Promise<LoaderServices> {
  const { config, layout, log, timeZoneMin, disk, keyring, jobs, nowUs } = options
  const { limits } = config
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  const requireSpace = (bytes: number) => disk.require(bytes)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir, requireSpace })
  const made = createLoader({ data, jobs, files, keyring, timeZoneMin, nowUs, requireSpace, log })
  const names = createNameLimit(limits.nameChars)
  const loader: Loader = {
    ...made,
    async register(definition) {
      names.check('data_name', definition.dataName)
      return await made.register(definition)
    },
  }
  const readFile = (digest: string) => readBlob(files, digest)
  const tables = createTableReader(data.reader, {
    timeZoneMin,
    pageRows: limits.pageRows,
    keyring,
    readFile,
    nowUs,
  })
  const spooled = { jobs, maxEnvelopeBytes: limits.bodyBytes }
  return {
    data,
    loader,
    tables,
    readFile,
    answerBody: spoolingAnswerer(
      { maxBytes: limits.loaderBodyBytes, idleMs: limits.bodyIdleMs, totalMs: limits.bodyMs },
      limits.inlineBodyBytes,
      layout.tempDir,
      {
        answerRpc: (file, call) => answerSpooled(file, call, spooled),
        answerParams: (file, method, call) => answerSpooledParams(file, method, call, spooled),
        remove: (file) => unlink(file),
      },
    ),
    addRoutes(app, api, rpc) {
      const { streamBatch: batchLines, streamLineBytes: lineBytes, gzipRatio } = limits
      const lineLimits = { batchLines, lineBytes, gzipRatio }
      addStreamRoute(app, {
        rpc,
        api,
        bodyIdleMs: limits.bodyIdleMs,
        receiveStream: (request) => receiveStream(loader, request, lineLimits),
      })
    },
    close: () => data.close(),
  }
}
