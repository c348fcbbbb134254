import { AppError } from '../../errors.js'
import type { ListQuery } from '../columns/list-query.js'
import type { Pause } from '../work/pause.js'
import type { Citation, RowState } from './states.js'

/** Citation with the rows that it names. */
export interface CitedState extends RowState {
  readonly kind: 'citation'
  /** null until the checksum is computed */
  readonly rowCount: number | null
  /** largest row id that it sees: a bound of its size */
  readonly lastRowId: number
}

/** Facts about a citation that are computed after it was made. */
export interface CitationSums {
  /** SHA-256 of the canonical text in hex */
  readonly checksum: string
  readonly rowCount: number
  /** see formats/row-index.ts */
  readonly rowIndex: Uint8Array
  /** see formats/page-digests.ts */
  readonly pageDigests: Uint8Array
}

/** One reading of a cited state from its first row to its last, which can be interrupted. */
export interface ChecksumPass {
  /**
   * Continues for about `sliceMs`.
   *
   * @returns the sums when the last row has been read, else undefined
   */
  step(sliceMs: number): Promise<CitationSums | undefined>
  /** Ends the reading before its end. */
  abandon(): Promise<void>
}

/** Kinds of rows that a citation can be made of. */
export type SourceKind = 'dataset' | 'loader'

/** Checks whether a caller may read rows of a kind. @throws AppError FORBIDDEN */
export type RequireReading = (kind: SourceKind) => void

/** Citations of the states of datasets and loader tables. A result that is returned is committed. */
export interface CitationStore {
  /**
   * Cites the rows that a dataset or loader table has now. The cost does not depend on their number.
   *
   * @param label short form of the citation
   * @param nowUs called within the transaction, µs UTC
   * @param requireReading called within the transaction, once the source is found; absent for
   *   callers that may read everything. What it throws cites nothing
   * @throws AppError UNKNOWN_DATASET, and what `requireReading` throws
   */
  create(
    label: string,
    source: string,
    nowUs: () => number,
    requireReading?: RequireReading,
  ): Promise<Citation>
  /** Finds a citation by its long form, else the newest of a short form. */
  find(label: string): Promise<CitedState | undefined>
  /** Finds a citation by its id. */
  findById(citationId: number): Promise<CitedState | undefined>
  /** Returns every citation, oldest first. */
  all(): Promise<CitedState[]>
  /**
   * Removes the citation of a long form, or every citation of a short form.
   *
   * @returns those removed, oldest first
   */
  remove(label: string): Promise<Citation[]>
  /**
   * Lists citations that match, oldest first unless the query gives an order.
   *
   * @throws AppError BAD_CONDITION
   */
  list(query: ListQuery): Promise<Citation[]>
  /** Returns the ids of citations whose checksum or page digests are not computed, oldest first. */
  pending(): Promise<number[]>
  /** Starts a reading that computes the checksum; undefined when the citation was removed. */
  openChecksum(citationId: number): Promise<ChecksumPass | undefined>
  /**
   * Stores the sums of a citation that has none; does nothing when it was removed. A citation of version 0.1.0
   * has a checksum and no page digests: when its rows no longer have that checksum, it gets none, and reading
   * it fails.
   *
   * @returns false when the rows do not have the recorded checksum
   */
  recordSums(citationId: number, sums: CitationSums): Promise<boolean>
}

/** Finds rows by the names under which they can be read. */
export interface RowStates {
  /**
   * Finds a dataset, else a loader table, else a citation.
   *
   * @param nowUs time to give for uncited rows, µs UTC
   */
  find(label: string, nowUs: number): Promise<RowState | undefined>
}

/**
 * Rows as they were at one moment: changes that are made meanwhile are not seen. Used by one caller at a
 * time.
 */
export interface Snapshot extends RowStates {
  close(): Promise<void>
}

/** Numbers of what a vacuum removed. */
export interface VacuumCounts {
  /** row versions that no citation sees */
  versions: number
  /** tables of deleted datasets, and histories of loader tables that are no longer cited */
  tables: number
}

/** Space that a database takes. */
export interface DatabaseSpace {
  /** free for new rows, part of `totalBytes` */
  freeBytes: number
  totalBytes: number
}

/** Removal of rows that nothing can read any more, and of the space that they took. */
export interface Vacuum {
  /**
   * Removes row versions that no citation sees, and tables that nothing names. Works while other programs
   * read and write.
   *
   * @param pause called between steps of a few milliseconds
   */
  run(pause: Pause, onProgress?: (done: VacuumCounts) => void): Promise<VacuumCounts>
  /**
   * Returns the free space of the database to the file system. Rewrites the whole database: blocks the
   * calling thread meanwhile, and requires as much free disk space as the database takes.
   *
   * @throws AppError BUSY when another program holds the database
   */
  compact(): Promise<void>
  /** Reads the space that the database takes now. */
  space(): Promise<DatabaseSpace>
}

/** Returns the error for a label that names no citation. */
export function unknownCitation(label: string): AppError {
  const shown = label.slice(0, 100)
  const message = `No citation is named ${JSON.stringify(shown)}`
  return new AppError('UNKNOWN_CITATION', { citation_label: shown }, { message })
}
