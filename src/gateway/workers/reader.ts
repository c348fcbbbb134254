import type { MessagePort } from 'node:worker_threads'
import { mapReads } from '../../api/map/reads.js'
import type { Config } from '../../config.js'
import { parseOffset } from '../../datetime.js'
import { createBlobStore } from '../../files/blob-store.js'
import type { DataLayout } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { type Keyring, openKeyring } from '../../storage/keyring.js'
import { openSnapshotReader } from '../../storage/sqlite/connection/data-db.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { createDatasetTables, withDatasets } from '../../storage/sqlite/datasets/table-reader.js'
import { createTableReader } from '../../storage/sqlite/tables/reader.js'
import { throwIfCancelled } from '../../worker/host.js'
import { type ReadHandler, type ReadSession, serveReads } from '../../worker/read-host.js'

/** Data that the main thread hands to this thread at its start. */
interface ReaderWorkerData {
  readonly config: Config
  readonly layout: DataLayout
}

/** Payload of each job: what the room asks for, and the time of the call. */
export interface TimedRead {
  readonly payload: unknown
  /** µs UTC */
  readonly nowUs: number
}

/** Page cache of a connection: there may be `reads.maxOpen` of them. */
const CACHE_KIB = 1024

/** Serves a thread that reads tables and datasets. The main thread starts it on demand and ends it when idle. */
export function runReaderWorker(port: MessagePort, { config, layout }: ReaderWorkerData): void {
  offerNativeDir(layout.nativeDir)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  let opened: Keyring | undefined
  const keyring: Pick<Keyring, 'decrypt'> = {
    decrypt(bytes, context) {
      opened ??= openKeyring(layout.keyFile)
      return opened.decrypt(bytes, context)
    },
  }
  const readFile = (digest: string) => readBlob(files, digest)
  serveReads(port, () => openSession({ config, layout }, { keyring, readFile }))
}

function openSession(
  { config, layout }: ReaderWorkerData,
  stored: { keyring: Pick<Keyring, 'decrypt'>; readFile(digest: string): Promise<Uint8Array> },
): ReadSession {
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const { pageRows } = config.limits
  let callUs = 0
  const common = { timeZoneMin, pageRows, nowUs: () => callUs }
  const snapshot = openSnapshotReader(layout.dataDb, { cacheKib: CACHE_KIB })
  const tables = createTableReader(snapshot.db, { ...common, ...stored })
  const all = withDatasets(tables, createDatasetTables(snapshot.db, common))
  const reads = mapReads({ tables: all, config })
  const timed =
    (handler: ReadHandler): ReadHandler =>
    ({ payload, nowUs }: TimedRead, work) => {
      callUs = nowUs
      return handler(payload, work)
    }
  return {
    handlers: Object.fromEntries(Object.entries(reads).map(([name, handler]) => [name, timed(handler)])),
    begin: (cancel) => snapshot.begin(() => throwIfCancelled({ cancel })),
    end: () => snapshot.end(),
    close: () => snapshot.close(),
  }
}
