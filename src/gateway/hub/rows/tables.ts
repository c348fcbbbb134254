import { randomUUID } from 'node:crypto'
import { addStream } from '../../../api/dataloader/add-stream.js'
import { mapReads } from '../../../api/map/reads.js'
import type { Config } from '../../../config/config.js'
import type { DiskSpace } from '../../../files/disk-space.js'
import { readBlob } from '../../../files/read-blob.js'
import type { S3Store } from '../../../files/s3/store.js'
import type { StreamRequest } from '../../../http/routes/loader-routes.js'
import { createLiveChanges, type LiveChanges } from '../../../live/changes.js'
import type { Log } from '../../../log.js'
import { createKept, createOgcService } from '../../../ogc/answer.js'
import type { Keyring } from '../../../storage/keyring.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import type { WriteHints } from '../../../storage/postgres/connection/write-hints.js'
import { createFeatureSources } from '../../../storage/postgres/features/sources.js'
import { createRetentionStore } from '../../../storage/postgres/retention/store.js'
import { createTableChanges } from '../../../storage/postgres/table-reads/changes.js'
import { createTableReader } from '../../../storage/postgres/table-reads/reader.js'
import { createAddColumns } from '../../../storage/postgres/tables/add-columns.js'
import {
  createTableStore,
  createTablesContext,
  type TablesContext,
} from '../../../storage/postgres/tables/store.js'
import { printChanges } from '../../../storage/records/print-changes.js'
import type { RetentionRows } from '../../../storage/retention.js'
import type { TableReader, TableReaderOptions, TableStore } from '../../../storage/tables.js'
import { createLargeReads } from '../../../storage/work/large-reads.js'
import type { NextTurn } from '../../../storage/work/pause.js'
import type { SweepLease } from '../../../storage/work/sweep-lease.js'
import { createWriteLock } from '../../../storage/work/write-lock.js'
import { loaderJobs } from '../../../tables/jobs.js'
import { createLoader, type Loader } from '../../../tables/loader.js'
import { callsHere } from '../../../worker/calls-here.js'
import type { ReadSession } from '../../../worker/read-host.js'
import type { ReaderPool } from '../../../worker/reader-pool.js'
import { createReadsHere } from '../../../worker/reads-here.js'
import { withNameLimit } from '../../rows/name-limit.js'
import { ogcReads } from '../../rows/ogc.js'
import { readLimits } from './read-limits.js'

interface HubTablesOptions {
  readonly config: Config
  readonly log: Log
  readonly db: PostgresDb
  readonly keyring: Keyring
  readonly disk: DiskSpace
  /** bytes of columns of type file */
  readonly files: S3Store
  readonly lease: SweepLease
  /** of writes of rows, between the processes of the hub */
  readonly hints: Pick<WriteHints, 'watch' | 'tell'>
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
  /** rules by which rows go */
  readonly rules: RetentionRows
  /** event data, risk maps and OGC API */
  readonly readers: ReaderPool
  readonly live: LiveChanges
  addStream(request: StreamRequest): Promise<unknown>
}

/** Bytes of large rows that are held by all answers together. */
const LARGE_READS_BYTES = 8 * 1024 * 1024

/** Opens the tables. Their work is done in this thread: the database does most of it. */
export function openHubTables(options: HubTablesOptions): HubTables {
  const { config, log, db, keyring, disk, files, hints, timeZoneMin, nowUs } = options
  const { limits } = config
  const { valueBytes, pageRows } = limits
  const context = createTablesContext(db, { writer: randomUUID(), maxValueBytes: valueBytes })
  const readFile = (digest: string) => readBlob(files, digest)
  const sizeOfFile = keptSizes(files)
  const largeReads = createLargeReads(Math.max(LARGE_READS_BYTES, valueBytes))
  const reading = { timeZoneMin, pageRows, keyring, readFile, sizeOfFile, largeReads, nowUs }
  const tables = createTableReader(context, reading)
  const store = withHints(createTableStore(context), hints)
  const rules = createRetentionStore(context, sizeOfFile)
  const jobs = callsHere(
    loaderJobs({
      ...{ tables: store, retention: rules, keyring, files, timeZoneMin, valueBytes },
      lease: options.lease,
    }),
  )
  const changes = createTableChanges(context)
  const loader = createLoader({
    ...{ tables: store, addColumns: createAddColumns(context), jobs, writers: jobs, files, keyring },
    ...{ loadTurns: createWriteLock(), timeZoneMin, nowUs, log },
    requireSpace: (bytes) => disk.require(bytes),
  })
  const lineLimits = {
    ...{ batchLines: limits.streamBatch, lineBytes: limits.streamLineBytes, gzipRatio: limits.gzipRatio },
  }
  const env = () => ({ timeZoneMin, nowUs: BigInt(nowUs()) })
  return {
    ...{ context, tables, changes, rules },
    loader: withNameLimit(loader, limits.nameChars),
    readers: openReaders(options, { context, reading }),
    live: createLiveChanges({
      ...{ changes, env, log },
      findTable: (name) => tables.find(name),
      print: (table, rows, columns) =>
        printChanges(table, rows, columns, { env: env(), options: { keyring, readFile } }),
      watchWrites: hints.watch,
      limits: { readers: limits.changeReaders, readersPerKey: limits.changeReadersPerKey },
    }),
    addStream: (request) => addStream(loader, request, lineLimits),
  }
}

/** Most sizes of files that are kept: those of a digest never change. */
const MAX_SIZES = 20_000

/** Returns the size of a file by its digest, 0 for a missing one. A sample of rows asks for the same ones each time. */
function keptSizes(files: S3Store): (digest: string) => Promise<number> {
  const sizes = new Map<string, number>()
  return async (digest) => {
    const known = sizes.get(digest)
    if (known !== undefined) return known
    const found = await files.stat(digest)
    if (sizes.size >= MAX_SIZES) sizes.clear()
    if (found !== undefined) sizes.set(digest, found.sizeBytes)
    return found?.sizeBytes ?? 0
  }
}

/** Tells of each write of rows, once it is committed. */
function withHints(store: TableStore, { tell }: Pick<WriteHints, 'tell'>): TableStore {
  const told = async <T>(written: Promise<T>): Promise<T> => {
    const result = await written
    tell()
    return result
  }
  return {
    ...store,
    drop: (table) => told(store.drop(table)),
    put: (table, records, options) => told(store.put(table, records, options)),
    stage(table, records, options) {
      const staged = store.stage(table, records, options)
      return { ...staged, put: () => told(staged.put()) }
    },
  }
}

interface Reading {
  readonly context: TablesContext
  readonly reading: TableReaderOptions
}

/** Opens what reads the tables. Some answers are made at a time, the others wait or are refused with BUSY. */
function openReaders(options: HubTablesOptions, { context, reading }: Reading): ReaderPool {
  const { config, log, db, timeZoneMin, nowUs, version } = options
  const isOpen = config.server.openTo.includes('/ogc/')
  const ogc = { version, timeZoneMin, maxFeatures: config.limits.ogcFeatures, nowUs }
  const kept = createKept()
  const openSession = (): ReadSession => {
    let turnOfJob: NextTurn | undefined
    const nextTurn = async () => await turnOfJob?.()
    const tables = createTableReader(context, { ...reading, nextTurn })
    const sources = createFeatureSources(db, { tables, isOpen })
    return {
      handlers: {
        ...mapReads({ tables, config, timeZoneMin, nextTurn }),
        ...ogcReads(createOgcService({ ...ogc, sources }, kept)),
      },
      begin: (_cancel, turn) => {
        turnOfJob = turn
      },
      end: () => undefined, // each statement sees what is committed by then: there is no state to let go
      close: () => undefined,
    }
  }
  return createReadsHere(openSession, { log, ...readLimits(config) })
}
