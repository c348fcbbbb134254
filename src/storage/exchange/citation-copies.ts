import { AppError } from '../../errors.js'
import type { Stored } from '../columns/column-type.js'
import type { DatasetColumn } from '../columns/data-type.js'
import type { StateColumn } from '../columns/state-column.js'
import type { ChecksumPass, CitationSums } from '../datasets/citations.js'
import type { Citation } from '../datasets/states.js'

/** Citation of another node. */
export interface CopyKey {
  /** UUID of the node that made it */
  readonly origin: string
  readonly longForm: string
}

/** Citation of another node, as it is offered. Its names and columns have been checked. */
export interface OfferedCitation
  extends CopyKey,
    Pick<Citation, 'shortForm' | 'datasetName' | 'datasetRealname' | 'createdAtUs' | 'transactionTimeUs'> {
  /** SHA-256 that the rows must have, in hex */
  readonly checksum: string
  readonly columns: readonly DatasetColumn[]
  /** columns of the unique key; empty for none */
  readonly keyColumns: readonly string[]
}

/** Progress of a copy. */
export interface CopyProgress {
  /** rows that are stored */
  readonly rows: number
  /** the citation can be read */
  readonly isComplete: boolean
}

/** Copy whose rows are arriving. */
export interface OpenCopy {
  readonly columns: readonly StateColumn[]
  readonly rows: number
  readonly checksum: string
}

/** Copies of citations of other nodes. What is returned is committed. */
export interface CitationCopies {
  /**
   * Begins a copy, or finds how far it is. A copy that was deleted begins again.
   *
   * @param id fresh UUID; the table of the rows is named after it
   * @throws AppError CITATION_DIFFERS when the long form names other rows here
   */
  open(offer: OfferedCitation, id: string, nowUs: number): Promise<CopyProgress>
  /** Finds a copy whose rows are arriving; undefined for one that is complete or was not offered. */
  find(key: CopyKey): Promise<OpenCopy | undefined>
  /**
   * Appends rows in one transaction.
   *
   * @param after rows that are stored already
   * @param owner key that sends: owners have turns at the database
   * @returns rows that are stored then
   * @throws AppError UNKNOWN_FEED; CURSOR_MISMATCH (`data`: `{ cursor }`) unless `after` rows are stored;
   *   RECORD_EXISTS, DISK_FULL, BUSY
   */
  append(key: CopyKey, after: number, rows: readonly (readonly Stored[])[], owner: string): Promise<number>
  /** Starts a reading of the stored rows that computes their sums; undefined for no open copy. */
  openSums(key: CopyKey): Promise<ChecksumPass | undefined>
  /** Makes the citation of the stored rows. @throws AppError UNKNOWN_FEED when the copy is no longer open */
  finish(offer: Omit<OfferedCitation, 'columns' | 'keyColumns'>, sums: CitationSums): Promise<void>
  /** Removes the rows of a copy that is not complete. */
  abandon(key: CopyKey): Promise<void>
}

/** Returns the error for a citation that is not as it was offered. */
export function citationDiffers(longForm: string, reason: string): AppError {
  const message = `The citation ${longForm} ${reason}`
  return new AppError('CITATION_DIFFERS', { long_form: longForm }, { message })
}
