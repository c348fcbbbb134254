import { AppError, isAppError } from '../errors.js'
import type { Log } from '../log.js'
import type { DatasetColumn } from '../storage/columns/data-type.js'
import type { ListQuery } from '../storage/columns/list-query.js'
import type { StateColumn } from '../storage/columns/state-column.js'
import {
  type CitationStore,
  type RequireReading,
  type RowStates,
  unknownCitation,
} from '../storage/datasets/citations.js'
import {
  type Dataset,
  type DatasetDefinition,
  type DatasetStore,
  type OnConflict,
  unknownDataset,
} from '../storage/datasets/datasets.js'
import type { Citation, StateQuery } from '../storage/datasets/states.js'
import type { Keyring } from '../storage/keyring.js'
import { createPause } from '../storage/work/pause.js'
import type { WriteLock } from '../storage/work/write-lock.js'
import { createChecksumQueue } from './checksum-queue.js'
import type { BulkWork } from './jobs.js'
import { type RecordPages, readCitation } from './read-citation.js'

/** Filter, order and page of a list. */
export type DatasetListQuery = Omit<ListQuery, 'env'>

/** Datasets, their records, and citations of their states. A result that is returned is committed. */
export interface Datasets {
  /** @throws AppError ALREADY_EXISTS, DISK_FULL */
  create(definition: DatasetDefinition): Promise<Dataset>
  /** Adds columns without values. @throws AppError UNKNOWN_DATASET, INVALID_PARAMS for names that it has, DISK_FULL */
  addColumns(name: string, columns: readonly DatasetColumn[]): Promise<Dataset>
  /** Removes a dataset with its records and citations. @throws AppError UNKNOWN_DATASET */
  remove(name: string): Promise<Dataset>
  /** @throws AppError BAD_CONDITION */
  list(query: DatasetListQuery): Promise<Dataset[]>
  /**
   * Returns the columns of a dataset, a citation or a loader table.
   *
   * @throws AppError UNKNOWN_DATASET, and what `requireReading` throws
   */
  columns(label: string, requireReading?: RequireReading): Promise<readonly StateColumn[]>
  /**
   * Writes records in one transaction.
   *
   * @param records values in the order of the columns
   * @param exact returns the same records with numbers as supplied, for columns that keep them
   * @returns records written
   * @throws AppError UNKNOWN_DATASET, BAD_RECORD, RECORD_EXISTS, DISK_FULL, CANCELLED: nothing is stored then
   */
  put(
    name: string,
    records: readonly (readonly unknown[])[],
    onConflict: OnConflict,
    signal?: AbortSignal,
    exact?: () => Promise<readonly (readonly unknown[])[]>,
  ): Promise<number>
  /**
   * Deletes the records that match.
   *
   * @returns records deleted.
   * @throws AppError UNKNOWN_DATASET, BAD_CONDITION, CANCELLED; DISK_FULL where citations see rows
   */
  deleteRecords(name: string, condition: unknown, signal?: AbortSignal): Promise<number>
  /**
   * Cites the present state of a dataset or loader table.
   *
   * @param requireReading called with the kind of the source; what it throws cites nothing
   * @throws AppError UNKNOWN_DATASET, DISK_FULL, and what `requireReading` throws
   */
  cite(label: string, source: string, requireReading?: RequireReading): Promise<Citation>
  /**
   * Removes the citation of a long form, or every citation of a short form.
   *
   * @throws AppError UNKNOWN_CITATION
   */
  uncite(label: string): Promise<Citation[]>
  /** @throws AppError BAD_CONDITION */
  listCitations(query: DatasetListQuery): Promise<Citation[]>
  /**
   * Reads the cited state.
   *
   * @throws AppError UNKNOWN_CITATION, BAD_CONDITION, INVALID_PARAMS for an unknown column; CANCELLED from
   *   the pages
   */
  read(label: string, query: StateQuery, signal?: AbortSignal): Promise<RecordPages>
  /** Resolves when every checksum is computed. */
  settled(): Promise<void>
  /** Ends the work in the background. */
  close(): Promise<void>
}

/** Ports of the storage below. */
export interface DatasetStores {
  readonly datasets: DatasetStore
  readonly citations: CitationStore
  readonly rows: RowStates
}

export interface DatasetsOptions {
  readonly stores: DatasetStores
  /** held while another thread writes */
  readonly lock: WriteLock
  /** called before anything is added. @throws AppError DISK_FULL when the disk's reserve would be touched */
  requireSpace?(bytes: number): Promise<void>
  /** absent where there is no other thread */
  readonly bulk?: BulkWork
  readonly log: Pick<Log, 'error'>
  readonly keyring: Pick<Keyring, 'read'>
  /** reads the bytes of a stored file by its digest, for columns of type `file` */
  readFile(digest: string): Promise<Uint8Array>
  /** Returns a fresh UUID. */
  newId(): string
  /** µs UTC */
  readonly nowUs: () => number
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** most rows of a page */
  readonly pageRows: number
}

/** Longest stretch of work without letting the event loop turn, ms. */
const SLICE_MS = 5
/** Typical size of a row; a call with larger values fails when the disk is full. */
const ROW_BYTES = 200
/** More rows are changed by the other thread. */
const MAX_ROWS_HERE = 500

/** Opens datasets and citations, and resumes checksums that an earlier run did not finish. */
export function createDatasets(options: DatasetsOptions): Datasets {
  const { datasets, citations } = options.stores
  const { bulk } = options
  const checksums = createChecksumQueue({
    citations,
    log: options.log,
    ...(bulk === undefined ? {} : { compute: (citationId) => bulk.checksum(citationId) }),
  })
  const envNow = () => ({ timeZoneMin: options.timeZoneMin, nowUs: BigInt(options.nowUs()) })
  checksums.wake()
  return {
    ...createRowWrites(options),
    async create(definition) {
      await options.requireSpace?.(0)
      return await datasets.create(definition, { id: options.newId(), nowUs: options.nowUs })
    },
    async addColumns(name, columns) {
      await options.requireSpace?.(0)
      return await datasets.addColumns(name, columns)
    },
    remove: (name) => datasets.remove(name),
    list: (query) => datasets.list({ ...query, env: envNow() }),
    columns: (label, requireReading) => findColumns(options, label, requireReading),
    async cite(label, source, requireReading) {
      await options.requireSpace?.(0)
      const citation = await citations.create(label, source, options.nowUs, requireReading)
      checksums.wake()
      return citation
    },
    async uncite(label) {
      const removed = await citations.remove(label)
      if (removed.length === 0) throw unknownCitation(label)
      return removed
    },
    listCitations: (query) => citations.list({ ...query, env: envNow() }),
    read: (label, query, signal) => readCitation({ ...options, citations }, { label, query, signal }),
    settled: () => checksums.settled(),
    close: () => checksums.close(),
  }
}

/**
 * Small changes of rows run on this thread, with turns of the event loop in between. Large ones run on the
 * other thread where there is one: their commit alone would block the loop for too long.
 */
function createRowWrites(options: DatasetsOptions): Pick<Datasets, 'put' | 'deleteRecords'> {
  const { lock, bulk, timeZoneMin } = options
  const { datasets } = options.stores
  return {
    async put(name, given, onConflict, signal, exact) {
      await options.requireSpace?.(given.length * ROW_BYTES)
      const records = exact === undefined ? given : await withExact(options, name, given, exact)
      // the time is taken when the write lock is held: it orders the transactions
      const job = () => ({ name, records, onConflict, timeZoneMin, nowUs: options.nowUs() })
      const isLarge = records.length > MAX_ROWS_HERE
      const write = () =>
        bulk !== undefined && isLarge
          ? bulk.put(job(), signal)
          : datasets.put(job(), createPause(signal, SLICE_MS))
      try {
        return await lock.run(write)
      } catch (error) {
        throw atRecord(error)
      }
    },
    async deleteRecords(name, condition, signal) {
      const { rowsGiven, isCited } = (await datasets.find(name, 0)) ?? { rowsGiven: 0, isCited: false }
      if (isCited) await options.requireSpace?.(0) // rows that a citation sees are copied
      const job = () => ({ name, condition, timeZoneMin, nowUs: options.nowUs() })
      if (bulk !== undefined && rowsGiven > MAX_ROWS_HERE)
        return await lock.run(() => bulk.deleteRecords(job(), signal))
      return await lock.run(() => datasets.deleteRecords(job(), createPause(signal, SLICE_MS)))
    },
  }
}

/** Types whose values are the text of a number, or contain it. */
const EXACT_TYPES = ['json', 'jsonb', 'numeric']

/** Returns records with numbers as supplied in the columns that keep them. */
async function withExact(
  { stores }: DatasetsOptions,
  name: string,
  records: readonly (readonly unknown[])[],
  exact: () => Promise<readonly (readonly unknown[])[]>,
): Promise<readonly (readonly unknown[])[]> {
  const columns = (await stores.datasets.find(name, 0))?.columns ?? [] // `put` refuses an unknown dataset
  const isExact = columns.map(({ udtName }) => EXACT_TYPES.includes(udtName))
  if (!isExact.includes(true)) return records
  const source = await exact()
  return records.map((record, row) =>
    record.map((value, slot) => (isExact[slot] === true ? source[row]?.[slot] : value)),
  )
}

/** Returns the error of a record with its position in the call. */
function atRecord(error: unknown): unknown {
  if (!isAppError(error) || typeof error.data.index !== 'number') return error
  const message = `records[${error.data.index}]: ${error.message}`
  return new AppError(error.errorName, error.data, { message, cause: error.cause })
}

async function findColumns(
  { stores }: DatasetsOptions,
  label: string,
  requireReading?: RequireReading,
): Promise<readonly StateColumn[]> {
  const { datasets, citations, rows } = stores
  // a citation hides a loader table of the same name here
  const found =
    (await datasets.find(label, 0)) ?? (await citations.find(label)) ?? (await rows.find(label, 0))
  if (found === undefined) throw unknownDataset(label)
  if (found.kind !== 'citation') requireReading?.(found.kind) // a citation belongs to the datasets
  return found.columns
}
