import type { BlobStore } from '../files/blob-store.js'
import type { Keyring } from '../storage/keyring.js'
import type { RetentionStore } from '../storage/retention.js'
import type { IfExists, TableRef, TableStore } from '../storage/tables.js'
import type { SweepLease } from '../storage/work/sweep-lease.js'

/** Dependencies of bulk work: a writing port of its own thread, and the store of bytes. */
export interface JobStore {
  readonly tables: TableStore
  readonly retention: Pick<RetentionStore, 'set'>
  readonly keyring: Keyring
  readonly files: Pick<BlobStore, 'stage' | 'list' | 'remove'>
  readonly timeZoneMin: number
  readonly lease: Pick<SweepLease, 'remove'>
  /** `limits.valueBytes`; the writing port checks the values themselves */
  readonly valueBytes: number
}

/** Part of every job that stores records: the table, and what the caller decided. */
export interface PutJob extends TableRef {
  readonly ifExists: IfExists
  /** time of the call, µs UTC */
  readonly nowUs: number
}
