import { randomUUID } from 'node:crypto'
import { addStream } from '../../api/dataloader/add-stream.js'
import { mapReads } from '../../api/map/reads.js'
import type { Config } from '../../config/config.js'
import type { DiskSpace } from '../../files/disk-space.js'
import { readBlob } from '../../files/read-blob.js'
import type { S3Store } from '../../files/s3/store.js'
import type { StreamRequest } from '../../http/routes/loader-routes.js'
import { createLiveChanges, type LiveChanges } from '../../live/changes.js'
import type { Log } from '../../log.js'
import { createOgcService } from '../../ogc/answer.js'
import type { Keyring } from '../../storage/keyring.js'
import type { PostgresDb } from '../../storage/postgres/connection/database.js'
import { createFeatureSources } from '../../storage/postgres/features/sources.js'
import { createTableChanges } from '../../storage/postgres/table-reads/changes.js'
import { createTableReader } from '../../storage/postgres/table-reads/reader.js'
import { createAddColumns } from '../../storage/postgres/tables/add-columns.js'
import {
  createTableStore,
  createTablesContext,
  type TablesContext,
} from '../../storage/postgres/tables/store.js'
import { printChanges } from '../../storage/records/print-changes.js'
import type { TableReader } from '../../storage/tables.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import { createWriteLock } from '../../storage/work/write-lock.js'
import { loaderJobs } from '../../tables/jobs.js'
import { createLoader, type Loader } from '../../tables/loader.js'
import { callsHere, readsHere } from '../../worker/calls-here.js'
import type { Readers } from '../../worker/reader-pool.js'
import { withNameLimit } from '../rows/name-limit.js'
import { ogcReads } from '../rows/ogc.js'
import { notOnHub } from './apis.js'

interface HubTablesOptions {
  readonly config: Config
  readonly log: Log
  readonly db: PostgresDb
  readonly keyring: Keyring
  readonly disk: DiskSpace
  /** bytes of columns of type file */
  readonly files: S3Store
  readonly lease: SweepLease
  readonly timeZoneMin: number
  readonly version: string
  /** µs UTC */
  nowUs(): number
}

/** Loader tables of a hub, and what reads them. */
export interface HubTables {
  readonly context: TablesContext
  readonly loader: Loader
  readonly tables: TableReader
  readonly changes: ReturnType<typeof createTableChanges>
  /** event data, risk maps and OGC API */
  readonly readers: Readers
  readonly live: LiveChanges
  addStream(request: StreamRequest): Promise<unknown>
}

/** Opens the tables. Their work is done in this thread: the database does most of it. */
export function openHubTables(options: HubTablesOptions): HubTables {
  const { config, log, db, keyring, disk, files, timeZoneMin, nowUs, version } = options
  const { limits } = config
  const { valueBytes, pageRows, ogcFeatures: maxFeatures } = limits
  const context = createTablesContext(db, { writer: randomUUID(), maxValueBytes: valueBytes })
  const readFile = (digest: string) => readBlob(files, digest)
  const sizeOfFile = async (digest: string) => (await files.stat(digest))?.sizeBytes ?? 0
  const tables = createTableReader(context, { timeZoneMin, pageRows, keyring, readFile, sizeOfFile, nowUs })
  const store = createTableStore(context)
  const retention = { set: async () => Promise.reject(notOnHub('retention of tables')) }
  const jobs = callsHere(
    loaderJobs({
      ...{ tables: store, retention, keyring, files, timeZoneMin, valueBytes },
      lease: options.lease,
    }),
  )
  const changes = createTableChanges(context)
  const loader = createLoader({
    ...{ tables: store, addColumns: createAddColumns(context), jobs, writers: jobs, files, keyring },
    ...{ loadTurns: createWriteLock(), timeZoneMin, nowUs, log },
    requireSpace: (bytes) => disk.require(bytes),
  })
  const isOpen = config.server.openTo.includes('/ogc/')
  const sources = createFeatureSources(db, { tables, isOpen })
  const lineLimits = {
    ...{ batchLines: limits.streamBatch, lineBytes: limits.streamLineBytes, gzipRatio: limits.gzipRatio },
  }
  const env = () => ({ timeZoneMin, nowUs: BigInt(nowUs()) })
  return {
    ...{ context, tables, changes },
    loader: withNameLimit(loader, limits.nameChars),
    readers: readsHere({
      ...mapReads({ tables, config, timeZoneMin }),
      ...ogcReads(createOgcService({ sources, version, timeZoneMin, maxFeatures, nowUs })),
    }),
    live: createLiveChanges({
      ...{ changes, env, log },
      findTable: (name) => tables.find(name),
      print: (table, rows, columns) =>
        printChanges(table, rows, columns, { env: env(), options: { keyring, readFile } }),
      watchWrites: () => () => undefined, // looks at the database find the writes of all processes
      limits: { readers: limits.changeReaders, readersPerKey: limits.changeReadersPerKey },
    }),
    addStream: (request) => addStream(loader, request, lineLimits),
  }
}
