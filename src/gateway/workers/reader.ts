import type { MessagePort } from 'node:worker_threads'
import { mapReads } from '../../api/map/reads.js'
import type { Config } from '../../config/config.js'
import { exportReads } from '../../datasets/export-reads.js'
import { datasetReads } from '../../datasets/reads.js'
import { parseOffset } from '../../datetime.js'
import { createBlobStore } from '../../files/blob-store.js'
import type { DataLayout } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { createLog } from '../../log.js'
import { createKept, createOgcService } from '../../ogc/answer.js'
import { type Keyring, logsUnreadable, openKeyring } from '../../storage/keyring.js'
import { type Bookmarks, createBookmarks } from '../../storage/sqlite/citations/bookmarks.js'
import { createDigestCache, type DigestCache } from '../../storage/sqlite/citations/digest-cache.js'
import { createRowStates } from '../../storage/sqlite/citations/row-states.js'
import { createCitationReader } from '../../storage/sqlite/citations/store.js'
import { openSnapshotReader } from '../../storage/sqlite/connection/data-db.js'
import { offerNativeDir } from '../../storage/sqlite/connection/native.js'
import { createDatasetTables, withDatasets } from '../../storage/sqlite/datasets/table-reader.js'
import { createFeatureSources } from '../../storage/sqlite/features/sources.js'
import { createTableReader } from '../../storage/sqlite/tables/reader.js'
import { createLargeReads, type LargeReads } from '../../storage/work/large-reads.js'
import type { NextTurn } from '../../storage/work/pause.js'
import { throwIfCancelled } from '../../worker/host.js'
import { type ReadHandler, type ReadSession, serveReads } from '../../worker/read-host.js'
import { ogcReads } from '../rows/ogc.js'
import { yieldToMain } from './priority.js'

/** Data that the main thread hands to this thread at its start. */
interface ReaderWorkerData {
  readonly config: Config
  readonly layout: DataLayout
  readonly version: string
}

/** Payload of each job: what the room asks for, and the time of the call. */
export interface TimedRead {
  readonly payload: unknown
  /** µs UTC */
  readonly nowUs: number
}

/** Page cache of a connection: there may be `reads.maxOpen` of them. */
const CACHE_KIB = 1024

/** Stored values of the large rows that a thread holds at a time: each is also text, of up to six times its size. */
const LARGE_READS_BYTES = 8 * 1024 * 1024

/** Serves a thread that reads tables and datasets. The main thread starts it on demand and ends it when idle. */
export function runReaderWorker(port: MessagePort, data: ReaderWorkerData): void {
  const { layout } = data
  yieldToMain('reader', data.config)
  offerNativeDir(layout.nativeDir)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const onUnreadable = logsUnreadable(createLog(data.config.log.level))
  let opened: Keyring | undefined
  const keyring: Pick<Keyring, 'read'> = {
    read(bytes, context) {
      opened ??= openKeyring(layout.keyFile, { hasEncrypted: () => true, onUnreadable })
      return opened.read(bytes, context)
    },
  }
  const readFile = (digest: string) => readBlob(files, digest)
  const shared = {
    ...data,
    keyring,
    readFile,
    sizeOfFile: async (digest: string) => (await files.stat(digest))?.sizeBytes ?? 0,
    largeReads: createLargeReads(Math.max(LARGE_READS_BYTES, data.config.limits.valueBytes)),
    bookmarks: createBookmarks(),
    digests: createDigestCache(),
    ogcKept: createKept(),
  }
  serveReads(port, () => openSession(shared))
}

/** Parts that the sessions of a thread share. */
interface Shared extends ReaderWorkerData {
  readonly keyring: Pick<Keyring, 'read'>
  readFile(digest: string): Promise<Uint8Array>
  sizeOfFile(digest: string): Promise<number>
  readonly largeReads: LargeReads
  readonly bookmarks: Bookmarks
  readonly digests: DigestCache
  readonly ogcKept: ReturnType<typeof createKept>
}

/** Opens a connection with a handler for each read of the gateway. */
function openSession(shared: Shared): ReadSession {
  const { config, layout, version, keyring, readFile, sizeOfFile, largeReads } = shared
  const { limits, server } = config
  let callUs = 0
  let turnOfJob: NextTurn | undefined
  const nowUs = () => callUs
  const nextTurn = async () => await turnOfJob?.()
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const { pageRows, valueBytes } = limits
  const common = { timeZoneMin, pageRows, keyring, readFile, sizeOfFile, largeReads, nowUs, nextTurn }
  const snapshot = openSnapshotReader(layout.dataDb, { cacheKib: CACHE_KIB, valueBytes })
  const { db } = snapshot
  const tables = createTableReader(db, common)
  const isOpen = server.openTo.includes('/ogc/')
  const sources = createFeatureSources(db, { ...common, tables, isOpen })
  const ogc = { sources, version, timeZoneMin, maxFeatures: limits.ogcFeatures, nowUs }
  const rows = {
    ...common,
    citations: createCitationReader(db, shared.bookmarks, shared.digests),
    states: createRowStates(db),
  }
  const reads = {
    ...mapReads({
      tables: withDatasets(tables, createDatasetTables(db, common)),
      config,
      nextTurn,
      timeZoneMin,
    }),
    ...datasetReads(rows),
    ...exportReads({ ...rows, tempDir: layout.tempDir, maxFileRows: limits.exportRows }),
    ...ogcReads(createOgcService(ogc, shared.ogcKept)),
  }
  const timed =
    (handler: ReadHandler): ReadHandler =>
    ({ payload, nowUs: us }: TimedRead, work) => {
      callUs = us
      return handler(payload, work)
    }
  return {
    handlers: Object.fromEntries(Object.entries(reads).map(([name, handler]) => [name, timed(handler)])),
    begin(cancel, turn) {
      turnOfJob = turn
      snapshot.begin(() => throwIfCancelled({ cancel }))
    },
    end: () => snapshot.end(),
    close: () => snapshot.close(),
  }
}
