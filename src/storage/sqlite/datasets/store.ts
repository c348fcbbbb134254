import type { Log } from '../../../log.js'
import type { ValueEnv } from '../../columns/column-type.js'
import type { ListQuery } from '../../list-query.js'
import {
  type Citation,
  type CitationSums,
  createCitation,
  findCitation,
  removeCitations,
  removeCitationsOf,
} from '../citations/catalog.js'
import { listCitations, listDatasets } from '../citations/list.js'
import type { StateQuery } from '../citations/plan.js'
import {
  type CitationReaderOptions,
  createCitationReader,
  type RecordPages,
  unknownCitation,
} from '../citations/reader.js'
import { createSumsQueue } from '../citations/sums.js'
import { dropDiscarded } from '../citations/vacuum.js'
import { versionedLoader } from '../citations/versions.js'
import type { DataDb } from '../connection/data-db.js'
import {
  asyncTransaction,
  type Db,
  forgetStatements,
  retryBusy,
  transaction,
} from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import { findTable } from '../tables/catalog.js'
import {
  createDataset,
  type Dataset,
  type DatasetDefinition,
  findDataset,
  removeDataset,
  unknownDataset,
} from './catalog.js'
import type { StateColumn } from './column.js'
import { withoutPrefix } from './name.js'
import type { OnConflict } from './put.js'
import { type DeleteJob, deleteRecords, type PutJob, putRecords, requireDataset } from './rows.js'

/** Datasets, their rows, and citations of their states. What a call answers is committed. */
export interface DatasetStore {
  /** @throws AppError ALREADY_EXISTS */
  create(definition: DatasetDefinition): Promise<Dataset>
  /** with its rows and citations. @throws AppError UNKNOWN_DATASET */
  remove(name: string): Promise<Dataset>
  /** @throws AppError BAD_CONDITION */
  list(query: StoreListQuery): Promise<Dataset[]>
  /** of a dataset, a citation or a loader table. @throws AppError UNKNOWN_DATASET */
  columns(label: string): Promise<readonly StateColumn[]>
  /**
   * @returns records written
   * @throws AppError UNKNOWN_DATASET, BAD_RECORD, RECORD_EXISTS, CANCELLED: nothing is stored then
   */
  put(name: string, records: PutJob['records'], onConflict: OnConflict, signal?: AbortSignal): Promise<number>
  /** @returns records deleted. @throws AppError UNKNOWN_DATASET, BAD_CONDITION, CANCELLED */
  deleteRecords(name: string, condition: unknown, signal?: AbortSignal): Promise<number>
  /** @throws AppError UNKNOWN_DATASET */
  cite(label: string, source: string): Promise<Citation>
  /** by long form one, by short form all of it. @throws AppError UNKNOWN_CITATION */
  uncite(label: string): Promise<Citation[]>
  /** @throws AppError BAD_CONDITION */
  listCitations(query: StoreListQuery): Promise<Citation[]>
  /**
   * The state that was cited.
   *
   * @throws AppError UNKNOWN_CITATION, BAD_CONDITION, INVALID_PARAMS for an unknown column
   */
  read(label: string, query: StateQuery, signal?: AbortSignal): Promise<RecordPages>
  /** resolves when every checksum is worked out */
  settled(): Promise<void>
  /** ends the work in the background; the databases are the caller's */
  close(): Promise<void>
}

export type { DeleteJob, PutJob } from './rows.js'

export type StoreListQuery = Omit<ListQuery, 'env'>

/** Another thread's way to what takes long; the write lock is held for it. */
export interface BulkWork {
  put(job: PutJob, signal?: AbortSignal): Promise<number>
  deleteRecords(job: DeleteJob, signal?: AbortSignal): Promise<number>
  /** needs no lock; undefined when the citation has gone */
  checksum(citationId: number): Promise<CitationSums | undefined>
}

export interface DatasetStoreOptions extends CitationReaderOptions {
  readonly data: DataDb
  /** asked before anything is added. @throws AppError DISK_FULL when the disk's reserve would be touched */
  requireSpace?(bytes: number): Promise<void>
  /** absent where there is no other thread */
  readonly bulk?: BulkWork
  readonly log: Pick<Log, 'error'>
  /** a fresh UUID */
  newId(): string
}

/** The longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
/** What a row takes, roughly; large values are told by SQLite itself when the disk is full. */
const ROW_BYTES = 200
/** More rows are changed by the other thread. */
const MAX_ROWS_HERE = 500
/** Larger tables are dropped by `fieldgate vacuum` alone: dropping one stops the event loop. */
const MAX_DROP_ROWS = 50_000

/** Opens the datasets of data.db, and goes on with checksums that an earlier run did not finish. */
export function createDatasetStore(options: DatasetStoreOptions): DatasetStore {
  const { reader, writer, lock } = options.data
  const { bulk } = options
  const sums = createSumsQueue({
    ...{ data: options.data, log: options.log },
    ...(bulk === undefined ? {} : { compute: (citationId) => bulk.checksum(citationId) }),
  })
  const citations = createCitationReader(reader, options)
  const envNow = (): ValueEnv => ({ timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) })
  const write = <T>(work: () => T): Promise<T> => lock.run(() => retryBusy(() => transaction(writer, work)))
  sums.wake()
  return {
    ...rowWrites(options),
    async create(definition) {
      await options.requireSpace?.(0)
      return await write(() =>
        createDataset(writer, definition, { id: options.newId(), nowUs: options.nowUs() }),
      )
    },
    async remove(name) {
      const removed = await write(() => {
        const dataset = requireDataset(writer, name)
        removeCitationsOf(writer, dataset.table)
        removeDataset(writer, dataset)
        return dataset
      })
      for (const db of [reader, writer]) forgetStatements(db, removed.table.tableName)
      await dropDiscarded({ db: writer, lock, pause: createPause(undefined, SLICE_MS) }, MAX_DROP_ROWS)
      return removed.info
    },
    list: async (query) => listDatasets(reader, { ...query, env: envNow() }),
    columns: async (label) => findColumns(reader, label),
    async cite(label, source) {
      await options.requireSpace?.(0)
      const cite = () => transaction(writer, () => createCitation(writer, label, source, options.nowUs()))
      const made = await lock.run(() => retryBusy(() => withoutCheckpoint(writer, cite)))
      sums.wake()
      return made
    },
    async uncite(label) {
      const removed = await write(() => removeCitations(writer, label))
      if (removed.length === 0) throw unknownCitation(label)
      return removed
    },
    listCitations: async (query) => listCitations(reader, { ...query, env: envNow() }),
    read: async (label, query, signal) => citations.records(label, query, signal),
    settled: () => sums.settled(),
    close: () => sums.close(),
  }
}

/**
 * Changes of rows. Few are made here, the event loop turning within the transaction while the write lock is held; many
 * by another thread where there is one, for the commit alone of a large change would stop the loop too long.
 */
function rowWrites(options: DatasetStoreOptions): Pick<DatasetStore, 'put' | 'deleteRecords'> {
  const { data, bulk, timeZoneMin } = options
  const { reader, writer, lock } = data
  const write = <T>(work: () => Promise<T>): Promise<T> => lock.run(() => asyncTransaction(writer, work))
  return {
    async put(name, records, onConflict, signal) {
      await options.requireSpace?.(records.length * ROW_BYTES)
      const job = () => ({ name, records, onConflict, timeZoneMin, nowUs: options.nowUs() })
      if (bulk !== undefined && records.length > MAX_ROWS_HERE)
        return await lock.run(() => bulk.put(job(), signal))
      return await write(() => putRecords(writer, job(), createPause(signal, SLICE_MS)))
    },
    async deleteRecords(name, condition, signal) {
      await options.requireSpace?.(0) // what a citation sees is kept beside
      const job = () => ({ name, condition, timeZoneMin, nowUs: options.nowUs() })
      const isLarge = (findDataset(reader, name)?.rowsGiven ?? 0) > MAX_ROWS_HERE
      if (bulk !== undefined && isLarge) return await lock.run(() => bulk.deleteRecords(job(), signal))
      return await write(() => deleteRecords(writer, job(), createPause(signal, SLICE_MS)))
    },
  }
}

/** Commits without moving the log into the file: a small commit shall not wait for what large ones left there. */
function withoutCheckpoint<T>(db: Db, work: () => T): T {
  const pages = db.pragma('wal_autocheckpoint', { simple: true })
  db.pragma('wal_autocheckpoint = 0')
  try {
    return work()
  } finally {
    db.pragma(`wal_autocheckpoint = ${pages}`)
  }
}

function findColumns(db: Db, label: string): readonly StateColumn[] {
  const state = findDataset(db, label)?.table ?? findCitation(db, label)?.state
  if (state !== undefined) return state.columns
  const loader = findTable(db, withoutPrefix(label))
  if (loader === undefined) throw unknownDataset(label)
  return versionedLoader(loader, 0).columns
}
