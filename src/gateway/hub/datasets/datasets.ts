import { randomUUID } from 'node:crypto'
import { constants, copyFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { readCitationOffer } from '../../../api/sync/index.js'
import type { Config } from '../../../config/config.js'
import { createDatasets, type Datasets } from '../../../datasets/datasets.js'
import { datasetReads } from '../../../datasets/reads.js'
import { type DataLayout, makeDirectory } from '../../../files/layout.js'
import { readBlob } from '../../../files/read-blob.js'
import type { S3Store } from '../../../files/s3/store.js'
import type { Log } from '../../../log.js'
import type { RowStates } from '../../../storage/datasets/citations.js'
import type { CitationCopies } from '../../../storage/exchange/citation-copies.js'
import type { Keyring } from '../../../storage/keyring.js'
import type { MetaStore } from '../../../storage/meta.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { createCitationObjects } from '../../../storage/postgres/feeds/citation-objects.js'
import { createCitationCopies } from '../../../storage/sqlite/citations/copies.js'
import { type DataDb, openDataDb } from '../../../storage/sqlite/connection/data-db.js'
import { openDatasetStores } from '../../../storage/sqlite/dataset-stores.js'
import type { SweepLease } from '../../../storage/work/sweep-lease.js'
import type { Readers } from '../../../worker/reader-pool.js'
import { createReadsHere } from '../../../worker/reads-here.js'
import { notOnHub } from '../apis.js'
import type { HubObjects } from '../engines/connect.js'
import { readLimits } from '../rows/read-limits.js'
import { createArrivingCopies } from './arriving.js'
import { shareCitations } from './citations.js'
import { ARCHIVE, missingArchive } from './named-objects.js'
import { sweepDatasets } from './sweep.js'

interface HubDatasetsOptions {
  readonly db: PostgresDb
  readonly meta: Pick<MetaStore, 'noted'>
  readonly objects: Pick<HubObjects, 'store'>
  readonly layout: Pick<DataLayout, 'tempDir'>
  /** that of all processes that write or remove bytes */
  readonly lease: SweepLease
  readonly keyring: Keyring
  readonly log: Log
  readonly timeZoneMin: number
  readonly config: Config
  nowUs(): number
}

/** Datasets and citations of a hub: they are read, and citations of other nodes come by feeds. */
export interface HubDatasets {
  readonly datasets: Datasets
  /** reads of records, by the names of `datasetReads` */
  readonly readers: Readers
  /** citations that other nodes send */
  readonly copies: CitationCopies
  /** Removes objects that nothing names. One process does it. */
  sweep(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the datasets and citations that a move has brought, and the citations of other nodes. They never change, so
 * they are objects of the bucket. Each process has all of them in a database of SQLite on its disk, made again at each
 * start, which is read by the same code as on a gateway.
 *
 * @throws Error for an object that is missing; AppError OBJECTS_UNAVAILABLE, STORAGE_DAMAGED
 */
export async function openHubDatasets(options: HubDatasetsOptions): Promise<HubDatasets> {
  const { objects, keyring, log, timeZoneMin, nowUs, config, db } = options
  const { pageRows, valueBytes } = config.limits
  const bytes = objects.store('datasets')
  const data = await openOwnDatabase(options, bytes)
  const found = openDatasetStores(data)
  const stores = { ...found, rows: withoutTables(found.rows) }
  const archived = (await stores.citations.all()).map(({ info }) => info.longForm)
  const newId = randomUUID
  const arriving = createArrivingCopies(path.join(ownDir(options), 'arriving'), nowUs)
  const own = createCitationCopies(data, nowUs)
  const rows = createCitationObjects(db)
  const sharing = { own, arriving, rows, lease: options.lease, readOffer: readCitationOffer }
  const { copies, refresh, stop } = shareCitations(
    { ...sharing, bytes, log, valueBytes, newId, nowUs },
    archived,
  )
  const readFile = (digest: string) => readBlob(bytes, digest)
  const parts = { keyring, timeZoneMin, pageRows, nowUs, readFile }
  const datasets = createDatasets({ ...parts, stores, log, lock: data.lock, newId })
  const handlers = datasetReads({ ...parts, citations: stores.citations, states: stores.rows })
  const nothing = () => undefined // what is read never changes: there is no state to begin with or to let go
  const openSession = () => ({ handlers, begin: nothing, end: nothing, close: nothing })
  const readers = createReadsHere(openSession, { log, ...readLimits(config) })
  return {
    copies,
    datasets: refreshed(datasets, refresh),
    sweep: () =>
      sweepDatasets({
        bytes,
        rows,
        meta: options.meta,
        lease: options.lease,
        log,
        nowMs: () => nowUs() / 1000,
      }),
    readers: {
      async read(...read) {
        await refresh()
        return await readers.read(...read)
      },
    },
    async close() {
      await readers.stop()
      await stop()
      await datasets.close()
      arriving.close()
      data.close()
    },
  }
}

/** Opens the database of this process, with what a move has brought. */
async function openOwnDatabase(options: HubDatasetsOptions, bytes: S3Store): Promise<DataDb> {
  const sha256 = await options.meta.noted(ARCHIVE)
  const archive = sha256 === undefined ? undefined : await bytes.localFile(sha256)
  if (sha256 !== undefined && archive === undefined) throw new Error(missingArchive(sha256))
  const dir = ownDir(options)
  rmSync(dir, { recursive: true, force: true }) // an opening that failed has left it
  makeDirectory(dir)
  const file = path.join(dir, 'data.db')
  if (archive !== undefined) copyFileSync(archive, file, constants.COPYFILE_FICLONE)
  return openDataDb(file)
}

/** Directory of the databases of this process, which is emptied at its start. */
function ownDir({ layout }: HubDatasetsOptions): string {
  return path.join(layout.tempDir, 'own-datasets')
}

/** Datasets whose reads see all citations that are complete in any process. */
function refreshed(datasets: Datasets, refresh: () => Promise<void>): Datasets {
  const after =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await refresh()
      return await work(...args)
    }
  const { list, listCitations, columns, read } = datasets
  return {
    ...datasets,
    ...{ list: after(list), listCitations: after(listCitations), columns: after(columns), read: after(read) },
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
